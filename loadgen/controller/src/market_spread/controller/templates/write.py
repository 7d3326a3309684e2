"""The shipped systems, and what `market-spread init` writes of one: its workload, messages and check, and itself."""

import os
import shutil
from pathlib import Path
from typing import Any

import yaml

from market_spread.common.config import java_home
from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.jvm.jars import JarCache, find_java, read_lock

_HERE = Path(__file__).parent
SYSTEMS: dict[str, dict[str, Any]] = yaml.safe_load((_HERE / "systems.yaml").read_text())


def lacks(name: str) -> list[str]:
    """Which of the programs that a system needs this machine does not have."""
    return [program for program in SYSTEMS[name]["needs"] if not shutil.which(program)]


def write(name: str, folder: Path, *, kafka: str) -> list[Path]:
    """Write the files of a system; which ones. UsageError if one is there already or cannot be, or a jar cannot be had.

    kafka: the broker of an attached system.
    """
    system = SYSTEMS[name]
    files = [_HERE / system["job"] / name for name in ("workload.yaml", "load.py", *system["files"])]
    contents = {folder / file.name: file.read_text() for file in files}
    values = {"SYSTEM": system["system"], "LATE_MS": str(system["late_ms"]), "P99_MS": str(system["p99_ms"])}
    if "jars" in system:
        values["JARS"] = _class_path(system["jars"])
    values["KAFKA"] = f'"{kafka}"'
    for word, value in values.items():
        contents[folder / "workload.yaml"] = contents[folder / "workload.yaml"].replace(word, value)
    for path in contents:
        if path.exists():
            raise UsageError(f"{path} is there already; name another folder")
    with usage_errors(f"{folder} cannot be written", "name another folder"):
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            path.write_text(content)
    return list(contents)


def _class_path(lock: str) -> str:
    """These jars, and those of ours that are of their group, fetched if they are not there."""
    own = read_lock(lock)
    jars = JarCache(jars=(*own, *(jar for jar in JarCache().jars if jar.group == own[0].group)))
    jars.fetch(find_java(java_home()))
    return os.pathsep.join(str(path) for path in jars.paths(own[0].group))
