"""Several senders, each with its slice of one load, seen as one."""

from collections.abc import Iterable, Sequence

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.v1.control_pb2 import PartitionSent, Phase, SenderStatusResponse

_SUMS = (
    *("messages_due", "messages_sent", "quotes_sent", "orders_sent", "frames_sent", "frames_late", "frames_failed"),
    *("messages_failed", "unacknowledged_bytes", "cpu_us"),
)
_PARTITION_SUMS = ("messages", "payload_bytes", "frames", "frames_acknowledged")


def merged_senders(statuses: Sequence[SenderStatusResponse]) -> SenderStatusResponse:
    """The senders as one: it has sent what all have sent, and failed if one has; finished it has when all have."""
    if len(statuses) == 1:
        return statuses[0]
    first = next((status for status in statuses if status.phase == Phase.PHASE_FAILED), None) or next(
        (status for status in statuses if status.phase != Phase.PHASE_FINISHED), statuses[0]
    )
    merged = SenderStatusResponse()
    merged.CopyFrom(first)
    for name in _SUMS:
        setattr(merged, name, sum(getattr(status, name) for status in statuses))
    for name in ("frame_delay_ns_max", "unacknowledged_age_us_max"):
        setattr(merged, name, max(getattr(status, name) for status in statuses))
    for name in ("frame_delay_histogram", "send_lag_histogram", "acknowledge_histogram"):
        setattr(merged, name, _merged_histograms(getattr(status, name) for status in statuses))
    merged.clock_deviation_us_max = max((status.clock_deviation_us_max for status in statuses), key=abs)
    del merged.partitions[:]
    merged.partitions.extend(_merged_partitions(statuses))
    return merged


def _merged_partitions(statuses: Sequence[SenderStatusResponse]) -> list[PartitionSent]:
    found: dict[tuple[str, int], PartitionSent] = {}
    for sent in (sent for status in statuses for sent in status.partitions):
        key = (sent.topic, sent.partition)
        together = found.setdefault(key, PartitionSent(topic=sent.topic, partition=sent.partition))
        for name in _PARTITION_SUMS:
            setattr(together, name, getattr(together, name) + getattr(sent, name))
        together.next_offset = max(together.next_offset, sent.next_offset)
    return [found[key] for key in sorted(found)]


def _merged_histograms(encoded: Iterable[bytes]) -> bytes:
    together = HdrCounts()
    for histogram in encoded:
        together.merge(HdrCounts.of_status(histogram))
    return together.encode()
