"""Files that are written whole or not at all, and JSON that is read whole, or what is wrong with it is one error."""

import json
import os
import stat
from pathlib import Path
from typing import Any

DEPTH_MAX = 100
_TOO_DEEP = f"it is more than {DEPTH_MAX} levels deep"
_INTEGER_MAX = 2**64


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file so that a reader sees all of it or what was there before. OSError if that fails.

    What is no file of its own, such as a device, a pipe or a link, stays what it is, and the content goes through it.
    """
    data = content.encode() if isinstance(content, str) else content
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        path.write_bytes(data)
        return path
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_bytes(data)
    unfinished.replace(path)
    return path


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, in as many calls as that takes. OSError if that fails; some of it may be written then."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def json_object(text: str | bytes, *, version: int | None = None) -> dict[str, Any]:
    """The object of a JSON text. ValueError with the reason for whatever else the text holds.

    version: what its key of that name must be; None if it need not have one.

    None of its numbers is beyond 64 bits or not finite, none of its texts beyond UTF-8, and it is at most DEPTH_MAX
    deep: whoever goes through it meets none of that.
    """
    if isinstance(text, bytes):
        text = text.decode()
    try:
        values = json.loads(text, parse_int=_integer, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level = [values]
    for _ in range(DEPTH_MAX):
        containers = (value for value in level if isinstance(value, dict | list))
        level = [inner for each in containers for inner in (each.values() if isinstance(each, dict) else each)]
    if level:
        raise ValueError(_TOO_DEEP)
    if not isinstance(values, dict):
        raise ValueError("it is no JSON object")
    if version is not None and values.get("version") != version:
        raise ValueError(f"it has version {values.get('version')}, this program reads {version}")
    if "\\u" in text:
        json.dumps(values, ensure_ascii=False).encode()
    return values


def _integer(text: str) -> int:
    if len(text) > 21 or abs(number := int(text)) > _INTEGER_MAX:
        raise ValueError(f"{text[:21]}… is no number of 64 bits")
    return number


def _finite(text: str) -> float:
    if not abs(number := float(text)) < float("inf"):
        raise ValueError(f"{text} is no finite number")
    return number
