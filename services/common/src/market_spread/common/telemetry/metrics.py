"""Every metric's name, kind, labels and meaning: no code may use another name."""

from dataclasses import dataclass
from enum import Enum
from functools import partial

# The name of the note, of the kind `event`, that a planned fault has begun.
PLANNED_FAULT = "planned fault"


class MetricKind(Enum):
    """What a metric is, in Prometheus's terms."""

    HISTOGRAM = "histogram"
    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. Histograms are pushed in microseconds and exposed in seconds."""

    name: str
    kind: MetricKind
    meaning: str
    labels: tuple[str, ...] = ()


def _ours(kind: MetricKind, ending: str, name: str, meaning: str, *labels: str) -> Metric:
    return Metric(f"market_spread_{name}{ending}", kind, meaning, labels)


histogram = partial(_ours, MetricKind.HISTOGRAM, "_seconds")
counter = partial(_ours, MetricKind.COUNTER, "_total")
gauge = partial(_ours, MetricKind.GAUGE, "")


# Sender
SEND_LAG = histogram("sender_send_lag", "Actual minus intended send time of a message")
FRAME_DELAY = histogram("sender_frame_delay", "Actual send time of a frame minus the time its plan has")
ACKNOWLEDGE = histogram("sender_acknowledge", "From the send of a frame to the broker's acknowledgement")
MESSAGES_DUE = counter("sender_messages_due", "Messages that the schedule has called for")
MESSAGES_SENT = counter("sender_messages_sent", "Messages handed to the Kafka client", "topic", "partition")
PAYLOAD_SENT = counter("sender_payload_bytes", "Bytes of frames handed to the Kafka client", "topic", "partition")
FRAMES_SENT = counter("sender_frames_sent", "Frames handed to the Kafka client", "topic", "partition")
FRAMES_LATE = counter("sender_frames_late", "Frames sent later after their plan than the run allows")
MESSAGES_FAILED = counter("sender_messages_failed", "Messages in frames that the broker did not take")
UNACKNOWLEDGED = gauge("sender_unacknowledged_bytes", "Bytes sent that the broker has not acknowledged yet")

# Receiver; phase is `warm_up` or `measured`, stage one of send_lag, ingest, compute, delivery.
END_TO_END = histogram("receiver_end_to_end", "From the intended send of an order to the receipt of its alert", "phase")
SERVICE = histogram("receiver_service", "From the actual send of an order to the receipt of its alert", "phase")
STAGE = histogram("receiver_stage", "Time in a stage; the stages add up to the end-to-end latency", "phase", "stage")
ALERTS = counter("receiver_alerts", "Alerts received, the first of each order", "phase")
ALERTS_DUPLICATED = counter("receiver_alerts_duplicated", "Alerts after the first of an order")
ALERTS_UNREADABLE = counter("receiver_alerts_unreadable", "Records in the alerts topic that are not valid alerts")
DECISION_END_TO_END = histogram(
    "receiver_decision_end_to_end", "From the intended send of an order to the receipt of its decision", "phase"
)
DECISIONS = counter("receiver_decisions", "Decisions received, the first of each order; if all are sent", "phase")
DECISIONS_DUPLICATED = counter("receiver_decisions_duplicated", "Decisions after the first of an order")
DECISIONS_UNREADABLE = counter(
    "receiver_decisions_unreadable", "Records in the decisions topic that are not valid decisions"
)
# Of systems that are not ours; topic and partition are those of the message.
PARTITION_LATENCY = histogram(
    "receiver_partition_end_to_end",
    "From the intended send of a message to the receipt of its first output in a topic, by the message's partition",
    "phase", "topic", "partition", "output",
)  # fmt: skip
INVALID_RECORDS = counter("receiver_invalid", "Malformed messages that the job reported", "reason")

# Spark job
JOB_RECORDS = counter("job_records_read", "Kafka records that the job has read; live")
JOB_MESSAGES = counter("job_messages_processed", "Messages that the job has processed; live")
JOB_COMMITTED = counter("job_messages_committed", "Messages in committed batches; exact")
# Of systems that are not ours.
PARTITION_COMMITTED = counter(
    "job_partition_committed", "Records of a partition that the system has committed", "topic", "partition"
)
JOB_BATCH = gauge("job_batch_id", "Number of the newest committed batch")
JOB_COMMIT = gauge("job_commit_seconds", "From the end of the trigger to the commit of the newest batch")
JOB_LATE = counter(
    "job_rows_late", "Rows that came too late for a step by time: exactly if a sink gets them, else by Spark's count"
)
JOB_RESTARTS = counter("job_restarts", "Starts of the query after a failure")

# Every process
CPU = counter("process_cpu_seconds", "CPU time of the process and its children, user and system")
MEMORY = gauge("process_memory_bytes", "Resident memory of the process and its children")

# What processes may push.
METRICS: dict[str, Metric] = {metric.name: metric for metric in list(globals().values()) if isinstance(metric, Metric)}

# Host tuner, one on each tuned node; it serves them itself, and no process may push them.
HOST_SETTING_OK = gauge("host_tuner_setting_ok", "1 if the host's setting is as its profile wants it", "setting")
HOST_DRIFT = counter("host_tuner_drift", "Files of a setting that were right and were found changed", "setting")
HOST_WRITES = counter("host_tuner_writes", "Files of a setting that were written", "setting")
HOST_APPLY_ERRORS = counter("host_tuner_apply_errors", "Reads and writes of a setting's files that failed", "setting")
HOST_EXCLUSIVE_CPUS = gauge(
    "host_tuner_pinned_exclusive_cpus", "CPUs that the kubelet has given to one container alone"
)
HOST_VERIFIED = gauge("host_tuner_verified_timestamp_seconds", "When the whole host was looked at last, Unix time")
HOST_PUBLISH_ERRORS = counter("host_tuner_publish_errors", "Updates of the node's object that failed")
