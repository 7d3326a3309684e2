"""What the manifest says of the code: commit, packages, jars."""

import subprocess
from importlib.metadata import distributions, version
from pathlib import Path

from market_spread.common.jvm.jars import JarCache
from market_spread.controller.run_folder.manifest import Section

_GIT_TIMEOUT_S = 10


def code(folder: Path | None = None) -> Section:
    """Version, commit, and whether there were changes that are not committed; None where there is no repository."""
    folder = folder or Path(__file__).parent
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no") if commit else None
    return {
        "version": version("market-spread-controller"),
        "git_commit": commit,
        "git_dirty": None if changes is None else bool(changes),
    }


def packages() -> Section:
    """Every installed Python distribution and its version."""
    found = ((str(each.metadata["Name"]).lower().replace("_", "-"), each.version) for each in distributions())
    return dict(sorted(found))


def jars(cache: JarCache) -> Section:
    """The jars of broker and connector and their SHA-256, which is checked when they are used."""
    return {jar.file_name: jar.sha256 for jar in cache.jars}


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None
