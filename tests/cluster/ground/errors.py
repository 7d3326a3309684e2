"""What can go wrong with the test cluster, and how a command of it is run."""

import subprocess
from collections.abc import Sequence


class GroundError(Exception):
    """One sentence for a person: what does not work, and what to do."""


def run(command: Sequence[object], *, text: str = "", timeout_s: float = 120) -> str:
    """The standard output of a command that is given `text`. GroundError with its last words if it fails."""
    words = [str(word) for word in command]
    try:
        ended = subprocess.run(words, input=text, capture_output=True, text=True, timeout=timeout_s, check=False)
    except FileNotFoundError as error:
        raise GroundError(f"the program {words[0]} is missing") from error
    except subprocess.TimeoutExpired as error:
        raise GroundError(f"{' '.join(words)} did not end within {timeout_s:g} s") from error
    if ended.returncode:
        last = (ended.stderr or ended.stdout).strip().splitlines()[-3:]
        raise GroundError(f"{' '.join(words)} ended with status {ended.returncode}: {' '.join(last)}")
    return ended.stdout
