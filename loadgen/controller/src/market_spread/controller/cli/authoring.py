"""`market-spread init` and `systems`: a workload for a system that is not our application, to begin with."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import yaml

import market_spread.systems
from market_spread.common.config import java_home
from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.jvm.jars import JarCache, find_java, read_lock
from market_spread.controller.cli.options import json_option, show_result
from market_spread.controller.exits import say

_FOLDER = Path(market_spread.systems.__file__).parent
SYSTEMS: dict[str, dict[str, Any]] = yaml.safe_load((_FOLDER / "systems.yaml").read_text("utf-8"))


@click.command(epilog="Example: market-spread init fares && market-spread run fares/workload.yaml")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--template", type=click.Choice([*SYSTEMS]), default="loop", help="One of `market-spread systems`.")
@click.option("--kafka", metavar="HOST:PORT", default="localhost:9092", help="The broker of an attached system.")
@json_option("Print the files as JSON on standard output.")
def init(folder: Path, template: str, kafka: str, as_json: bool) -> None:
    """Write a workload for a system of yours into FOLDER.

    It runs as it stands: with messages of its own, a check of the outputs and, unless one runs already, a system. Put
    your system, your messages and your check in their places.
    """
    if not re.fullmatch(r"[^\s\"',]+:[0-9]+", kafka):
        raise UsageError(f"--kafka {kafka!r}; use HOST:PORT")
    paths = [str(path) for path in write(template, folder, kafka=kafka)]
    show_result(paths, "\n".join(paths), as_json=as_json)
    say(f"run it with: market-spread run {folder / 'workload.yaml'}")


@click.command(epilog="Example: market-spread systems && market-spread init words --template word_count")
@json_option()
def systems(as_json: bool) -> None:
    """List the systems that `init` writes, and what they need."""
    keys = ("about", "job", "needs")
    found = [{"name": name, **{key: SYSTEMS[name][key] for key in keys}, "lacks": lacks(name)} for name in SYSTEMS]
    lines = []
    for each in found:
        needs = ", ".join(f"{it} (not here)" if it in each["lacks"] else it for it in each["needs"])
        lines.append(f"{each['name']:<21}{each['about']:<61}{needs}")
    show_result(found, "\n".join(lines), as_json=as_json)


def lacks(name: str) -> list[str]:
    """Which of the programs that a system needs this machine does not have."""
    return [program for program in SYSTEMS[name]["needs"] if not shutil.which(program)]


def write(name: str, folder: Path, *, kafka: str) -> list[Path]:
    """Write the files of a system; which ones. UsageError if one is there already or cannot be, or a jar cannot be had.

    kafka: the broker of an attached system.
    """
    system = SYSTEMS[name]
    files = [_FOLDER / system["job"] / name for name in ("workload.yaml", "load.py", *system["files"])]
    contents = {folder / file.name: file.read_text("utf-8") for file in files}
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
            path.write_text(content, "utf-8")
    return list(contents)


def _class_path(groups: Sequence[str]) -> str:
    """The jars of these groups, of the systems' or ours, fetched if they are not there."""
    known = (*read_lock((_FOLDER / "jars.lock").read_text("utf-8")), *JarCache().jars)
    jars = JarCache(jars=tuple(jar for jar in known if jar.group in groups))
    jars.fetch(find_java(java_home()))
    return os.pathsep.join(str(path) for group in groups for path in jars.paths(group))
