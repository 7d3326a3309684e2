"""Why a query has failed, in a sentence."""

import re
from pathlib import Path


def sentence_of(error: Exception) -> str:
    """What it says, without details; of an error in a Python worker what was raised there, and the user's line."""
    first, *more = str(error).strip().splitlines() or [type(error).__name__]
    first = re.sub(r"^\[STREAM_FAILED\] .*? terminated with exception: |( SQLSTATE: \w+)+$", "", first)
    raised = (line for line in more if line[:1].strip() and first.endswith("Traceback (most recent call last):"))
    places = [(Path(file), line) for file, line in re.findall(r'^ +File "(.+)", line (\d+)', str(error), re.MULTILINE)]
    # Not the packages of an environment, or of the image.
    where = [f"{file.name}:{line}: " for file, line in places[-1:] if not {"site-packages", "packages"} & {*file.parts}]
    return "".join([*where, next(raised, first)])
