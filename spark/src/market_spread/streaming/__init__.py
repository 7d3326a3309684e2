"""Stream-processing pipelines as values: one definition runs in Real-Time Mode and in micro-batch mode.

What a pipeline is written with is here; what runs it is in `driver` and `modes`, what tests it in `testing`.
"""

from market_spread.common.wire.layout import Field, Kind, Layout
from market_spread.streaming.operators.stateful import AsOfJoin, CountWindow, RangeWindow, RunningTotal, StatefulMap
from market_spread.streaming.operators.stateless import Filter, FlatMap, Map, MapBatches, Row, Sink, Text
from market_spread.streaming.pipeline import Pipeline, PipelineError, Source, Stream

__all__ = [
    "AsOfJoin",
    "CountWindow",
    "Field",
    "Filter",
    "FlatMap",
    "Kind",
    "Layout",
    "Map",
    "MapBatches",
    "Pipeline",
    "PipelineError",
    "RangeWindow",
    "Row",
    "RunningTotal",
    "Sink",
    "Source",
    "StatefulMap",
    "Stream",
    "Text",
    "applications",
    "driver",
    "modes",
    "testing",
]
