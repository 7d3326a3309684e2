"""The picture of a comparison: how far each percentile of the latency has moved, with its interval."""

from collections.abc import Sequence

from market_spread.controller.compare.comparison import Contrast, Direction, Judged
from market_spread.controller.compare.figures import PERCENTILES
from market_spread.controller.views.charts import COLOURS, Axis, Chart, linear_axis
from market_spread.controller.views.model import Picture

_SERIES = {
    "latency_ns": "latency",
    "latency_between_boundaries_ns": "between boundaries",
    "service_time_ns": "service time",
}


def shift_picture(contrast: Contrast) -> Picture | None:
    """The shift of every percentile that was compared; None where there are none.

    A point is filled if its figure is better or worse. The grey band is what does not matter, of the first figure.
    """
    series = {path: _points(path, contrast.judged) for path in _SERIES}
    points = [judged for of in series.values() for _, judged in of]
    if not points:
        return None
    least = points[0].figure.least_share
    edges = [0.0, least, -least, *(edge for judged in points for edge in _edges(judged))]
    chart = Chart(
        Axis("percentile", -0.5, len(PERCENTILES) - 0.5, tuple(enumerate(PERCENTILES))),
        linear_axis("shift", min(edges), max(edges), lambda share: f"{share:+.0%}" if share else "0%"),
    )
    chart.band(-least, least, f"differences below {least:.0%} do not matter")
    chart.across(0, "no shift")
    for (path, name), colour, aside in zip(_SERIES.items(), COLOURS, (0.0, 0.12, -0.12), strict=False):
        if series[path]:
            _draw(chart, name, series[path], colour, aside)
    return Picture(
        f"{contrast.other.name} against {contrast.first.name}: shift by percentile, with 95% intervals", chart.svg()
    )


def _draw(chart: Chart, name: str, points: Sequence[tuple[int, Judged]], colour: str, aside: float) -> None:
    chart.line(name, [(x + aside, judged.shift.estimate) for x, judged in points if judged.shift is not None], colour)
    for x, judged in points:
        if judged.shift is None:
            continue
        low, high = judged.shift.low, judged.shift.high
        if low is not None and high is not None:
            chart.bar(x + aside, low, high, colour)
        decided = judged.change in (Direction.BETTER, Direction.WORSE)
        title = f"{judged.figure.title}: {judged.shift.estimate:+.1%}, {judged.change.value}"
        chart.point(x + aside, judged.shift.estimate, colour, filled=decided, title=title)


def _points(path: str, judged_all: Sequence[Judged]) -> list[tuple[int, Judged]]:
    by_path = {judged.figure.path: judged for judged in judged_all if judged.shift is not None}
    found = ((x, by_path.get(f"{path}.{percentile}")) for x, percentile in enumerate(PERCENTILES))
    return [(x, judged) for x, judged in found if judged is not None]


def _edges(judged: Judged) -> list[float]:
    shift = judged.shift
    return [] if shift is None else [edge for edge in (shift.estimate, shift.low, shift.high) if edge is not None]
