"""Pushes and notes as text, read by us and by the HdrHistogram package."""

from pathlib import Path

import numpy as np
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given, settings
from hypothesis import strategies as st

from market_spread.common.hdr.codec import Buckets
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.telemetry.recorder import exact_of
from market_spread.metrics_aggregator.model.hlog import (
    Entry,
    Reading,
    decode,
    header,
    note_block,
    push_block,
    whole_blocks,
)
from market_spread.metrics_aggregator.model.intervals import HistogramInterval
from market_spread.metrics_aggregator.model.push_validation import Measured
from market_spread.metrics_aggregator.model.series import SeriesId
from market_spread.v1.limits_pb2 import FailedCheck, RunLimits
from market_spread.v1.metrics_pb2 import IntervalHistogram, Judgement, NoteRequest, PushRequest, Sample, SeriesKey

SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND

TEXTS = st.text(max_size=20)
LABELS = st.dictionaries(st.text(min_size=1, max_size=5), TEXTS, max_size=3)
KEYS = st.builds(lambda name, labels: SeriesKey(name=name, labels=labels), TEXTS, LABELS)
SAMPLES = st.builds(
    lambda key, value: Sample(key=key, value=value), KEYS, st.floats(allow_nan=False, allow_infinity=False)
)
UNSIGNED = st.integers(0, 2**64 - 1)


def histogram(key: SeriesKey, values_us: list[int]) -> IntervalHistogram:
    values = HdrCounts()
    values.record(np.array(values_us, np.int64))
    return IntervalHistogram(
        key=key, encoded=values.encode(), count=values.count, sum=values.sum_us, min=values.min_us, max=values.max_us,
        overflow=values.overflow, negative=values.negative,
    )  # fmt: skip


HISTOGRAMS = st.builds(histogram, KEYS, st.lists(st.integers(-5, 5_000_000_000), max_size=5))
PUSHES = st.builds(
    PushRequest,
    source=TEXTS,
    epoch_unix_ns=UNSIGNED,
    sequence=UNSIGNED,
    start_unix_ns=UNSIGNED,
    end_unix_ns=st.just(2**64 - 1),
    run_id=TEXTS,
    histograms=st.lists(HISTOGRAMS, max_size=3),
    counters=st.lists(SAMPLES, max_size=3),
    gauges=st.lists(SAMPLES, max_size=3),
    clock_error_us=st.integers(-1, 2**62),
    clock_synchronised=st.booleans(),
    pushes_dropped=UNSIGNED,
    host=TEXTS,
)
SHARES = st.floats(0, 1)
LIMITS = st.builds(
    RunLimits,
    late_us=st.none() | UNSIGNED,
    late_share_max=st.none() | SHARES,
    stall_us=st.none() | UNSIGNED,
    latency_us_max=st.dictionaries(TEXTS, UNSIGNED, max_size=2),
    loss_max=st.none() | UNSIGNED,
)
JUDGEMENTS = st.builds(
    Judgement,
    failed=st.lists(st.builds(FailedCheck, check=TEXTS, text=TEXTS, cause=TEXTS), max_size=2),
    histograms=st.lists(HISTOGRAMS, max_size=2),
    from_unix_ns=UNSIGNED,
    to_unix_ns=UNSIGNED,
)
NOTES = st.builds(
    NoteRequest,
    run_id=TEXTS,
    unix_ns=UNSIGNED,
    kind=TEXTS,
    name=TEXTS,
    text=TEXTS,
    limits=st.none() | LIMITS,
    judgement=st.none() | JUDGEMENTS,
)


def encode(entry: Entry) -> bytes:
    return note_block(entry) if isinstance(entry, NoteRequest) else push_block(entry, measured(entry))


def measured(push: PushRequest) -> Measured:
    """What the push says, be its names registered or not."""

    def named(key: SeriesKey) -> SeriesId:
        return SeriesId(key.name, tuple(sorted(key.labels.items())), push.source, push.run_id)

    def interval(item: IntervalHistogram) -> HistogramInterval:
        return HistogramInterval(push.start_unix_ns, push.end_unix_ns, exact_of(item), item.encoded)

    histograms = [(named(item.key), interval(item), Buckets.decode(item.encoded)) for item in push.histograms]
    counters, gauges = ([(named(item.key), item.value) for item in items] for items in (push.counters, push.gauges))
    return Measured(histograms, counters, gauges, set())


def entries(text: bytes, reading: Reading | None = None) -> list[Entry | None]:
    blocks = whole_blocks(text.splitlines(keepends=True), reading or Reading())
    return [decode(block) for block in blocks]


def a_push(sequence: int = 1) -> PushRequest:
    key = SeriesKey(name="market_spread_receiver_stage_seconds", labels={"stage": "a,b c", "phase": "measured"})
    return PushRequest(
        source="receiver-0",
        epoch_unix_ns=BEGIN,
        sequence=sequence,
        start_unix_ns=BEGIN + sequence * SECOND,
        end_unix_ns=BEGIN + (sequence + 1) * SECOND,
        run_id="r1",
        histograms=[histogram(key, [1_500, 1_500, 2_000_000])],
        counters=[Sample(key=SeriesKey(name="market_spread_sender_frames_late_total"), value=sequence)],
    )


@given(st.lists(st.one_of(PUSHES, NOTES), max_size=4))
@settings(max_examples=60)
def test_what_is_written_is_read_back_equal(written: list[Entry]) -> None:
    text = header(BEGIN) + b"".join(encode(entry) for entry in written)

    assert entries(text) == written


@given(st.lists(NOTES, min_size=1, max_size=3), st.data())
@settings(max_examples=60)
def test_a_log_cut_anywhere_has_its_first_entries_whole(written: list[Entry], data: st.DataObject) -> None:
    blocks = [encode(entry) for entry in written]
    text = header(BEGIN) + b"".join(blocks)
    cut = data.draw(st.integers(0, len(text)))
    reading = Reading()

    found = entries(text[:cut], reading)

    assert found == written[: len(found)]
    ends = [len(header(BEGIN)) + sum(map(len, blocks[: number + 1])) for number in range(len(blocks))]
    assert len(found) == sum(1 for end in ends if end <= cut)
    assert reading.whole == max((end for end in ends if end <= cut), default=0)


def test_a_damaged_block_is_left_out_and_those_behind_it_stay() -> None:
    parts = [header(BEGIN), encode(a_push(1)), encode(a_push(2)), encode(a_push(3))]
    parts[2] = parts[2].replace(b'"sequence":2', b'"sequence":7')
    reading = Reading()

    found = entries(b"".join(parts), reading)

    assert found == [a_push(1), a_push(3)]
    assert (reading.damaged, reading.whole) == (1, sum(map(len, parts)))


def test_what_a_later_version_wrote_is_no_entry() -> None:
    (block,) = whole_blocks(encode(a_push()).splitlines(keepends=True), Reading())

    assert decode([b'#push {"shape": "another"}\n', *block[1:]]) is None
    assert decode([b"#push nonsense\n", *block[1:]]) is None
    assert decode(block[:1]) is None


def test_what_an_earlier_version_wrote_has_neither_host_nor_limits() -> None:
    push = a_push()
    push.host = "a-boot-id"
    (block,) = whole_blocks(encode(push).splitlines(keepends=True), Reading())
    note = b'#note {"run_id":"r1","unix_ns":5,"kind":"verdict","name":"passed","text":""}\n'

    assert decode([block[0].replace(b',"host":"a-boot-id"', b""), *block[1:]]) == a_push()
    assert decode([note]) == NoteRequest(run_id="r1", unix_ns=5, kind="verdict", name="passed")
    assert decode([note.replace(b'"text":""', b'"text":"","limits":{"late_us":"soon"}')]) is None


def test_the_text_is_a_log_of_the_format_1_2() -> None:
    lines = (header(BEGIN) + encode(a_push())).decode().splitlines()

    assert lines[:3] == [
        "#[Histogram log format version 1.2]",
        "#[StartTime: 1700000000.000000000 (seconds since epoch)]",
        "#[BaseTime: 0.0 (seconds since epoch)]",
    ]
    assert lines[4] == '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    assert lines[6].startswith(
        "Tag=market_spread_receiver_stage_seconds;source=receiver-0;phase=measured;stage=a%2Cb%20c,"
        "1700000001.000000000,1.000000000,2000.000,HISTFAAA"
    )
    assert lines[7].startswith("#end ")


def test_the_package_reads_the_histograms(tmp_path: Path) -> None:
    path = tmp_path / "metrics.hlog"
    path.write_bytes(header(BEGIN) + b"".join(encode(a_push(sequence)) for sequence in (1, 2, 3)))
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000, 3))

    found = []
    while (read := reader.get_next_interval_histogram()) is not None:
        found.append((read.get_total_count(), read.get_value_at_percentile(50), read.get_start_time_stamp()))
    reader.close()

    assert found == [(3, 1_500, (BEGIN // SECOND + sequence) * 1000.0) for sequence in (1, 2, 3)]
