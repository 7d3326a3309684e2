from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import Bytes2D, encode
from market_spread.common.wire.layout import NBBO
from market_spread.loadgen.columns import Quotes, map_native, write_native


def quote_rows(*sequences: int) -> Bytes2D:
    count = len(sequences)
    return encode(
        NBBO,
        {
            "symbol": np.array([b"INSM  "] * count, "S6"),
            "bid": np.full(count, 196_505),
            "offer": np.full(count, 197_136),
            "intended_us": np.full(count, 1_472_831_272_000_000),
            "sequence": np.array(sequences, np.int64),
        },
    )


def test_native_file_is_the_messages_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "nbbo.messages"

    count = write_native(path, [quote_rows(1, 2), quote_rows(), quote_rows(3)])

    assert count == 3
    assert path.read_bytes() == (
        b"QINSM  000019650500001971361472831272000000000000000001"
        b"QINSM  000019650500001971361472831272000000000000000002"
        b"QINSM  000019650500001971361472831272000000000000000003"
    )


@given(parts=st.lists(st.lists(st.integers(0, 10**12 - 1), max_size=5), max_size=5))
def test_written_messages_read_back(tmp_path_factory: pytest.TempPathFactory, parts: list[list[int]]) -> None:
    path = tmp_path_factory.mktemp("native") / "nbbo.messages"

    write_native(path, (quote_rows(*part) for part in parts))

    read = [int(sequence) for quotes in Quotes.from_file(path) for sequence in quotes.sequence]
    assert read == [sequence for part in parts for sequence in part]
    assert map_native(path, NBBO).tobytes() == b"".join(quote_rows(*part).tobytes() for part in parts)


def test_truncated_tail_is_named_by_file_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "nbbo.messages"
    path.write_bytes(quote_rows(1, 2).tobytes()[:-5])

    with pytest.raises(UsageError, match=r"nbbo\.messages is cut short: the message at byte 55 has 50 of the 55 bytes"):
        map_native(path, NBBO)


def test_first_malformed_message_is_named_by_file_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "nbbo.messages"
    rows = quote_rows(*range(250_003))
    rows[250_001, 8] = ord("x")
    rows[250_002, 0] = ord("O")
    write_native(path, [rows])

    with pytest.raises(UsageError, match=r"nbbo\.messages has no nbbo message at byte 13750055: b'QINSM  0x"):
        list(Quotes.from_file(path))


def test_missing_file_and_folder_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nbbo\.messages cannot be read: No such file or directory"):
        map_native(tmp_path / "nbbo.messages", NBBO)
    with pytest.raises(UsageError, match=r"nbbo\.messages cannot be written after 0 messages: .*; name another"):
        write_native(tmp_path / "missing" / "nbbo.messages", [quote_rows(1)])
