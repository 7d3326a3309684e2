"""The Spark job: its own counts, and what Spark's Prometheus endpoints say of the JVM."""

from board import RUN, Board, Query, Row, Variable, series, stat

_INSTANCE = Variable("instance", "Driver", "metrics_executor_maxTasks", "instance", many=True)
_OURS = 'run_id="$run"'
_SPARK = 'instance=~"$instance"'


def _executor(name: str) -> str:
    """A figure of Spark's executors; under local[N] the driver is the executor."""
    return f"metrics_executor_{name}{{{_SPARK}}}"


def _driver(name: str) -> str:
    """A figure of the driver's metrics system."""
    return f"metrics_spark_driver_{name}{{{_SPARK}}}"


def _query(name: str) -> str:
    """A figure of the newest batch, from the progress of the query market_spread."""
    return _driver(f"spark_streaming_market_spread_{name}_Number")


def _rate(expr: str) -> str:
    return f"rate({expr}[$__rate_interval])"


_NOW = Row(
    "Now",
    (
        stat(
            "Latest metrics received",
            "How long ago Prometheus read Spark's endpoints.",
            "s",
            Query(f"time() - max(timestamp({_executor('maxTasks')}))"),
            bad=30,
        ),
        stat(
            "Processed",
            "Messages a second, live, of the replica that is ahead.",
            "mps",
            Query(f"max({_rate(f'market_spread_job_messages_processed_total{{{_OURS}}}')})"),
        ),
        stat(
            "Batch",
            "Number of the newest committed batch.",
            "none",
            Query(f"market_spread_job_batch_id{{{_OURS}}}", "{{source}}"),
        ),
        stat(
            "Commit",
            "From the end of the trigger to the commit of the newest batch: the query stands still meanwhile.",
            "s",
            Query(f"market_spread_job_commit_seconds{{{_OURS}}}", "{{source}}"),
        ),
        stat(
            "Restarts",
            "Starts of the query after a failure.",
            "short",
            Query(f"sum(market_spread_job_restarts_total{{{_OURS}}})"),
            bad=1,
        ),
        stat(
            "Tasks that run",
            "Of the slots; in Real-Time Mode all of them, always.",
            "short",
            Query(f"sum({_executor('activeTasks')})", "running"),
            Query(f"sum({_executor('maxTasks')})", "slots"),
        ),
    ),
)

_RED = Row(
    "Rate, errors, duration",
    (
        series(
            "Records read, messages processed and committed",
            "A record of Kafka is a frame of messages. Committed comes in steps, at the end of each batch.",
            "cps",
            Query(_rate(f"market_spread_job_records_read_total{{{_OURS}}}"), "{{source}} records read"),
            Query(_rate(f"market_spread_job_messages_processed_total{{{_OURS}}}"), "{{source}} messages processed"),
            Query(_rate(f"market_spread_job_messages_committed_total{{{_OURS}}}"), "{{source}} messages committed"),
        ),
        series(
            "Failures so far",
            "Tasks that failed, restarts of the query, and events that Spark's listeners could not take: without those "
            "the live counts are too small.",
            "short",
            Query(_executor("failedTasks_total"), "{{instance}} tasks"),
            Query(f"market_spread_job_restarts_total{{{_OURS}}}", "{{source}} restarts"),
            Query(_driver("LiveListenerBus_queue_appStatus_numDroppedEvents_Count"), "{{instance}} events dropped"),
        ),
        series(
            "Time to commit",
            "From the end of the trigger to the commit, of the newest batch.",
            "s",
            Query(f"market_spread_job_commit_seconds{{{_OURS}}}", "{{source}}"),
        ),
        series(
            "Time of a batch",
            "From its trigger to its end, of the newest batch, as Spark's progress has it.",
            "s",
            Query(f"{_query('latency')} / 1000", "{{instance}}"),
        ),
    ),
)

_SATURATION = Row(
    "Saturation",
    (
        series(
            "CPU of the job",
            "Cores that driver, JVM and Python workers use; 100% is one core.",
            "percentunit",
            Query(
                _rate('market_spread_process_cpu_seconds_total{run_id="$run", source=~"job.*"}'),
                "{{source}}",
            ),
        ),
        series(
            "Time in garbage collection",
            "Share of the time, as Spark's heartbeat has it.",
            "percentunit",
            Query(_rate(_executor("MinorGCTime_seconds_total")), "{{instance}} minor"),
            Query(_rate(_executor("MajorGCTime_seconds_total")), "{{instance}} major"),
        ),
        series(
            "Heap of the driver",
            "Used, committed and largest.",
            "bytes",
            Query(_driver("jvm_heap_used_Number"), "{{instance}} used"),
            Query(_driver("jvm_heap_committed_Number"), "{{instance}} committed"),
            Query(_driver("jvm_heap_max_Number"), "{{instance}} largest"),
        ),
        series(
            "Events that wait for Spark's listeners",
            "Of 10,000; beyond that they are dropped.",
            "short",
            Query(_driver("LiveListenerBus_queue_appStatus_size_Number"), "{{instance}} application status"),
            Query(_driver("LiveListenerBus_queue_streams_size_Number"), "{{instance}} streams"),
        ),
    ),
)

_INSTANCES = Row(
    "Each driver",
    (
        series(
            "Tasks completed",
            "A second. In Real-Time Mode a task lasts as long as its batch.",
            "cps",
            Query(_rate(_executor("completedTasks_total")), "{{instance}}"),
            width=8,
        ),
        series(
            "Rows of the state",
            "Keys that the state store holds, of the newest batch.",
            "short",
            Query(_query("states_rowsTotal"), "{{instance}}"),
            width=8,
        ),
        series(
            "Memory of the state",
            "Of the newest batch.",
            "bytes",
            Query(_query("states_usedBytes"), "{{instance}}"),
            width=8,
        ),
        series(
            "Shuffled",
            "Bytes written between the tasks that open frames and those that keep state.",
            "Bps",
            Query(_rate(_executor("totalShuffleWrite_bytes_total")), "{{instance}}"),
            width=8,
        ),
        series(
            "Rows a second, by Spark",
            "Input and processing rate of the newest batch. A row is a record of Kafka.",
            "cps",
            Query(_query("inputRate_total"), "{{instance}} input"),
            Query(_query("processingRate_total"), "{{instance}} processing"),
            width=8,
        ),
        series(
            "Memory outside of the heap",
            "Of the JVM: code, classes, buffers.",
            "bytes",
            Query(_driver("jvm_non_heap_used_Number"), "{{instance}} not heap"),
            Query(_driver("jvm_direct_used_Number"), "{{instance}} direct buffers"),
            width=8,
        ),
    ),
)

BOARD = Board(
    "spark-job",
    "Market Spread: Spark job",
    "What the job does and what it uses. Spark's own figures exist where it was started with --monitored.",
    (RUN, _INSTANCE),
    (_NOW, _RED, _SATURATION, _INSTANCES),
)
