"""The picture of a comparison: how far each percentile of the latency has moved, with its interval."""

from collections.abc import Sequence

from market_spread.controller.compare.comparison import Contrast, Direction, Judged
from market_spread.controller.compare.figures import PERCENTILES
from market_spread.controller.statistics.inference import ConfidenceInterval
from market_spread.controller.views.charts import COLOURS, Axis, Chart, linear_axis
from market_spread.controller.views.model import Picture

_SERIES = {
    "latency_ns": "latency",
    "latency_between_boundaries_ns": "between boundaries",
    "service_time_ns": "service time",
}

# A place on the axis, what is judged there, and its shift.
_Point = tuple[int, Judged, ConfidenceInterval]


def shift_picture(contrast: Contrast) -> Picture | None:
    """The shift of every percentile that was compared; None where there are none.

    A point is filled if its figure is better or worse. The grey band is what does not matter, of the first figure.
    """
    series = {path: _points(path, contrast.judged) for path in _SERIES}
    points = [point for of in series.values() for point in of]
    if not points:
        return None
    least = points[0][1].figure.least_share
    edges = [edge for _, _, shift in points for edge in (shift.estimate, shift.low, shift.high) if edge is not None]
    edges += [0.0, least, -least]
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


def _draw(chart: Chart, name: str, points: Sequence[_Point], colour: str, aside: float) -> None:
    chart.line(name, [(x + aside, shift.estimate) for x, _, shift in points], colour)
    for x, judged, shift in points:
        if shift.low is not None and shift.high is not None:
            chart.bar(x + aside, shift.low, shift.high, colour)
        decided = judged.change in (Direction.BETTER, Direction.WORSE)
        title = f"{judged.figure.title}: {shift.estimate:+.1%}, {judged.change.value}"
        chart.point(x + aside, shift.estimate, colour, filled=decided, title=title)


def _points(path: str, judged_all: Sequence[Judged]) -> list[_Point]:
    by_path = {judged.figure.path: (judged, judged.shift) for judged in judged_all if judged.shift is not None}
    found = ((x, by_path.get(f"{path}.{percentile}")) for x, percentile in enumerate(PERCENTILES))
    return [(x, *of) for x, of in found if of is not None]
