"""The page's colours: readable on their paper, and told apart by eyes that lack one of the three kinds of cones."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from market_spread.metrics_aggregator.page import STATIC

MODULES = Path(__file__).parents[3] / "services" / "metrics_ui" / "src"

Floats = npt.NDArray[np.float64]

# Machado, Oliveira and Fernandes 2009, severity 1.0, for linear RGB.
SIGHT = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)
PERCENT_LINES = ("--p50", "--p95", "--p99", "--p999", "--p9999", "--max")
RATE_LINES = ("--rate-1", "--rate-2", "--rate-3", "--rate-4")


def themes() -> dict[str, dict[str, str]]:
    blocks = re.findall(r"^ *(:root[^{]*)\{([^}]*)\}", (STATIC / "style.css").read_text(), re.MULTILINE)
    colours = [dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", block)) for _, block in blocks]
    light, by_system, by_choice = colours
    assert by_system == by_choice
    return {"light": light, "dark": {**light, **by_choice}}


def linear(colour: str) -> Floats:
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    found: Floats = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return found


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def lab(colour: str, sight: str) -> Floats:
    scaled = TO_XYZ @ np.clip(SIGHT[sight] @ linear(colour), 0, 1) / WHITE
    f = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable(theme: str) -> None:
    colours = themes()[theme]

    for name in ("--ink", "--ink-2", "--accent", "--good", "--bad"):
        assert contrast(colours[name], colours["--paper"]) >= 4.5, name
    assert contrast(colours["--paper"], colours["--accent"]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_are_seen_on_paper_and_in_the_shade(theme: str) -> None:
    colours = themes()[theme]

    for name in (*PERCENT_LINES, *RATE_LINES):
        for ground in ("--paper", "--shade"):
            assert contrast(colours[name], colours[ground]) >= 2.8, (name, ground)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("lines", [PERCENT_LINES, RATE_LINES], ids=["percentiles", "rates"])
def test_lines_are_told_apart(lines: tuple[str, ...], theme: str, sight: str) -> None:
    colours = themes()[theme]

    for one, other in combinations(lines, 2):
        apart = float(np.linalg.norm(lab(colours[one], sight) - lab(colours[other], sight)))
        assert apart >= 12, (one, other, round(apart, 1))


def test_lines_of_a_chart_differ_in_their_dashes_or_widths() -> None:
    text = (MODULES / "parts" / "lines.js").read_text()

    for name in ("PERCENT_LINES", "RATE_LINES"):
        block = re.search(rf"const {name} = \[(.*?)\];\n", text, re.DOTALL)
        assert block
        drawn = [re.sub(r'(?:title|colour): "[^"]*",? ?', "", line.strip()) for line in block[1].strip().splitlines()]
        dashed = [line for line in drawn if "dash" in line]
        assert len(set(dashed)) == len(dashed) >= 3
