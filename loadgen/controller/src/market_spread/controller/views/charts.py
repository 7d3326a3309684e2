"""Charts as SVG, light or dark as the reader has it: two axes, lines with points, intervals, bands."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 780, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 170, 16, 52
# Told apart by people who see few colours, on light and on dark ground.
COLOURS = ("#2f7ed8", "#e0722f", "#2a9d74", "#b5518f", "#8a7a1f")

_STYLE = (
    "svg.chart{color:#222;background:#fff}@media(prefers-color-scheme:dark){svg.chart{color:#ddd;background:#161616}}"
    "svg.chart text{font:12px system-ui,sans-serif;fill:currentColor}"
)


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from low to high, with marks at some values. With is_log, its values are above 0."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    is_log: bool = False

    def share(self, value: float) -> float:
        """Where the value is, 0 at the low end and 1 at the high one; beyond them it is at the end."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return (at - low) / (high - low)


@dataclass(slots=True)
class Chart:
    """A chart that is drawn upon part by part; what is drawn later lies above."""

    x: Axis
    y: Axis
    _drawn: list[str] = field(default_factory=list)
    _named: list[str] = field(default_factory=list)

    def line(self, name: str, points: Sequence[tuple[float, float]], colour: str) -> None:
        """A line through the points, with its name in the legend."""
        path = " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in points)
        self._drawn.append(_element("polyline", points=path, fill="none", stroke=colour, stroke_width=2))
        left, at = WIDTH - _RIGHT + 12, _TOP + 14 + 20 * len(self._named)
        mark = _element("line", x1=left, x2=left + 18, y1=at - 4, y2=at - 4, stroke=colour, stroke_width=3)
        self._named.append(mark + _element("text", name, x=left + 24, y=at))

    def point(self, x: float, y: float, colour: str, *, filled: bool, title: str) -> None:
        """A point; its title is shown when it is pointed at."""
        place = {"cx": self._x(x), "cy": self._y(y), "r": 4.5}
        fill = colour if filled else "none"
        self._drawn.append(_element("circle", title=title, **place, fill=fill, stroke=colour, stroke_width=2))

    def bar(self, x: float, low: float, high: float, colour: str) -> None:
        """An interval at x, upright."""
        path = f"M{self._x(x) - 5:.1f} {self._y(low):.1f}h10m-5 0V{self._y(high):.1f}m-5 0h10"
        self._drawn.append(_element("path", d=path, fill="none", stroke=colour, stroke_width=1.5))

    def band(self, low: float, high: float, title: str) -> None:
        """All between two values of y, in grey."""
        top, width = self._y(high), WIDTH - _LEFT - _RIGHT
        place = {"x": _LEFT, "y": top, "width": width, "height": self._y(low) - top}
        self._drawn.append(_element("rect", title=title, **place, fill="currentColor", opacity=0.1))

    def across(self, y: float, title: str) -> None:
        """A dashed line at y, with words at its end."""
        at, right = self._y(y), WIDTH - _RIGHT
        line = _element("path", d=f"M{_LEFT} {at:.1f}H{right}", stroke="currentColor", stroke_dasharray="5 4")
        self._drawn.append(line + _element("text", title, x=right + 6, y=at + 4))

    def upright(self, x: float, title: str) -> None:
        """A dashed line at x, with words at its foot."""
        at = self._x(x)
        path = f"M{at:.1f} {_TOP}V{HEIGHT - _BOTTOM}"
        line = _element("path", d=path, stroke="currentColor", stroke_dasharray="5 4")
        self._drawn.append(line + _element("text", title, x=at - 6, y=_TOP + 12, text_anchor="end"))

    def svg(self) -> str:
        """The drawing, which stands alone in a file as well as within HTML."""
        right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
        axes = [_element("path", d=f"M{_LEFT} {_TOP}V{bottom}H{right}", fill="none", stroke="currentColor")]
        for value, words in self.x.ticks:
            axes.append(_element("text", words, x=self._x(value), y=bottom + 18.0, text_anchor="middle"))
        for value, words in self.y.ticks:
            at = self._y(value)
            axes.append(_element("path", d=f"M{_LEFT} {at:.1f}H{right}", stroke="currentColor", opacity="0.15"))
            axes.append(_element("text", words, x=_LEFT - 8.0, y=at + 4, text_anchor="end"))
        axes.append(_element("text", self.x.title, x=(_LEFT + right) / 2, y=HEIGHT - 10.0, text_anchor="middle"))
        turned = f"translate(16 {(_TOP + bottom) / 2:.0f}) rotate(-90)"
        axes.append(_element("text", self.y.title, transform=turned, text_anchor="middle"))
        return (
            f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" role="img" '
            f'aria-label="{escape(self.y.title)} by {escape(self.x.title)}">'
            f"<style>{_STYLE}</style>\n" + "\n".join([*axes, *self._drawn, *self._named]) + "\n</svg>\n"
        )

    def _x(self, value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * self.x.share(value)

    def _y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * self.y.share(value)


def linear_axis(title: str, low: float, high: float, say: Callable[[float], str]) -> Axis:
    """An axis that holds the values, from a round number to a round number."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 5))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= span / 5 * 0.999)
    first = math.floor(low / step)
    last = max(math.ceil(high / step), first + 1)
    return Axis(title, first * step, last * step, tuple((n * step, say(n * step)) for n in range(first, last + 1)))


def log_axis(title: str, low: float, high: float, say: Callable[[float], str]) -> Axis:
    """A logarithmic axis that holds the values, marked at 1, 2 and 5 of each power of ten."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    marks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    first = max(mark for mark in marks if mark <= low)
    last = min(mark for mark in marks if mark >= high and mark > first)
    return Axis(title, first, last, tuple((mark, say(mark)) for mark in marks if first <= mark <= last), is_log=True)


def _element(name: str, words: str = "", /, *, title: str = "", **attributes: float | str) -> str:
    """An element of SVG with words or a title in it; a number with a fraction has one digit of it."""
    shown = {key: f"{value:.1f}" if isinstance(value, float) else value for key, value in attributes.items()}
    head = " ".join([name, *(f'{key.replace("_", "-")}="{value}"' for key, value in shown.items())])
    inside = f"<title>{escape(title)}</title>" if title else escape(words)
    return f"<{head}>{inside}</{name}>" if inside else f"<{head}/>"
