"""Virtual environments of the peers: each made once from its own lock file, in the cache."""

import hashlib
import subprocess
import sys
from pathlib import Path

from market_spread.common.config import home_folder
from market_spread.common.errors import UsageError

REQUIREMENTS = Path(__file__).with_name("requirements")
_TIMEOUT_S = 1800


def python_of(name: str) -> Path:
    """The Python of the environment of `requirements/NAME.txt`, made if it is not there. UsageError if it cannot be.

    Its folder is named after the lock file's content, so that a changed lock makes another one.
    """
    lock = REQUIREMENTS / f"{name}.txt"
    folder = home_folder("peers") / f"{name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    complete = folder / "complete"
    if not complete.exists():
        uv = Path(sys.executable).with_name("uv")
        _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder)
        _run(uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", "--require-hashes", "-r", lock)
        complete.touch()
    return folder / "bin" / "python"


def _run(*command: str | Path) -> None:
    ended = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    if ended.returncode:
        raise UsageError(f"the peer's environment cannot be made: {ended.stderr.strip()[-500:]}")


if __name__ == "__main__":
    print(python_of(sys.argv[1]))
