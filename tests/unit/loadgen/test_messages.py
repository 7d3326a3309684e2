"""Messages of the user's own, from generators and files, on the schedule of any load."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from market_spread.common.errors import UsageError
from market_spread.common.load.source import PlannedRecord, RecordLoad
from market_spread.loadgen.messages import messages

GENERATOR = """
from datetime import date, datetime
from decimal import Decimal

from market_spread.loadgen.message_files import Message


def trips(seed):
    number = 0
    while True:
        number += 1
        yield {"id": number, "city": ["Oslo", "Rome"][number % 2], "seed": seed}


def few(seed):
    yield b"one"
    yield "two"


def wrong(seed):
    yield 5


def raises(seed):
    yield b"one"
    raise KeyError("x")


def nothing(seed):
    return iter(())


def of(value):
    return lambda seed: iter([value] * 10)


told = of({"at": datetime(2026, 11, 2, 9, 30), "day": date(2026, 11, 2), "price": Decimal("1.10")})
no_json = of({"id": {1, 2}})
no_number = of({"id": float("nan")})
no_utf8 = of("\\ud800")
too_long = of(bytes(8_400_000))
key = of(Message(b"x", key=5))
header = of(Message(b"x", headers=[("from", "me")]))
own_header = of(Message(b"x", headers=[("message_id", b"77")]))
"""


@pytest.fixture
def generator(tmp_path: Path) -> str:
    path = tmp_path / "own_load.py"
    path.write_text(GENERATOR)
    return str(path)


def load(*inputs: dict[str, Any], per_s: int = 10, seconds: float = 1, **more: Any) -> RecordLoad:
    profile = {"profile": "constant", "messages_per_s": per_s, "duration_s": seconds}
    return messages({"inputs": list(inputs), "profile": profile, "seed": 3, **more}, 1_000_000_000)


def records_of(load: RecordLoad) -> list[PlannedRecord]:
    return [record for some in load.records() for record in some]


def test_a_generators_messages_are_on_the_schedule_with_their_numbers(generator: str) -> None:
    found = records_of(load({"topic": "trips", "from": {"generator": f"{generator}:trips"}}, first_number=40))
    assert [record.intended_ns for record in found] == [1_000_000_000 + i * 100_000_000 for i in range(10)]
    assert [dict(record.headers)["message_id"] for record in found] == [b"%d" % n for n in range(40, 50)]
    assert json.loads(found[0].value) == {"id": 1, "city": "Rome", "seed": 3}
    assert {record.topic for record in found} == {"trips"}


def test_a_key_decides_the_partition_and_without_one_they_take_turns(generator: str) -> None:
    source = {"generator": f"{generator}:trips"}
    keyed = records_of(load({"topic": "trips", "from": source, "key": "city", "partitions": 8}))
    places = {(record.key, record.partition) for record in keyed}
    assert {key for key, _ in places} == {b"Oslo", b"Rome"}
    assert len(places) == 2
    others = records_of(load({"topic": "trips", "from": source, "partitions": 3}))
    assert [record.partition for record in others[:4]] == [0, 1, 2, 0]


def test_inputs_share_the_load_by_their_shares(generator: str) -> None:
    source = {"generator": f"{generator}:trips"}
    found = records_of(load({"topic": "a", "from": source, "share": 3}, {"topic": "b", "from": source}, per_s=40))
    topics = [record.topic for record in found]
    assert (topics.count("a"), topics.count("b")) == (30, 10)
    assert topics[:8].count("b") == 2


def test_a_load_goes_on_where_an_earlier_one_ended(generator: str) -> None:
    source = {"topic": "trips", "from": {"generator": f"{generator}:trips"}}
    whole, rest = records_of(load(source, per_s=20)), records_of(load(source, after=10))
    assert [record.value for record in rest] == [record.value for record in whole[10:]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("few", r"few ended after 2 messages, and warm-up and load call for more; shorten them, or let it repeat"),
        ("wrong", r"yields 5; yield bytes, a text, a mapping or a Message"),
        ("nothing", r"there is no message in .*:nothing; name one that has some"),
        ("no_json", r":no_json: message 1 cannot be sent: JSON has no set, as \{1, 2\}; correct it"),
        ("no_number", r"message 1 cannot be sent: Out of range float values are not JSON"),
        ("no_utf8", r"message 1 cannot be sent: 'utf-8' codec can't encode"),
        ("too_long", r"message 1 cannot be sent: it has 8,400,000 bytes; use at most 8,323,072; correct it"),
        ("key", r"message 1 cannot be sent: its key is 5, .*; use bytes; correct it"),
        ("header", r"its headers are \[\(.from., .me.\)\]; use bytes"),
        ("own_header", r"its header .message_id. is the run.s own; use another name"),
        ("raises", r"own_load.py:26: .*:raises raised KeyError: 'x'; mend it there"),
    ],
)
def test_a_generator_that_is_wrong_is_told(generator: str, name: str, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        records_of(load({"topic": "trips", "from": {"generator": f"{generator}:{name}"}}))


def test_times_and_decimals_become_texts(generator: str) -> None:
    first = records_of(load({"topic": "trips", "from": {"generator": f"{generator}:told"}}))[0]
    assert first.value == b'{"at":"2026-11-02T09:30:00","day":"2026-11-02","price":"1.10"}'


@pytest.mark.parametrize(
    ("of", "content", "error"),
    [
        ("csv", b"id,city\n1,Oslo,2\n", "line 2 has more or fewer fields than the first; correct file: or format:"),
        ("csv", b"id,city\n1,Oslo\n2\n", "line 3 has more or fewer fields"),
        ("csv", b'id,city\n1,"Oslo\n2,Rome\n', "unexpected end of data"),
        ("csv", "id\nZürich\n".encode("latin-1"), "it is no text"),
        ("parquet", b'{"id":1}\n', "Parquet magic bytes not found"),
    ],
)
def test_a_file_that_is_not_of_its_format_is_told(tmp_path: Path, of: str, content: bytes, error: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UsageError, match=error):
        records_of(load({"topic": "t", "from": {"file": str(tmp_path / "file"), "format": of}}))


def test_a_csv_may_begin_with_a_byte_order_mark_and_have_long_fields(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b'\xef\xbb\xbfid,city\r\n1,"' + b"x" * 200_000 + b'"\r\n')
    source = {"file": str(tmp_path / "file"), "format": "csv"}
    (record,) = records_of(load({"topic": "t", "from": source, "key": "id"}, per_s=1))
    assert (record.key, json.loads(record.value)) == (b"1", {"id": "1", "city": "x" * 200_000})


def test_a_null_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b'{"id":null}\n{"id":1}\n')
    source = {"file": str(tmp_path / "lines")}
    found = records_of(load({"topic": "t", "from": source, "key": "id", "partitions": 3}, per_s=2))
    assert [record.key for record in found] == [None, b"1"]


def test_what_is_not_there_is_refused_before_anything_is_sent(generator: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no function 'none'"):
        load({"topic": "trips", "from": {"generator": f"{generator}:none"}})
    with pytest.raises(UsageError, match=r"the messages in .*none.txt cannot be read"):
        load({"topic": "trips", "from": {"file": str(tmp_path / "none.txt")}})


def test_files_of_every_format(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b'{"id":1}\r\n{"id":2}\n')
    (tmp_path / "csv").write_text("id,city\n1,Oslo\n2,Rome\n")
    (tmp_path / "binary").write_bytes(b"aaabbb")
    parquet.write_table(pa.table({"id": [1, 2]}), tmp_path / "parquet")

    def values(of: str, **more: Any) -> list[bytes]:
        source = {"file": str(tmp_path / of), "format": of, **more}
        return [record.value for record in records_of(load({"topic": "t", "from": source}, per_s=2))]

    assert values("lines") == [b'{"id":1}', b'{"id":2}']
    assert values("csv") == [b'{"id":"1","city":"Oslo"}', b'{"id":"2","city":"Rome"}']
    assert values("binary", record_bytes=3) == [b"aaa", b"bbb"]
    assert values("parquet") == [b'{"id":1}', b'{"id":2}']


def test_a_file_begins_anew_if_it_is_to(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"a\nb\n")
    source = {"file": str(tmp_path / "lines"), "repeat": True}
    assert [r.value for r in records_of(load({"topic": "t", "from": source}, per_s=5))] == [
        b"a",
        b"b",
        b"a",
        b"b",
        b"a",
    ]
    with pytest.raises(UsageError, match="lines ended after 2 messages"):
        records_of(load({"topic": "t", "from": {"file": str(tmp_path / "lines")}}))
    (tmp_path / "lines").write_bytes(b"")
    with pytest.raises(UsageError, match=r"there is no message in .*lines; name one"):
        load({"topic": "t", "from": source})


@pytest.mark.parametrize(("size", "error"), [(5, "ends with 2 bytes; record_bytes=3"), (0, "there is no message in")])
def test_a_binary_file_that_ends_within_a_message_is_told(tmp_path: Path, size: int, error: str) -> None:
    (tmp_path / "binary").write_bytes(b"x" * size)
    source = {"file": str(tmp_path / "binary"), "format": "binary", "record_bytes": 3}
    with pytest.raises(UsageError, match=error):
        records_of(load({"topic": "t", "from": source}))


def test_a_message_without_its_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b'{"id":1}\nno json\n')
    source = {"file": str(tmp_path / "lines")}
    with pytest.raises(UsageError, match=r"a message for t has no field 'city' to be its key: b'\{\"id\":1\}'"):
        load({"topic": "t", "from": source, "key": "city"})
