"""The timeline of a run: each second of every component, in long form, as Parquet."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from market_spread.common.errors import usage_errors
from market_spread.controller.host.sampler import Row, batch_of

Floats = npt.NDArray[np.float64]
_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
_FILE_SCHEMA = pa.schema(
    [("unix_s", pa.int64()), ("component", _DICTIONARY), ("name", _DICTIONARY), ("value", pa.float64())]
)


@dataclass(frozen=True, slots=True)
class Series:
    """A value of a component over the seconds in which it was looked at, ascending."""

    unix_s: npt.NDArray[np.int64]
    values: Floats

    def __len__(self) -> int:
        return len(self.unix_s)

    def within(self, from_s: float, to_s: float) -> "Series":
        """The seconds that begin in the range."""
        chosen = (self.unix_s >= from_s) & (self.unix_s < to_s)
        return Series(self.unix_s[chosen], self.values[chosen])


_NONE = Series(np.empty(0, np.int64), np.empty(0))


class Timeline:
    """All series of a run. It holds 8 bytes twice for each value."""

    def __init__(self, series: Mapping[tuple[str, str], Series]) -> None:
        self._series = series

    @property
    def names(self) -> list[tuple[str, str]]:
        """Component and name of every series, sorted."""
        return sorted(self._series)

    def series(self, component: str, name: str) -> Series:
        """That series; an empty one if there is none."""
        return self._series.get((component, name), _NONE)

    def sum_of(self, name: str, components: Iterable[str]) -> Series:
        """The sum over components, at the seconds of the first of them that has the series."""
        found = [series for component in components if len(series := self.series(component, name))]
        if not found:
            return _NONE
        seconds = found[0].unix_s
        total = np.zeros(len(seconds))
        for series in found:
            at = np.clip(np.searchsorted(series.unix_s, seconds), 0, len(series) - 1)
            total += np.where(series.unix_s[at] == seconds, series.values[at], 0.0)
        return Series(seconds, total)

    @staticmethod
    def read(path: Path) -> "Timeline":
        """What was written. UsageError if it cannot be read."""
        kinds = (OSError, pa.ArrowException)
        with usage_errors(f"the timeline {path} cannot be read", "name the folder of another run", kinds):
            table = pq.read_table(path).cast(_FILE_SCHEMA).unify_dictionaries().combine_chunks()
            by_time = table.sort_by("unix_s").group_by(["component", "name"], use_threads=False)
            of_key = by_time.aggregate([("unix_s", "list"), ("value", "list")])
        keys = zip(of_key["component"].to_pylist(), of_key["name"].to_pylist(), strict=True)
        columns = zip(of_key["unix_s_list"], of_key["value_list"], strict=True)
        series = (Series(seconds.values.to_numpy(), values.values.to_numpy()) for seconds, values in columns)
        return Timeline(dict(zip(keys, series, strict=True)))


def write(samples: Path, path: Path, more: Iterable[Row]) -> Path:
    """Make the timeline of what the sampler wrote and of other rows. A stream that was cut counts as far as it goes.

    OSError if it cannot be written. The batches of the sampler are never all in memory.
    """
    unfinished = path.with_name(f"{path.name}.unfinished")
    with pq.ParquetWriter(unfinished, _FILE_SCHEMA, compression="zstd") as writer:
        for batches in _gathered(samples, more):
            writer.write_table(pa.Table.from_batches(batches).combine_chunks().cast(_FILE_SCHEMA))
    unfinished.replace(path)
    return path


def _gathered(samples: Path, more: Iterable[Row]) -> Iterator[list[pa.RecordBatch]]:
    """The batches that are whole, some hundred at a time: each row group costs some kilobytes. Then the other rows."""
    gathered: list[pa.RecordBatch] = []
    try:
        with pa.OSFile(str(samples), "rb") as file, pa.ipc.open_stream(file) as stream:
            for batch in stream:
                gathered.append(batch)
                if len(gathered) >= 100:
                    yield gathered
                    gathered = []
    except (OSError, pa.ArrowException):
        pass
    if gathered:
        yield gathered
    if rows := list(more):
        yield [batch_of(rows)]
