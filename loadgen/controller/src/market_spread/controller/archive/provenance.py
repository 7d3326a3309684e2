"""What the manifest says of the code and of the input: commit, packages, jars, and a hash of what the loads send."""

import hashlib
import subprocess
from importlib.metadata import distributions, version
from pathlib import Path

from market_spread.controller.plan.plan import PHASES, PlannedLoad, RunPlan
from market_spread.controller.run_folder.manifest import Scalar, Section

_GIT_TIMEOUT_S = 10
_MESSAGES_MAX = 200_000


def code() -> Section:
    """Version, commit, and whether there were changes that are not committed; None where there is no repository."""
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no") if commit else None
    return {
        "version": version("market-spread-controller"),
        "git_commit": commit,
        "git_dirty": None if changes is None else bool(changes),
    }


def packages() -> Section:
    """Every installed Python distribution and its version."""
    found = ((str(each.metadata["Name"]).lower().replace("_", "-"), each.version) for each in distributions())
    return dict(sorted(found))


def data_section(plan: RunPlan) -> dict[str, Scalar]:
    """For each load its source, its messages, and the SHA-256 of its first 200,000, as sent at the epoch's begin."""
    section: dict[str, Scalar] = {}
    loads: dict[str, PlannedLoad] = {name: load for name in PHASES if (load := getattr(plan, name)) is not None}
    for name, planned in loads.items():
        digest, messages = hashlib.sha256(), 0
        for block in planned.open(0).blocks():
            for stream in (block.quotes, block.orders):
                digest.update(stream.rows.tobytes())
                digest.update(stream.buckets.tobytes())
                messages += len(stream)
            if messages >= _MESSAGES_MAX:
                break
        section |= {f"{name}.source": planned.source, f"{name}.sha256": digest.hexdigest()}
    return section


def _git(*arguments: str) -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None
