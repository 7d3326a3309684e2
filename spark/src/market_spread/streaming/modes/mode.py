"""What a mode is: how a pipeline is compiled for it, and the settings of its session and its query."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from market_spread.streaming.pipeline import Pipeline


def read_settings(path: Path, values: Mapping[str, object] | None = None) -> dict[str, str]:
    """Spark's settings of a file: a line is `name=value`, empty or a comment. values: what stands in it as `{name}`."""
    lines = (line for line in path.read_text().splitlines() if line and not line.startswith("#"))
    pairs = (line.partition("=") for line in lines)
    return {name: value.format_map(values or {}) for name, _, value in pairs}


SHARED_SETTINGS: Mapping[str, str] = read_settings(Path(__file__).with_name("shared.conf"))


@dataclass(frozen=True, slots=True)
class LiveOperators:
    """The operators of a running batch that count its rows, by their names in Spark's plan: source and state."""

    scan: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A mode.

    compile: the output of a pipeline that the mode can run, as Kafka records (topic, key, value); from the records of
    each source, and the Kafka topic of each sink and of `invalid`, by these names;
    state_form: how the state is packed, which a checkpoint is bound to; empty if Spark's types say everything;
    output_mode, trigger: of the query's writer; the trigger takes a duration;
    warm_up_batch_s: length of the short batches that a new checkpoint begins with; None: it needs none;
    live_operators: what counts the rows of the running batch; None: batches are too short for live counts.
    """

    name: str
    session_settings: Mapping[str, str]
    source_options: Mapping[str, str]
    compile: Callable[[Pipeline, Mapping[str, DataFrame], Mapping[str, str]], DataFrame]
    output_mode: str
    trigger: str
    state_form: Callable[[Pipeline], str] = lambda _: ""
    warm_up_batch_s: float | None = None
    live_operators: LiveOperators | None = None
