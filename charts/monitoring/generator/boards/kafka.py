"""The broker, through the JMX exporter with the names that Strimzi's rules give, so that its brokers fit as well."""

from board import Board, Query, Row, Variable, series, stat

_UNDER_REPLICATED = "kafka_server_replicamanager_underreplicatedpartitions"
_INSTANCE = Variable("instance", "Broker", _UNDER_REPLICATED, "instance", many=True)
_TOPIC = Variable("topic", "Topic", "kafka_log_log_logendoffset", "topic", many=True)
_BROKER = 'instance=~"$instance"'
_OF_TOPIC = f'{_BROKER}, topic=~"$topic"'


def _rate(metric: str, matchers: str, by: str) -> str:
    return f"sum by ({by}) (rate({metric}{{{matchers}}}[$__rate_interval]))"


def _request_time(quantile: str) -> Query:
    matchers = f'{_BROKER}, request=~"Produce|FetchConsumer", quantile="{quantile}"'
    return Query(
        f"kafka_network_requestmetrics_totaltimems{{{matchers}}} / 1000", "{{instance}} {{request}} {{quantile}}"
    )


_NOW = Row(
    "Now",
    (
        stat(
            "Latest metrics received",
            "How long ago Prometheus read the brokers.",
            "s",
            Query(f"time() - max(timestamp({_UNDER_REPLICATED}{{{_BROKER}}}))"),
            bad=30,
        ),
        stat(
            "Records in",
            "Records a second; a record is a frame of messages.",
            "cps",
            Query(f"sum(rate(kafka_server_brokertopicmetrics_messagesin_total{{{_OF_TOPIC}}}[$__rate_interval]))"),
        ),
        stat(
            "Bytes in",
            "As they are on the wire.",
            "Bps",
            Query(f"sum(rate(kafka_server_brokertopicmetrics_bytesin_total{{{_OF_TOPIC}}}[$__rate_interval]))"),
        ),
        stat(
            "Partitions without all replicas",
            "Above 0, acknowledgements may wait for a broker that is away.",
            "short",
            Query(f"sum({_UNDER_REPLICATED}{{{_BROKER}}})"),
            bad=1,
        ),
        stat(
            "Request handlers idle",
            "Share of their time, in the last minute.",
            "percentunit",
            Query(f"min(kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent{{{_BROKER}}})"),
        ),
        stat(
            "Request queue",
            "Requests that wait for a handler.",
            "short",
            Query(f"sum(kafka_network_requestchannel_requestqueuesize{{{_BROKER}}})"),
        ),
    ),
)

_RED = Row(
    "Rate, errors, duration",
    (
        series(
            "Records in by topic",
            "Records a second that producers wrote.",
            "cps",
            Query(_rate("kafka_server_brokertopicmetrics_messagesin_total", _OF_TOPIC, "topic"), "{{topic}}"),
        ),
        series(
            "Bytes in and out by topic",
            "What producers wrote, and what consumers read. Two replicas of the job read all twice.",
            "Bps",
            Query(_rate("kafka_server_brokertopicmetrics_bytesin_total", _OF_TOPIC, "topic"), "{{topic}} in"),
            Query(_rate("kafka_server_brokertopicmetrics_bytesout_total", _OF_TOPIC, "topic"), "{{topic}} out"),
        ),
        series(
            "Requests",
            "A second, by kind.",
            "reqps",
            Query(
                _rate(
                    "kafka_network_requestmetrics_requests_total",
                    f'{_BROKER}, request=~"Produce|FetchConsumer|Metadata"',
                    "request",
                ),
                "{{request}}",
            ),
        ),
        series(
            "Failed requests so far",
            "Writes and reads that the broker refused.",
            "short",
            Query(
                f"sum(kafka_server_brokertopicmetrics_failedproducerequests_total{{{_BROKER}}})",
                "writes",
            ),
            Query(
                f"sum(kafka_server_brokertopicmetrics_failedfetchrequests_total{{{_BROKER}}})",
                "reads",
            ),
        ),
        series(
            "Time of writes and reads",
            "Quantiles as the broker samples them, newest minutes most. A read waits for data, up to half a second.",
            "s",
            _request_time("0.50"),
            _request_time("0.99"),
            width=24,
        ),
    ),
)

_SATURATION = Row(
    "Saturation",
    (
        series(
            "Idle threads",
            "Request handlers and network threads; requests wait when they are near 0.",
            "percentunit",
            Query(
                f"kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent{{{_BROKER}}}",
                "{{instance}} handlers",
            ),
            Query(
                f"kafka_network_socketserver_networkprocessoravgidle_percent{{{_BROKER}}}",
                "{{instance}} network",
            ),
        ),
        series(
            "CPU of the broker",
            "Cores that it uses; 100% is one core.",
            "percentunit",
            Query(f"rate(process_cpu_seconds_total{{{_BROKER}}}[$__rate_interval])", "{{instance}}"),
        ),
        series(
            "Heap",
            "Used and largest.",
            "bytes",
            Query(f'jvm_memory_used_bytes{{{_BROKER}, area="heap"}}', "{{instance}} used"),
            Query(f'jvm_memory_max_bytes{{{_BROKER}, area="heap"}}', "{{instance}} largest"),
        ),
        series(
            "Time in garbage collection",
            "Share of the time, by collector.",
            "percentunit",
            Query(
                f"rate(jvm_gc_collection_seconds_sum{{{_BROKER}}}[$__rate_interval])",
                "{{instance}} {{gc}}",
            ),
        ),
    ),
)

_PARTITIONS = Row(
    "Each partition",
    (
        series(
            "End of the log",
            "Offset that the next record gets.",
            "short",
            Query(f"kafka_log_log_logendoffset{{{_OF_TOPIC}}}", "{{topic}} {{partition}}"),
        ),
        series(
            "Size of the log",
            "Bytes on disk.",
            "bytes",
            Query(f"kafka_log_log_size{{{_OF_TOPIC}}}", "{{topic}} {{partition}}"),
        ),
    ),
)

BOARD = Board(
    "kafka",
    "Market Spread: Kafka",
    "The brokers, through the JMX exporter. The embedded one has it where it was started with --monitored.",
    (_INSTANCE, _TOPIC),
    (_NOW, _RED, _SATURATION, _PARTITIONS),
)
