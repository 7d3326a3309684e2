"""Micro-batch mode: one batch after the other, so a message costs little; a repeated batch gives the same output."""

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame

from market_spread.common import job_contract
from market_spread.streaming.modes.mode import SHARED_SETTINGS, Mode, read_settings
from market_spread.streaming.pipeline import Pipeline


def _compile(pipeline: Pipeline, records: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    # Imports pandas, a second of each start, of which Real-Time Mode needs nothing.
    from market_spread.streaming.modes.micro_batch.compile import compile_pipeline

    return compile_pipeline(pipeline, records, topics)


MICRO_BATCH = Mode(
    name=job_contract.MICRO_BATCH,
    session_settings={**SHARED_SETTINGS, **read_settings(Path(__file__).with_name("session.conf"))},
    # The most frames of a topic in a batch, so that with a backlog it neither outgrows the memory nor takes long.
    source_options={"maxOffsetsPerTrigger": "5000"},
    compile=_compile,
    output_mode="append",
    trigger="processingTime",  # batches begin this far apart, or as soon as the previous one has ended
)
