"""What the manifest says of the code and of the input: commit, packages, jars, and a hash of what the loads send."""

import hashlib
import subprocess
from collections.abc import Iterator
from importlib.metadata import distributions, version
from pathlib import Path

from market_spread.common.load.source import AnyLoad, RecordLoad
from market_spread.controller.plan.plan import NO_LOAD, PHASES, RunPlan
from market_spread.controller.run_folder import Scalar, Section

_GIT_TIMEOUT_S = 10
_MESSAGES_MAX = 200_000


def code() -> Section:
    """Our own version, and the state of its repository."""
    return {"version": version("market-spread-controller"), **state_of(Path(__file__).parent)}


def state_of(folder: Path) -> Section:
    """The commit of its repository, and whether there were changes that are not committed; None where there is none."""
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no") if commit else None
    return {"git_commit": commit, "git_dirty": None if changes is None else bool(changes)}


def tree_of(folder: Path) -> str:
    """Tells one state of its working tree from another: commit and changes of tracked files; empty without git."""
    commit, changes = _git(folder, "rev-parse", "HEAD"), _git(folder, "diff", "--binary", "HEAD")
    return f"{commit}+{hashlib.sha256(changes.encode()).hexdigest()[:12]}" if commit and changes else commit or ""


def packages() -> Section:
    """Every installed Python distribution and its version."""
    found = ((str(each.metadata["Name"]).lower().replace("_", "-"), each.version) for each in distributions())
    return dict(sorted(found))


def data_section(plan: RunPlan) -> dict[str, Scalar]:
    """For each load its source, its messages, and the SHA-256 of its first 200,000, as sent at the epoch's begin."""
    section: dict[str, Scalar] = {}
    for name in PHASES:
        if (planned := getattr(plan, name)) not in (None, NO_LOAD):
            digest, messages = hashlib.sha256(), 0
            for count, pieces in _pieces(planned.open_any(0)):
                for piece in pieces:
                    digest.update(piece)
                messages += count
                if messages >= _MESSAGES_MAX:
                    break
            section |= {f"{name}.source": planned.source, f"{name}.sha256": digest.hexdigest()}
    return section


def _pieces(load: AnyLoad) -> Iterator[tuple[int, list[bytes]]]:
    """Some messages after the other: how many, and their bytes."""
    if isinstance(load, RecordLoad):
        for records in load.records():
            yield len(records), [part for each in records for part in (each.key or b"", each.value)]
        return
    for block in load.blocks():
        streams = (block.quotes, block.orders)
        yield sum(map(len, streams)), [part for of in streams for part in (of.rows.tobytes(), of.buckets.tobytes())]


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None
