"""Real-Time Mode: rows pass through the query as they arrive; state and offsets are saved when a batch ends."""

from pathlib import Path

from market_spread.common import job_contract
from market_spread.streaming.modes.mode import SHARED_SETTINGS, LiveOperators, Mode
from market_spread.streaming.modes.real_time.compile import compile_pipeline, state_form
from market_spread.streaming.settings import read_settings

# Only while the job warms up, and long enough for a batch to read something (at 50 ms none did).
_WARM_UP_BATCH_S = 0.4
_SESSION_SETTINGS = read_settings(
    Path(__file__).with_name("session.conf"), {"warm_up_batch_ms": round(_WARM_UP_BATCH_S * 1000)}
)

REAL_TIME = Mode(
    name=job_contract.REAL_TIME,
    session_settings={**SHARED_SETTINGS, **_SESSION_SETTINGS},
    source_options={},
    compile=compile_pipeline,
    state_form=state_form,
    output_mode="update",
    trigger="realTime",
    warm_up_batch_s=_WARM_UP_BATCH_S,
    live_operators=LiveOperators(scan="RealTimeStreamScan", state="StatefulStreamlineAggregate"),
)
