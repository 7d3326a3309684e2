"""Pictures of boards: small, with the titles of the panels in them, and compared by eye rather than by byte."""

import io
import json
from collections.abc import Mapping
from typing import Any

from PIL import Image, ImageChops
from PIL.PngImagePlugin import PngInfo

from tests.support.paths import ROOT
from tests.unit.monitoring.monitoring_fixtures import panels_of

PICTURES = ROOT / "docs" / "pictures"
_COLOURS = 256
# How many times smaller, so that the edges of letters do not count, and from which of 255 levels on a point differs.
_SMALLER, _LEVELS = 8, 24


def written(screenshot: bytes, board: Mapping[str, Any]) -> bytes:
    """The PNG of a screenshot, with what `titles_in` reads."""
    said = PngInfo()
    said.add_text("panels", json.dumps([panel["title"] for panel in panels_of(board)]))
    file = io.BytesIO()
    _opened(screenshot).quantize(_COLOURS, Image.Quantize.MAXCOVERAGE).save(file, "PNG", optimize=True, pnginfo=said)
    return file.getvalue()


def titles_in(picture: bytes) -> list[str]:
    """The panels that were on the board when the picture was taken."""
    titles: list[str] = json.loads(Image.open(io.BytesIO(picture)).info["panels"])
    return titles


def difference(picture: bytes, other: bytes) -> float:
    """The share of the points at which two pictures differ visibly; 1 where their sizes do."""
    one, two = _opened(picture), _opened(other)
    if one.size != two.size:
        return 1.0
    size = (one.width // _SMALLER, one.height // _SMALLER)
    small = (image.resize(size, Image.Resampling.BOX) for image in (one, two))
    levels = ImageChops.difference(*small).convert("L").histogram()
    return sum(levels[_LEVELS:]) / sum(levels)


def _opened(picture: bytes) -> Image.Image:
    return Image.open(io.BytesIO(picture)).convert("RGB")
