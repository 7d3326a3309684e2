from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.streaming.driver.checkpoint import bind_state_form, newest_offsets, refuse_other_kafka
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
