"""What pages are worked out from: the run's model and its ranges, the stream of events, addresses, words."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.metrics_aggregator.page import one_file
from tests.browser.synthetic import BEGIN_MS, SyntheticRun, counts_text

Call = Callable[..., Any]

END_TO_END = "market_spread_receiver_end_to_end_seconds"
SENT = "market_spread_sender_messages_sent_total"
SPAN = {"from": 1_000_000, "to": 1_090_000}

VIEW = """const [{RunModel}, {View}, {resolve}] = await Promise.all(
    ['/src/model.js', '/src/view.js', '/src/range.js'].map((path) => import(path)));
  const viewOf = (model, choice) => new View(model, resolve(choice, model.span()), model.span());"""


def histogram_of(run: SyntheticRun, from_ms: float, to_ms: float) -> HdrCounts:
    counts = HdrCounts()
    counts.record(run.values(END_TO_END, {"phase": "measured"}, from_ms, to_ms))
    return counts


@pytest.mark.parametrize(("from_s", "to_s"), [(0, 91), (30, 45), (33.3, 36.7), (84, 90), (88, 90)])
def test_range_has_every_value_whose_interval_lies_in_it(
    from_s: float, to_s: float, run: SyntheticRun, call: Call
) -> None:
    choice: dict[str, Any] = {"kind": "fixed", "from": BEGIN_MS + from_s * 1000, "to": BEGIN_MS + to_s * 1000}

    found = call(
        "hdr.js",
        f"""async (hdr, [data, choice, name]) => {{ {VIEW}
          const hist = viewOf(new RunModel(data), choice).hist({{name, labels: {{phase: 'measured'}}}});
          return [hist.count, hist.sumUs, hist.maxUs, ...hdr.percentiles(hist, [50, 99])]; }}""",
        [run.data(), choice, END_TO_END],
    )

    counts = histogram_of(run, choice["from"], choice["to"])
    assert found == [counts.count, counts.sum_us, counts.max_us, *counts.percentiles([50, 99])]


def test_only_what_was_judged_has_the_latencies_of_the_result(run: SyntheticRun, call: Call) -> None:
    """Which are not those of the range: here the result has three orders alone."""
    result = HdrCounts()
    result.record(np.array([4_000, 5_000, 600_000], np.int64))
    end, until = BEGIN_MS + 90_000, BEGIN_MS + 87_000
    told = [3, result.sum_us, 4_000, result.max_us, 0, 0, counts_text(result)]
    judged = {
        "from_unix_ms": BEGIN_MS + 30_000,
        "to_unix_ms": until,
        "series": [{"name": END_TO_END, "labels": {"phase": "measured"}, "total": told}],
    }
    data = run.data()
    verdict = {"unix_ms": end, "kind": "verdict", "name": "passed", "text": "", "failed": [], "judged": judged}
    data["notes"] = [note for note in data["notes"] if note["kind"] != "verdict"] + [verdict]

    found = call(
        "range.js",
        f"""async (range, [data, name]) => {{ {VIEW}
          const model = new RunModel(data);
          const said = (choice, labels) => {{
            const view = new View(model, resolve(choice, model.span(), model.judged), model.span());
            const hist = view.hist({{name, labels}});
            return [view.judged, view.range.from, view.range.to, hist.count, hist.maxUs];
          }};
          const {{from, to}} = model.judged;
          const measured = {{phase: 'measured'}};
          return [
            said(range.choiceOf(null), measured), said({{kind: 'fixed', from, to}}, measured),
            said(range.WHOLE, measured), said({{kind: 'fixed', from: from + 1000, to}}, measured),
            said(range.JUDGED, {{...measured, source: 'receiver'}}),
          ]; }}""",
        [data, END_TO_END],
    )

    of_result = [True, BEGIN_MS + 30_000, until, 3, result.max_us]
    assert found[:2] == [of_result, of_result]
    assert [view[0] for view in found[2:]] == [False, False, True]
    in_range = len(run.values(END_TO_END, {"phase": "measured"}, BEGIN_MS + 30_000, until))
    assert (found[2][3], found[4][3]) == (60 * 200, in_range), "of a worker: what it pushed"


def test_a_percentile_of_too_few_clusters_is_marked_where_it_is_judged(run: SyntheticRun, call: Call) -> None:
    result = HdrCounts()
    result.record(np.full(2_000, 5_000))
    told = [2_000, result.sum_us, 5_000, 5_000, 0, 0, counts_text(result)]
    series = {"name": END_TO_END, "labels": {"phase": "measured"}, "total": told, "too_few": {"p95": 1, "p99": 6}}
    judged = {"from_unix_ms": BEGIN_MS, "to_unix_ms": BEGIN_MS + 9_000, "series": [series], "rows": [["latency, ms"]]}
    data = run.data()
    verdict = {"unix_ms": BEGIN_MS + 90_000, "kind": "verdict", "name": "passed", "text": "", "failed": []}
    data["notes"] = [*data["notes"], {**verdict, "judged": judged}]

    found = call(
        "parts/latencies.js",
        f"""async ({{shownOr, percentileFigure}}, [data, name]) => {{ {VIEW}
          const model = new RunModel(data);
          const hist = model.judgedHist({{name, labels: {{phase: 'measured'}}}});
          return [...[50, 95, 99, 99.9].map((percent) => shownOr(hist, percent)),
            percentileFigure(hist, 99, '', 10), model.latencyRows]; }}""",
        [data, END_TO_END],
    )

    assert found[:4] == ["5.00 ms", "– (1 cluster)", "– (6 clusters)", "n too small"]
    assert found[4:] == [{"value": "– (6 clusters)", "sub": "10 needed", "small": True}, [["latency, ms"]]]


@pytest.mark.parametrize(("choice", "text"), [({"kind": "judged"}, ""), ({"kind": "whole"}, "whole")])
def test_address_without_a_range_is_that_of_what_was_judged(choice: object, text: str, call: Call) -> None:
    assert call("range.js", "({choiceText}, choice) => choiceText(choice)", choice) == text
    assert call("range.js", "({choiceOf}, text) => choiceOf(text)", text or None) == choice


def test_before_a_verdict_what_was_judged_is_the_whole_run(call: Call) -> None:
    resolved = call("range.js", "({resolve, JUDGED}, span) => resolve(JUDGED, span, null)", SPAN)

    assert resolved == {**SPAN, "whole": True}


def test_bins_hold_the_values_of_the_range_once(run: SyntheticRun, call: Call) -> None:
    for width_ms in (0, 5_000, 30_000):
        counts = call(
            "hdr.js",
            f"""async (hdr, [data, widthMs, name]) => {{ {VIEW}
              const model = new RunModel(data);
              const view = new View(model, resolve({{kind: 'whole'}}, model.span()), model.span(), {{widthMs}});
              return view.histBins({{name}}).map(({{hist}}) => hist.count); }}""",
            [run.data(), width_ms, END_TO_END],
        )

        assert sum(counts) == 72 * 200


def test_counter_counts_in_parts_and_lag_is_what_was_sent_before(run: SyntheticRun, call: Call) -> None:
    choice = {"kind": "fixed", "from": BEGIN_MS + 30_000, "to": BEGIN_MS + 40_500}

    grown, rate, sums = call(
        "steps.js",
        f"""async (steps, [data, choice]) => {{ {VIEW}
          const view = viewOf(new RunModel(data), choice);
          const sums = view.totalBins(steps.SENT).map(({{value}}) => value);
          return [view.grown(steps.SENT), view.rate(steps.SENT), sums]; }}""",
        [run.data(), choice],
    )

    assert grown == pytest.approx(210_000)
    assert rate == pytest.approx(20_000)
    # 360 initial quotes, 12 s of warm-up, and from 25.12 s on the measured load
    assert sums[-1] == pytest.approx(360 + 240_000 + 20_000 * (40.5 - 25.12))


def test_rates_are_of_the_measured_load(run: SyntheticRun, call: Call) -> None:
    rate, label = call(
        "steps.js",
        f"""async (steps, data) => {{ {VIEW}
          const view = viewOf(new RunModel(data), {{kind: 'whole'}});
          return [view.rate(steps.SENT), view.flowLabel]; }}""",
        run.data(),
    )

    assert rate == pytest.approx(20_000 * 59.88 / 60)
    assert label == "measured"


def test_events_bring_a_run_to_what_it_is_at_the_end(run: SyntheticRun, call: Call) -> None:
    events = [run.event(second) for second in range(40, 90)]

    same, again = call(
        "model.js",
        """(module, [begin, events, all]) => {
          const model = new module.RunModel(begin);
          const taken = events.map((event) => model.apply(event));
          const plain = ({series}) => JSON.stringify([...series.values()].map(
            ({name, labels, intervals}) => [name, labels, intervals.length]).sort());
          const same = plain(model) === plain(new module.RunModel(all));
          return [taken.every(Boolean) && same, model.apply(events.at(-1))]; }""",
        [run.data(40), events, run.data()],
    )

    assert same
    assert not again


def test_long_series_are_merged_by_pairs_without_loss(run: SyntheticRun, call: Call) -> None:
    data = run.data()
    data["series"] = [series for series in data["series"] if series["name"] in (END_TO_END, SENT)]
    for series in data["series"]:
        rows = series["intervals"]
        series["intervals"] = [
            [row[0] + 90_000 * lap, row[1] + 90_000 * lap, *row[2:]] for lap in range(40) for row in rows
        ]

    lengths, counts, sent = call(
        "model.js",
        f"""async (module, data) => {{ {VIEW}
          const model = new RunModel({{...data, series: []}});
          for (let tick = 1; tick <= 40; tick += 1) {{
            const part = (all) => all.slice(all.length * (tick - 1) / 40, all.length * tick / 40);
            const series = data.series.map((each) => ({{...each, intervals: part(each.intervals)}}));
            model.apply({{tick: data.tick + tick, now_unix_ms: 1, live: true, series}});
          }}
          const view = viewOf(model, {{kind: 'fixed', from: model.span().from, to: model.span().to - 1}});
          const counts = view.histBins({{name: {END_TO_END!r}}}).reduce((sum, {{hist}}) => sum + hist.count, 0);
          const lengths = [...model.series.values()].map(({{intervals}}) => intervals.length);
          return [lengths, counts, view.grown({{name: {SENT!r}}})]; }}""",
        data,
    )

    assert max(lengths) <= 2000
    assert counts == 40 * 72 * 200
    assert sent == pytest.approx(40 * 1_440_360, rel=1e-4)


def test_data_of_another_format_are_refused(call: Call) -> None:
    found = call(
        "model.js", "({RunModel}) => { try { new RunModel({format: 2}); } catch (error) { return error.message; } }"
    )

    assert found == "the data has format 2, this page reads format 1"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_stream_is_read_in_any_pieces(size: int, call: Call) -> None:
    text = (
        ": market-spread\n\nid: 7\nevent: data\ndata: {\"a\": 1}\n\n"
        "id: 8\r\nevent: data\r\ndata: one\r\ndata:two\r\n\r\n"
        ": ping\n\nevent: reset\ndata: {}\n\nid: 9\nevent: data\ndata: cut"
    )  # fmt: skip
    pieces = [text[at : at + size] for at in range(0, len(text), size)]

    events = call(
        "stream.js", "({eventReader}, pieces) => { const read = eventReader(); return pieces.flatMap(read); }", pieces
    )

    assert [(event["id"], event["event"], event["data"]) for event in events] == [
        ("7", "data", '{"a": 1}'),
        ("8", "data", "one\ntwo"),
        ("8", "reset", "{}"),
    ]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"kind": "whole"}, {"from": 1_000_000, "to": 1_090_000, "whole": True}),
        ({"kind": "last", "ms": 60_000}, {"from": 1_030_000, "to": 1_090_000, "whole": False}),
        ({"kind": "last", "ms": 600_000}, {"from": 1_000_000, "to": 1_090_000, "whole": True}),
        ({"kind": "fixed", "from": 1_010_000, "to": 1_020_000}, {"from": 1_010_000, "to": 1_020_000, "whole": False}),
        ({"kind": "fixed", "from": 5, "to": 2_000_000}, {"from": 1_000_000, "to": 1_090_000, "whole": True}),
        ({"kind": "fixed", "from": 1_020_000, "to": 1_020_001}, {"from": 1_020_000, "to": 1_021_000, "whole": False}),
        ({"kind": "fixed", "from": 3_000_000, "to": 4_000_000}, {"from": 1_089_000, "to": 1_090_000, "whole": False}),
    ],
)
def test_choice_of_a_range_stays_in_the_run(choice: object, expected: object, call: Call) -> None:
    assert call("range.js", "(range, [choice, span]) => range.resolve(choice, span)", [choice, SPAN]) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("0:30-1:15", {"kind": "fixed", "from": 1_030_000, "to": 1_075_000}),
        ("30 – 75.5", {"kind": "fixed", "from": 1_030_000, "to": 1_075_500}),
        ("last 90", {"kind": "last", "ms": 90_000}),
        ("", {"kind": "whole"}),
        ("1:15-0:30", None),
        ("soon", None),
    ],
)
def test_range_can_be_typed(typed: str, expected: object, call: Call) -> None:
    assert call("range.js", "(range, [text, span]) => range.typedChoice(text, span)", [typed, SPAN]) == expected


@pytest.mark.parametrize(
    ("direction", "expected"), [(-1, (1_035_000, 1_045_000)), (1, (1_045_000, 1_055_000))], ids=["earlier", "later"]
)
def test_range_moves_by_half_its_width(direction: int, expected: tuple[int, int], call: Call) -> None:
    moved = call(
        "range.js", "(range, [shown, direction, span]) => range.moved(shown, direction, span)",
        [{"from": 1_040_000, "to": 1_050_000, "whole": False}, direction, SPAN],
    )  # fmt: skip

    assert (moved["from"], moved["to"]) == expected


def test_address_says_page_item_run_range_and_bins(call: Call) -> None:
    for fragment in (
        "#/overview",
        "#/workers/job_1?run=2026%2F1&range=last-60",
        "#/computations/send_all?run=r&range=1000-2000&bins=5",
    ):
        assert call("router.js", "(router, text) => router.routeText(router.readRoute(text))", fragment) == fragment
    assert call("router.js", "(router, text) => router.readRoute(text).page", "#/nonsense/%E0%A4%A") == "overview"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("latency(0)", "0 µs"), ("latency(999)", "999 µs"), ("latency(1234)", "1.23 ms"),
        ("latency(12_345)", "12.3 ms"), ("latency(1_234_567)", "1,235 ms"),
        ("latency(12_345_678)", "12.35 s"), ("latency(null)", "–"),
        ("whole(1234567.4)", "1,234,567"), ("rate(0)", "0"), ("rate(1.234)", "1.23"), ("rate(19_998.6)", "19,999"),
        ("bytes(74_300_000)", "70.9 MiB"), ("bytes(12)", "12 B"), ("share(0.0002)", "0.02%"), ("share(1)", "100.0%"),
        ("duration(400)", "0.4 s"), ("duration(42_000)", "42 s"), ("duration(185_000)", "3 min 05 s"),
        ("duration(7_620_000)", "2 h 07 min"), ("elapsed(7)", "0:07"), ("elapsed(3723)", "1:02:03"),
        ("elapsed(-16)", "−0:16"),
        ("elapsed(-0.12)", "0:00"), ("counted(1, 'push', 'pushes')", "1 push"), ("axisNumber(20_000)", "20 k"),
        ("axisLatency(1500)", "1.5 ms"), ("percentName(99.9)", "p99.9"),
    ],
)  # fmt: skip
def test_numbers_have_their_units(expression: str, expected: str, call: Call) -> None:
    assert call("format.js", f"(format) => format.{expression}") == expected


def test_run_is_found_in_an_exported_page_and_nowhere_else(run: SyntheticRun, call: Call) -> None:
    read = """async (runfile, text) => {
      try { return (await runfile.runInText(text)).run_id; } catch (error) { return error.message; } }"""

    assert call("runfile.js", read, one_file(json.dumps(run.data(5)))) == run.run_id
    assert call("runfile.js", read, json.dumps(run.data(5))) == run.run_id
    assert (
        call("runfile.js", read, "<html></html>") == "The file holds no run. Drop an HTML file that was exported here."
    )


def test_standstill_is_the_longest_time_between_alerts(run: SyntheticRun, call: Call) -> None:
    data = run.data()
    for series in data["series"]:
        if series["name"] == "market_spread_receiver_alerts_total":
            series["intervals"] = [row for row in series["intervals"] if not 40 <= (row[0] - BEGIN_MS) // 1000 < 44]

    facts = call(
        "facts.js",
        f"""async (facts, data) => {{ {VIEW}
          return facts.factsOf(viewOf(new RunModel(data), {{kind: 'whole'}})); }}""",
        data,
    )

    # The receiver's seconds begin at 0.41 s, the run's first interval, of the sender, at 0.12 s.
    assert facts["stallMs"] == pytest.approx(4_000)
    assert facts["stallAtS"] == pytest.approx(40.41 - 0.12)
    assert (facts["framesLate"], facts["queryRestarts"]) == (17, 1)
    assert facts["framesSent"] == pytest.approx(60_000, rel=0.01), "those of the warm-up are not counted"
    assert (facts["negative"], facts["overflow"], facts["count"]) == (0, 0, 12_000)


def test_lag_of_a_wide_bin_is_the_highest_in_it(run: SyntheticRun, call: Call) -> None:
    fine, wide = call(
        "facts.js",
        f"""async (facts, data) => {{ {VIEW}
          const model = new RunModel(data);
          const view = new View(model, resolve({{kind: 'whole'}}, model.span()), model.span(), {{widthMs: 30_000}});
          const points = facts.lagPoints(view);
          return [points.map(({{value}}) => value), facts.lagBins(view, points).map(({{value}}) => value)]; }}""",
        run.data(),
    )

    assert len(fine) == 91
    assert len(wide) == 4
    assert wide == [max(fine[at : at + 30]) for at in range(0, 91, 30)]
    assert fine[-1] == 0
