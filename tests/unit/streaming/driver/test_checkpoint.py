import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from market_spread.common.errors import UsageError
from market_spread.streaming.driver.checkpoint import (
    bind_state_form,
    newest_offsets,
    refuse_other_kafka,
    spread_state,
)
from market_spread.streaming.modes.real_time.bit_packing import BitField, BitPacking


def test_a_checkpoint_without_a_batch_knows_no_offset(tmp_path: Path) -> None:
    assert newest_offsets(tmp_path / "none") == {}


def test_the_newest_batch_counts_and_each_source_has_a_line(tmp_path: Path) -> None:
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    (offsets / "9").write_text('v1\n{"conf":{}}\n{"nbbo":{"0":7}}\n{"orders":{"0":5}}')
    (offsets / "10").write_text('v1\n{"conf":{}}\n{"nbbo":{"0":17,"1":18}}\n{"orders":{"0":15}}')
    (offsets / ".11.crc").write_text("")

    assert newest_offsets(tmp_path) == {("nbbo", 0): 17, ("nbbo", 1): 18, ("orders", 0): 15}


def test_a_source_that_has_read_nothing_has_no_offset(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text('v1\n{"conf":{}}\n-\n{"orders":{"0":5}}')

    assert newest_offsets(tmp_path) == {("orders", 0): 5}


def test_topics_that_go_on_are_those_of_the_checkpoint() -> None:
    refuse_other_kafka(Path("/checkpoint"), {("orders", 0): 5}, {("orders", 0): 5})


def test_topics_that_end_before_it_are_not() -> None:
    with pytest.raises(UsageError, match=r"offset 5 of orders-0, which ends at 4.*give the job an empty checkpoint"):
        refuse_other_kafka(Path("/checkpoint"), {("orders", 0): 5}, {("orders", 0): 4})


def begin(checkpoint: Path) -> Path:
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "offsets" / "0").write_text('v1\n{"conf":{}}\n-\n-')
    return checkpoint


def test_a_checkpoint_goes_on_in_the_form_in_which_it_began(tmp_path: Path) -> None:
    bind_state_form(tmp_path / "new", "bid+9")

    bind_state_form(begin(tmp_path / "new"), "bid+9")


def test_a_checkpoint_without_a_batch_takes_the_newest_form(tmp_path: Path) -> None:
    bind_state_form(tmp_path, "bid+0")
    bind_state_form(tmp_path, "bid+9")

    bind_state_form(begin(tmp_path), "bid+9")


def test_a_checkpoint_of_another_form_is_refused(tmp_path: Path) -> None:
    bind_state_form(tmp_path, "bid+0")
    begin(tmp_path)

    with pytest.raises(UsageError, match=r"state in another form .*give the job an empty checkpoint, or use the"):
        bind_state_form(tmp_path, "bid+9")


def test_a_checkpoint_of_a_build_that_noted_no_form_is_refused_where_there_is_one(tmp_path: Path) -> None:
    bind_state_form(begin(tmp_path), "")

    with pytest.raises(UsageError, match="state in another form"):
        bind_state_form(tmp_path, "bid+9")


def test_prices_that_cannot_be_negative_are_another_form() -> None:
    unsigned, signed = (BitPacking([BitField("bid", 34, bias)]).form for bias in (0, 2**33))

    assert unsigned != signed


@dataclass
class Manager:
    """What is asked of Spark's manager of checkpoints; it refuses what it is told to refuse."""

    refusal: Exception | None = None
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def spread(self, checkpoint: Path, partitions: int) -> list[tuple[Any, ...]]:
        spark: Any = type("Session", (), {"_streamingCheckpointManager": self, "conf": self})
        spread_state(cast(SparkSession, spark), checkpoint, partitions)
        return self.asked

    def set(self, name: str, value: str) -> None:
        assert (name, value) == ("spark.sql.streaming.stateStore.checkpointFormatVersion", "1")

    def repartition(self, *words: Any) -> None:
        self.asked.append(words)
        if self.refusal is not None:
            raise self.refusal


def committed(checkpoint: Path, *partitions: int, commits: int) -> Path:
    """Batches of so many state partitions each, of which the first ones are committed."""
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir()
    for number, count in enumerate(partitions):
        settings = {"conf": {"spark.sql.shuffle.partitions": str(count)}}
        (checkpoint / "offsets" / str(number)).write_text(f"v1\n{json.dumps(settings)}\n-\n-")
    for number in range(commits):
        (checkpoint / "commits" / str(number)).write_text("v1\n{}")
    return checkpoint


def test_state_is_spread_over_another_number_of_partitions_than_that_of_the_newest_commit(tmp_path: Path) -> None:
    checkpoint = committed(tmp_path, 1, 2, 4, commits=2)

    # The last batch, of four, has no commit: it may be one of a spreading that was interrupted.
    assert Manager().spread(checkpoint, 4) == [(str(tmp_path), 4, False)]
    assert Manager().spread(checkpoint, 2) == []


def test_without_a_commit_or_a_state_there_is_nothing_to_spread(tmp_path: Path) -> None:
    assert Manager().spread(tmp_path / "none", 4) == []
    assert Manager().spread(committed(tmp_path, 1, commits=1), 0) == []


def test_state_that_spark_does_not_spread_is_refused_with_the_remedy(tmp_path: Path) -> None:
    unsupported = Manager(AnalysisException("of an unsupported provider"))

    with pytest.raises(UsageError, match=r"from 1 over 4 partitions: of an unsupported provider; keep 1, or give the"):
        unsupported.spread(committed(tmp_path, 1, commits=1), 4)
