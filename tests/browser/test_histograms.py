"""hdr.js gives what HdrCounts and the hdrhistogram package give."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hdrh.histogram import HdrHistogram
from playwright.sync_api import Error

from market_spread.common.hdr.codec import HIGHEST_US
from market_spread.common.hdr.histogram import HdrCounts, bucket_indices, highest_values, lowest_values
from tests.browser.synthetic import counts_text

PERCENTS = [0.001, 1, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 100]
GENERATOR = np.random.default_rng(11)
SETS = {
    "one": np.array([1_234_567]),
    "zero": np.array([0, 0, 0]),
    "edges": np.array([0, 1, 2, 3, 4, 2046, 2047, 2048, 2049, 4095, 4096, 4097, 65_535, 65_536, HIGHEST_US]),
    "beyond": np.array([-5, -1, HIGHEST_US + 1, 2 * HIGHEST_US, 17]),
    "narrow": GENERATOR.integers(3000, 3100, 50_000),
    "wide": GENERATOR.lognormal(9, 2.5, 20_000).astype(np.int64),
    "two humps": np.concatenate([GENERATOR.normal(5e3, 500, 9_000), GENERATOR.normal(8e5, 4e4, 1_000)]).astype(
        np.int64
    ),
}

Call = Callable[..., Any]
Int64s = npt.NDArray[np.int64]


def recorded(values: Int64s) -> HdrCounts:
    counts = HdrCounts()
    counts.record(values.astype(np.int64))
    return counts


def row(counts: HdrCounts) -> list[Any]:
    numbers = [counts.count, counts.sum_us, counts.min_us, counts.max_us, counts.overflow, counts.negative]
    return [*numbers, counts_text(counts)]


READ = """const read = ([count, sumUs, minUs, maxUs, overflow, negative, text]) => (
  {count, sumUs, minUs, maxUs, overflow, negative, ...(count ? hdr.decodeCounts(text) : hdr.emptyHist())});"""


@pytest.mark.parametrize("name", SETS)
def test_counts_are_those_that_were_recorded(name: str, call: Call) -> None:
    counts = recorded(SETS[name])

    decoded = call(
        "hdr.js",
        "(hdr, text) => { const found = hdr.decodeCounts(text); return [[...found.indices], [...found.numbers]]; }",
        counts_text(counts),
    )  # fmt: skip

    used = np.flatnonzero(counts.counts)
    assert decoded == [used.tolist(), counts.counts[used].tolist()]


@pytest.mark.parametrize("name", SETS)
def test_percentiles_are_those_of_both_oracles(name: str, call: Call) -> None:
    counts = recorded(SETS[name])
    oracle = HdrHistogram(1, HIGHEST_US, 3)
    for value in np.clip(SETS[name], 0, HIGHEST_US).tolist():
        oracle.record_value(value)

    found = call(
        "hdr.js",
        f"(hdr, [row, percents]) => {{ {READ} return hdr.percentiles(read(row), percents); }}",
        [row(counts), PERCENTS],
    )

    assert found == counts.percentiles(PERCENTS)
    assert found == [min(oracle.get_value_at_percentile(percent), counts.max_us) for percent in PERCENTS]


def test_merge_is_that_of_all_values(call: Call) -> None:
    parts = [*SETS.values(), np.empty(0, np.int64)]
    whole = recorded(np.concatenate(parts))

    found = call(
        "hdr.js",
        f"""(hdr, [rows, percents]) => {{ {READ}
          const all = hdr.mergeHists(rows.map(read));
          const {{indices, numbers, ...exact}} = all;
          return [exact, [...indices], [...numbers], hdr.percentiles(all, percents)]; }}""",
        [[row(recorded(part)) for part in parts], PERCENTS],
    )

    used = np.flatnonzero(whole.counts)
    names = {
        "count": "count",
        "sumUs": "sum_us",
        "minUs": "min_us",
        "maxUs": "max_us",
        "overflow": "overflow",
        "negative": "negative",
    }
    assert found[0] == {name: getattr(whole, attribute) for name, attribute in names.items()}
    assert found[1:] == [used.tolist(), whole.counts[used].tolist(), whole.percentiles(PERCENTS)]


def test_merge_does_not_change_what_it_merges(call: Call) -> None:
    rows = [row(recorded(SETS["wide"])), row(recorded(SETS["narrow"]))]

    twice = call(
        "hdr.js",
        f"""(hdr, rows) => {{ {READ} const hists = rows.map(read);
          return [hdr.mergeHists(hists).count, hdr.mergeHists(hists).count, hists[0].count]; }}""",
        rows,
    )

    assert twice == [70_000, 70_000, 20_000]


@pytest.mark.parametrize("count", [1, 19, 20, 199, 200, 999, 1000, 9_999, 10_000, 99_999, 100_000])
def test_support_is_that_of_the_run_document(count: int, call: Call) -> None:
    counts = recorded(np.ones(count, np.int64))

    found = call("hdr.js", "(hdr, count) => hdr.PERCENTS.map((percent) => hdr.supports({count}, percent))", count)

    assert found == [counts.supports(percent) for percent in (50, 95, 99, 99.9, 99.99)]


def test_values_of_buckets_are_those_of_the_histogram(call: Call) -> None:
    slots = np.array([0, 1, 2046, 2047, 2048, 2049, 3071, 3072, 10_000, 23_551])

    found = call(
        "hdr.js", "(hdr, slots) => slots.map((slot) => [hdr.lowestValue(slot), hdr.highestValue(slot)])", slots.tolist()
    )

    assert found == np.stack([lowest_values(slots), highest_values(slots)], axis=1).tolist()


@pytest.mark.parametrize("name", ["wide", "edges", "two humps"])
def test_rows_of_the_heatmap_count_exactly(name: str, call: Call) -> None:
    counts = recorded(SETS[name])

    rows = call(
        "hdr.js",
        f"""(hdr, row) => {{ {READ}
          const rows = [...hdr.countsByRow(read(row))];
          return rows.map(([at, count]) => [hdr.rowLowest(at), hdr.rowLowest(at + 1), count]); }}""",
        row(counts),
    )

    assert sum(count for _, _, count in rows) == counts.count
    for lowest, end, count in rows:
        if lowest >= 4 and end <= HIGHEST_US:  # below, rows are parts of a microsecond
            first, after = bucket_indices(np.array([lowest, end], np.int64))
            assert counts.counts[first:after].sum() == count


@pytest.mark.parametrize(("text", "reason"), [("gA==", "end inside a number"), ("//8//w==", "more than 23552 buckets")])
def test_counts_that_are_none_are_refused(text: str, reason: str, call: Call) -> None:
    with pytest.raises(Error, match=reason):
        call("hdr.js", "(hdr, text) => hdr.decodeCounts(text)", text)
