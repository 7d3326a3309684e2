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
        self._drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        at = _TOP + 14 + 20 * len(self._named)
        left = WIDTH - _RIGHT + 12
        self._named.append(
            f'<line x1="{left}" x2="{left + 18}" y1="{at - 4}" y2="{at - 4}" stroke="{colour}" stroke-width="3"/>'
            f'<text x="{left + 24}" y="{at}">{escape(name)}</text>'
        )

    def point(self, x: float, y: float, colour: str, *, filled: bool, title: str) -> None:
        """A point; its title is shown when it is pointed at."""
        fill = colour if filled else "none"
        self._drawn.append(
            f'<circle cx="{self._x(x):.1f}" cy="{self._y(y):.1f}" r="4.5" fill="{fill}" stroke="{colour}" '
            f'stroke-width="2"><title>{escape(title)}</title></circle>'
        )

    def bar(self, x: float, low: float, high: float, colour: str) -> None:
        """An interval at x, upright."""
        at = self._x(x)
        self._drawn.append(
            f'<path d="M{at - 5:.1f} {self._y(low):.1f}h10m-5 0V{self._y(high):.1f}m-5 0h10" fill="none" '
            f'stroke="{colour}" stroke-width="1.5"/>'
        )

    def band(self, low: float, high: float, title: str) -> None:
        """All between two values of y, in grey."""
        top, bottom = self._y(high), self._y(low)
        self._drawn.append(
            f'<rect x="{_LEFT}" y="{top:.1f}" width="{WIDTH - _LEFT - _RIGHT}" height="{bottom - top:.1f}" '
            f'fill="currentColor" opacity="0.1"><title>{escape(title)}</title></rect>'
        )

    def across(self, y: float, title: str) -> None:
        """A dashed line at y, with words at its end."""
        at = self._y(y)
        self._drawn.append(
            f'<path d="M{_LEFT} {at:.1f}H{WIDTH - _RIGHT}" stroke="currentColor" stroke-dasharray="5 4"/>'
            f'<text x="{WIDTH - _RIGHT + 6}" y="{at + 4:.1f}">{escape(title)}</text>'
        )

    def upright(self, x: float, title: str) -> None:
        """A dashed line at x, with words at its foot."""
        at = self._x(x)
        self._drawn.append(
            f'<path d="M{at:.1f} {_TOP}V{HEIGHT - _BOTTOM}" stroke="currentColor" stroke-dasharray="5 4"/>'
            f'<text x="{at - 6:.1f}" y="{_TOP + 12}" text-anchor="end">{escape(title)}</text>'
        )

    def svg(self) -> str:
        """The drawing, which stands alone in a file as well as within HTML."""
        return (
            f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" role="img" '
            f'aria-label="{escape(self.y.title)} by {escape(self.x.title)}">'
            f"<style>{_STYLE}</style>\n" + "\n".join([*self._axes(), *self._drawn, *self._named]) + "\n</svg>\n"
        )

    def _axes(self) -> list[str]:
        right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
        parts = [f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="currentColor"/>']
        for value, words in self.x.ticks:
            parts.append(_text(self._x(value), bottom + 18, words, "middle"))
        for value, words in self.y.ticks:
            at = self._y(value)
            parts.append(f'<path d="M{_LEFT} {at:.1f}H{right}" stroke="currentColor" opacity="0.15"/>')
            parts.append(_text(_LEFT - 8, at + 4, words, "end"))
        parts.append(_text((_LEFT + right) / 2, HEIGHT - 10, self.x.title, "middle"))
        middle = (_TOP + bottom) / 2
        parts.append(
            f'<text transform="translate(16 {middle:.0f}) rotate(-90)" text-anchor="middle">'
            f"{escape(self.y.title)}</text>"
        )
        return parts

    def _x(self, value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * self.x.share(value)

    def _y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * self.y.share(value)


def linear_axis(title: str, low: float, high: float, say: Callable[[float], str]) -> Axis:
    """An axis that holds the values, from a round number to a round number."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 5))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= span / 5 * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    last = max(last, first + 1)
    return Axis(title, first * step, last * step, tuple((n * step, say(n * step)) for n in range(first, last + 1)))


def log_axis(title: str, low: float, high: float, say: Callable[[float], str]) -> Axis:
    """A logarithmic axis that holds the values, marked at 1, 2 and 5 of each power of ten."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    marks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    first = max(mark for mark in marks if mark <= low)
    last = min(mark for mark in marks if mark >= high and mark > first)
    return Axis(title, first, last, tuple((mark, say(mark)) for mark in marks if first <= mark <= last), is_log=True)


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
