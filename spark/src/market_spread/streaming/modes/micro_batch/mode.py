"""Micro-batch mode: one batch after the other, so a message costs little; a repeated batch gives the same output."""

from pathlib import Path

from market_spread.common import job_contract
from market_spread.streaming.modes.micro_batch.compile import compile_pipeline
from market_spread.streaming.modes.mode import SHARED_SETTINGS, Mode
from market_spread.streaming.settings import read_settings

MICRO_BATCH = Mode(
    name=job_contract.MICRO_BATCH,
    session_settings={**SHARED_SETTINGS, **read_settings(Path(__file__).with_name("session.conf"))},
    # The most frames of a topic in a batch, so that with a backlog it neither outgrows the memory nor takes long.
    source_options={"maxOffsetsPerTrigger": "5000"},
    compile=compile_pipeline,
    output_mode="append",
    trigger="processingTime",  # batches begin this far apart, or as soon as the previous one has ended
)
