"""Stream-processing pipelines as values: one definition runs in Real-Time Mode and in micro-batch mode.

This package exports what a pipeline is written with; `driver` and `modes` run it, `testing` tests it.
"""

from market_spread.common.wire.layout import Field, Kind, Layout
from market_spread.streaming.messages import Avro, Bytes, Csv, Json, PipelineError, Text
from market_spread.streaming.operators.stateful import (
    AsOfJoin,
    CountWindow,
    Deduplicate,
    IntervalJoin,
    RangeWindow,
    RunningTotal,
    SessionWindow,
    StatefulMap,
)
from market_spread.streaming.operators.stateless import Filter, FlatMap, Map, MapBatches, Row, Sink
from market_spread.streaming.pipeline import INVALID, Pipeline, Source, Stream

__all__ = [
    "INVALID", "AsOfJoin", "Avro", "Bytes", "CountWindow", "Csv", "Deduplicate", "Field", "Filter", "FlatMap",
    "IntervalJoin", "Json", "Kind", "Layout", "Map", "MapBatches", "Pipeline", "PipelineError", "RangeWindow", "Row",
    "RunningTotal", "SessionWindow", "Sink", "Source", "StatefulMap", "Stream", "Text", "applications", "driver",
    "messages", "modes", "testing",
]  # fmt: skip
