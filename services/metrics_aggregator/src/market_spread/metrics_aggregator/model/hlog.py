"""Pushes and notes as text: HdrHistogram's log format 1.2, and what it cannot hold in comment lines.

A push is one block of lines:

    #push {"source": "receiver-0", "sequence": 7, ...}     all but the buckets of its histograms
    Tag=...,<start, s>,<length, s>,<maximum, ms>,<base64>  a histogram, as any HDR tool reads it; values in microseconds
    #end 7d1bb5a0                                          CRC-32 of the lines above

and a note is one with `#note {...}` alone. A block counts when its end line is there and fits, so a push is there whole
or not at all. Times are seconds since the Unix epoch.
"""

import json
import struct
from base64 import b64decode
from binascii import Error as Base64Error
from binascii import b2a_base64, crc32
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

from market_spread.common.documents import json_object
from market_spread.common.hdr.histogram import Exact
from market_spread.common.telemetry.recorder import histogram_message
from market_spread.metrics_aggregator.model.push_validation import Measured
from market_spread.metrics_aggregator.model.series import SeriesId
from market_spread.v1.metrics_pb2 import IntervalHistogram, NoteRequest, PushRequest, Sample, SeriesKey

Entry = PushRequest | NoteRequest

# Series come again in every push, so what stands for them is made once.
_KEYS_KNOWN_MAX = 4_096
_PUSH, _NOTE, _END = b"#push ", b"#note ", b"#end "
# What stands before the compressed histogram in HdrHistogram's V2 format: a cookie and the length.
_WRAPPER = struct.Struct(">II")
_COOKIE = 0x1C849314
_PUSH_FIELDS = (
    "source", "epoch_unix_ns", "sequence", "start_unix_ns", "end_unix_ns", "run_id", "clock_error_us",
    "clock_synchronised", "pushes_dropped",
)  # fmt: skip
# json.dumps would make an encoder each time.
_json = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(slots=True)
class Reading:
    """How far a log has been read. whole: bytes up to the end of the last whole block; damaged: blocks left out."""

    whole: int = 0
    damaged: int = 0


def header(begin_unix_ns: int) -> bytes:
    """The first lines of a log."""
    return (
        "#[Histogram log format version 1.2]\n"
        f"#[StartTime: {_seconds(begin_unix_ns)} (seconds since epoch)]\n"
        "#[BaseTime: 0.0 (seconds since epoch)]\n"
        "#[Values: microseconds. Lines of #push, #note and #end are market-spread's]\n"
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    ).encode()


def push_block(push: PushRequest, measured: Measured) -> bytes:
    """The block of a push, with what was read in it."""
    head = _json({field: getattr(push, field) for field in (*_PUSH_FIELDS, "host")})
    histograms = ",".join([
        f"{_key_text(series_id)},{','.join(map(str, each.exact))}]"
        for series_id, each, _ in measured.histograms
    ])  # fmt: skip
    counters, gauges = _sample_texts(measured.counters), _sample_texts(measured.gauges)
    told = f'{head[:-1]},"histograms":[{histograms}],"counters":[{counters}],"gauges":[{gauges}]}}\n'
    lines = [_PUSH, told.encode()]
    span = f"{_seconds(push.start_unix_ns)},{_seconds(push.end_unix_ns - push.start_unix_ns)}"
    for series_id, each, _ in measured.histograms:
        lines.append(f"Tag={_tag(series_id)},{span},{each.exact.max_us / 1000:.3f},".encode())
        lines.append(b2a_base64(wrapped(each.encoded)))  # with the line's end
    return _block(b"".join(lines))


def note_block(note: NoteRequest) -> bytes:
    """The block of a note."""
    told = MessageToDict(note, preserving_proto_field_name=True) | {"unix_ns": note.unix_ns}
    return _block(b"%b%b\n" % (_NOTE, _json(told).encode()))


def wrapped(encoded: bytes) -> bytes:
    """A histogram as it stands in a log before base64: what it is encoded to, with HdrHistogram's cookie and length."""
    return _WRAPPER.pack(_COOKIE, len(encoded)) + encoded


def whole_blocks(lines: Iterable[bytes], reading: Reading) -> Iterator[list[bytes]]:
    """The lines of each whole block of a log, without its end line; the rest is left out. `reading` follows."""
    at, block = 0, list[bytes]()
    for line in lines:
        at += len(line)
        if line.startswith((_PUSH, _NOTE)):
            reading.damaged += bool(block)
            block = [line]
        elif line.startswith(_END) and block:
            if line == b"#end %08x\n" % crc32(b"".join(block)):
                reading.whole = at
                yield block
            else:
                reading.damaged += 1
            block = []
        elif block:
            block.append(line)
    reading.damaged += bool(block)


def decode(block: list[bytes]) -> Entry | None:
    """What the lines of a block, without its end line, hold; None if a later version wrote them."""
    head, lines = block[0], block[1:]
    try:
        if head.startswith(_NOTE):
            return ParseDict(json_object(head[len(_NOTE) :]), NoteRequest(), ignore_unknown_fields=True)
        told = json.loads(head[len(_PUSH) :])
        push = PushRequest(**{field: told[field] for field in _PUSH_FIELDS}, host=told.get("host", ""))
        push.histograms.extend(_histogram(*pair) for pair in zip(told["histograms"], lines, strict=True))
        push.counters.extend(_sample(sample) for sample in told["counters"])
        push.gauges.extend(_sample(sample) for sample in told["gauges"])
    except (LookupError, TypeError, ValueError, OverflowError, RecursionError, Base64Error, ParseError):
        return None
    return push


def _block(text: bytes) -> bytes:
    return text + b"#end %08x\n" % crc32(text)


def _sample_texts(samples: Iterable[tuple[SeriesId, float]]) -> str:
    # Shortest digits that make the same number, as JSON writes them.
    return ",".join([f"{_key_text(series_id)},{value!r}]" for series_id, value in samples])


@lru_cache(maxsize=_KEYS_KNOWN_MAX)
def _key_text(series_id: SeriesId) -> str:
    """The begin of a JSON array: name and labels."""
    return _json([series_id.name, dict(series_id.labels)])[:-1]


def _histogram(told: list[Any], line: bytes) -> IntervalHistogram:
    name, labels, *exact = told
    data = b64decode(line.rsplit(b",", 1)[1], validate=False)
    return histogram_message(SeriesKey(name=name, labels=labels), Exact(*exact), data[_WRAPPER.size :])


def _sample(told: list[Any]) -> Sample:
    name, labels, value = told
    return Sample(key=SeriesKey(name=name, labels=labels), value=value)


@lru_cache(maxsize=_KEYS_KNOWN_MAX)
def _tag(series_id: SeriesId) -> str:
    """Name, source and labels; a tag has neither comma nor blank."""
    labels = "".join(f";{quote(label)}={quote(value)}" for label, value in series_id.labels)
    return f"{quote(series_id.name)};source={quote(series_id.source)}{labels}"


def _seconds(duration_ns: int) -> str:
    return f"{duration_ns // 10**9}.{duration_ns % 10**9:09d}"
