from pathlib import Path

import numpy as np
import pytest

from market_spread.common.errors import UsageError
from market_spread.common.load.source import Block, find_source
from market_spread.common.wire.codec import decode, encode
from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.loadgen.sources import market, recorded
from tests.support.buckets import bucket_of

START_NS = 1_700_000_000_000_000_000
PROFILE = {"profile": "constant", "messages_per_s": 1_000}
SYMBOLS = [b"INSM  ", b"A.B   ", b"/P/   "]


def write_quotes(path: Path, count: int) -> bytes:
    rows = encode(
        NBBO,
        {
            "symbol": np.array([SYMBOLS[i % 3] for i in range(count)], "S6"),
            "bid": np.arange(count) + 10_000,
            "offer": np.arange(count) + 10_300,
            "intended_us": np.arange(count),
            "sequence": np.arange(count) + 1,
        },
    )
    path.write_bytes(rows.tobytes())
    return rows.tobytes()


def write_orders(path: Path, count: int) -> bytes:
    rows = encode(
        ORDER,
        {
            "symbol": np.array([SYMBOLS[i % 3] for i in range(count)], "S6"),
            "side": np.full(count, ord("B"), np.uint8),
            "account": np.full(count, 57),
            "order_id": np.arange(count) + 1,
            "quantity": np.full(count, -100),
            "price": np.full(count, 7_475),
            "intended_us": np.zeros(count, np.int64),
        },
    )
    path.write_bytes(rows.tobytes())
    return rows.tobytes()


def parameters(folder: Path, part: str) -> dict[str, object]:
    name, layout = ("nbbo", "nbbo") if part == "initial" else ("orders", "order")
    return {"file": str(folder / name), "layout": layout, "buckets": 8, "messages_per_s": PROFILE["messages_per_s"]}


def rows_of(blocks: list[Block], name: str) -> bytes:
    return b"".join(getattr(block, name).rows.tobytes() for block in blocks)


def test_both_sources_are_installed() -> None:
    assert find_source("market") is market
    assert find_source("recorded") is recorded


def test_the_market_source_takes_json() -> None:
    load = market({"seed": 1, "buckets": 4, "profile": {**PROFILE, "duration_s": 2}}, START_NS)

    assert load.messages == 2_000
    assert load.messages_due(START_NS + 1_000_000_000) == 1_000
    assert sum(len(block.quotes) for block in load.blocks()) == 1_000


def test_the_market_source_refuses_what_it_does_not_know() -> None:
    with pytest.raises(UsageError, match="speed is unknown"):
        market({"seed": 1, "buckets": 4, "profile": {**PROFILE, "duration_s": 2}, "speed": 1}, START_NS)


def test_initial_sends_the_quotes_with_the_schedule_s_times(tmp_path: Path) -> None:
    written = decode(NBBO, write_quotes(tmp_path / "nbbo", 10_000))
    load = recorded(parameters(tmp_path, "initial"), START_NS)

    blocks = list(load.blocks())

    sent = decode(NBBO, rows_of(blocks, "quotes"))
    assert load.messages == 10_000
    assert sent.ints("intended_us").tolist() == [1_700_000_000_000_000 + i * 1_000 for i in range(10_000)]
    for name in ("symbol", "bid", "offer", "sequence"):
        assert sent.columns[name].tolist() == written.columns[name].tolist()
    assert sum(len(block.orders) for block in blocks) == 0


def test_orders_sends_the_orders_with_the_schedule_s_times(tmp_path: Path) -> None:
    written = decode(ORDER, write_orders(tmp_path / "orders", 5_000))
    load = recorded(parameters(tmp_path, "orders"), START_NS)

    blocks = list(load.blocks())

    sent = decode(ORDER, rows_of(blocks, "orders"))
    assert sent.ints("intended_us").tolist() == [1_700_000_000_000_000 + i * 1_000 for i in range(5_000)]
    for name in ("symbol", "side", "account", "order_id", "quantity", "price"):
        assert sent.columns[name].tolist() == written.columns[name].tolist()
    assert sum(len(block.quotes) for block in blocks) == 0


def test_recorded_blocks_follow_one_another_and_name_the_buckets(tmp_path: Path) -> None:
    write_quotes(tmp_path / "nbbo", 10_000)
    load = recorded(parameters(tmp_path, "initial"), START_NS)

    begin_ns = START_NS
    for block in load.blocks():
        assert block.quotes.intended_ns[0] == begin_ns
        assert block.quotes.intended_ns[-1] < block.end_ns
        assert len(block.quotes) <= 512
        names = [bytes(row[1:7]).decode().rstrip() for row in block.quotes.rows[:3]]
        assert block.quotes.buckets[:3].tolist() == [bucket_of(name, 8) for name in names]
        begin_ns = block.end_ns

    assert begin_ns == START_NS + 10_000_000_000
    assert load.messages_due(START_NS + 1_000_001) == 2
    assert load.messages_due(begin_ns) == 10_000


def test_reading_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    written = write_quotes(tmp_path / "nbbo", 100)

    first = rows_of(list(recorded(parameters(tmp_path, "initial"), START_NS).blocks()), "quotes")
    again = rows_of(list(recorded(parameters(tmp_path, "initial"), START_NS).blocks()), "quotes")

    assert first == again != written
    assert (tmp_path / "nbbo").read_bytes() == written


def test_an_empty_file_has_no_messages(tmp_path: Path) -> None:
    (tmp_path / "orders").write_bytes(b"")

    load = recorded(parameters(tmp_path, "orders"), START_NS)

    assert load.messages == 0
    assert load.messages_due(START_NS + 10**12) == 0
    assert list(load.blocks()) == []


def test_a_truncated_file_is_refused_with_the_byte(tmp_path: Path) -> None:
    (tmp_path / "nbbo").write_bytes(write_quotes(tmp_path / "nbbo", 3)[:-1])

    with pytest.raises(
        UsageError,
        match="nbbo is cut short: the message at byte 110 has 54 of the 55 bytes of an nbbo message; cut the file",
    ):
        recorded(parameters(tmp_path, "initial"), START_NS)


def test_a_file_of_the_other_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nbbo").write_bytes(write_orders(tmp_path / "orders", 55))

    with pytest.raises(UsageError, match="does not begin with a nbbo message; name a native nbbo file"):
        recorded(parameters(tmp_path, "initial"), START_NS)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="orders cannot be read: No such file or directory; name a native order file"):
        recorded(parameters(tmp_path, "orders"), START_NS)


def test_all_errors_of_recorded_parameters_are_named_at_once() -> None:
    with pytest.raises(UsageError) as raised:
        recorded({"file": "x", "layout": "alert", "messages_per_s": 0, "speed": 1}, START_NS)

    assert str(raised.value) == (
        "layout='alert'; use one of nbbo, order; buckets is missing; use a whole number from 1 to 1024; "
        "messages_per_s=0; use a whole number from 1 to 10000000; speed is unknown; leave it out"
    )
