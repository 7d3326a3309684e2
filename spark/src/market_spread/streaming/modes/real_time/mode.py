"""Real-Time Mode: rows pass through the query as they arrive; state and offsets are saved when a batch ends."""

from collections.abc import Mapping

from market_spread.common import job_contract
from market_spread.streaming.modes.mode import SHARED_SETTINGS, LiveOperators, Mode
from market_spread.streaming.modes.real_time.compile import compile_pipeline, state_form

# Only while the job warms up, and long enough for a batch to read something (at 50 ms none did).
_WARM_UP_BATCH_S = 0.4

# The state's generated projection is longer than HotSpot compiles by default; interpreted, it would be the bottleneck.
# The parallel collector costs the threads that allocate less than G1 does (docs/adr/0006).
_JAVA_OPTIONS = "-XX:-DontCompileHugeMethods -XX:+UseParallelGC"

# Spark reads them only at launch, so they belong to the session, not the query.
_SESSION_SETTINGS: Mapping[str, str] = {
    **SHARED_SETTINGS,
    # The shuffle's buffers are sent after at most this: the main part of the latency. With 0 its thread would spin.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    "spark.shuffle.streaming.networkBufferSize": "32768",
    "spark.shuffle.streaming.checksum.enabled": "false",
    "spark.rpc.io.threads": "2",
    "spark.sql.streaming.realTimeMode.minBatchDuration": str(round(_WARM_UP_BATCH_S * 1000)),
    "spark.driver.defaultJavaOptions": _JAVA_OPTIONS,
    "spark.executor.defaultJavaOptions": _JAVA_OPTIONS,
}


REAL_TIME = Mode(
    name=job_contract.REAL_TIME,
    session_settings=_SESSION_SETTINGS,
    source_options={},
    compile=compile_pipeline,
    state_form=state_form,
    output_mode="update",
    trigger="realTime",
    warm_up_batch_s=_WARM_UP_BATCH_S,
    live_operators=LiveOperators(scan="RealTimeStreamScan", state="StatefulStreamlineAggregate"),
)
