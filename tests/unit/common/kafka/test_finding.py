"""An output names its message by a header, by a field of its JSON, or by a function of the user's."""

from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.common.kafka.access import BY_NUMBER, FINDS
from market_spread.common.kafka.client import Record, partition_of


def record(value: bytes, **headers: bytes) -> Record:
    return Record(0, value, headers=tuple(headers.items()))


def test_a_header_names_it() -> None:
    assert BY_NUMBER.finder()(record(b"any", other=b"1", message_id=b"17")) == "17"
    assert BY_NUMBER.finder()(record(b"any", other=b"1")) is None


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b'{"order":{"id":5}}', "5"),
        (b'{"order":{"id":"x"}}', "x"),
        (b'{"order":{"id":null}}', None),
        (b'{"order":7}', None),
        (b'{"other":7}', None),
        (b"[1]", None),
        (b"no JSON", None),
        (b"\xff\xfe", None),
    ],
)
def test_a_field_names_it(value: bytes, found: str | None) -> None:
    assert FINDS.read({"field": "order.id"}).finder()(record(value)) == found


def test_a_function_names_it_and_what_it_raises_is_told(tmp_path: Path) -> None:
    (tmp_path / "own_finder.py").write_text("def find(record):\n    return record.value.split(b',')[1]\n")
    find = FINDS.read({"function": f"{tmp_path}/own_finder.py:find"}).finder()
    assert find(record(b"a,42")) == "42"
    with pytest.raises(UsageError, match=r"own_finder.py:2: .* raised IndexError"):
        find(record(b"a"))


def test_whoever_counts_what_a_function_cannot_read_is_told_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "own_finder.py").write_text("def find(record):\n    return record.value.split(b',')[1]\n")
    raised: list[UsageError] = []
    find = FINDS.read({"function": f"{tmp_path}/own_finder.py:find"}).finder(raised.append)

    assert [find(record(value)) for value in (b"a", b"a,42", b"b")] == [None, "42", None]

    assert [str(error).partition(": ")[0] for error in raised] == [f"{tmp_path}/own_finder.py:2"] * 2


@pytest.mark.parametrize("given", [{}, {"field": "a", "header": "b"}])
def test_it_is_exactly_one_of_them(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="give exactly one of them"):
        FINDS.read(given)


def test_a_key_goes_where_kafkas_own_clients_put_it() -> None:
    # From org.apache.kafka.common.utils.Utils.murmur2, as UtilsTest of Kafka has it: its hashes of these keys.
    hashes = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
    for key, hashed in hashes.items():
        assert partition_of(key, 12) == (hashed & 0x7FFFFFFF) % 12
