"""Reads a workload from its file, with what the command line changes of it, and writes it again."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from market_spread.common.errors import UsageError
from market_spread.common.load.schedule import RATE_PER_S_MAX, Constant
from market_spread.common.schema import Schema
from market_spread.controller.plan.objectives import Limits
from market_spread.controller.plan.system import SYSTEM_WORKLOAD, SystemWorkload, resolved
from market_spread.controller.plan.workload import WORKLOAD, Workload
from market_spread.loadgen.recorded import RECORDED, Recorded


def _option(key: str, option: str) -> Any:
    return field(default=None, metadata={"key": key, "option": option})


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What the command line changes of a workload; None leaves it."""

    rate_per_s: int | None = _option("load.messages_per_s", "--rate")
    duration_s: float | None = _option("load.duration_s", "--duration")
    mode: str | None = _option("job.mode", "--mode")
    symbols: int | None = _option("market.symbols", "--symbols")
    frame_messages: int | None = _option("frames.messages", "--frame-size")


def read_workload(path: Path, overrides: Overrides | None = None, refused: Mapping[str, str] | None = None) -> Workload:
    """The workload of a file. UsageError naming each error with its line. refused: keys that cannot be, and why."""
    return overridden(_read(path, refused), overrides or Overrides())


def schema_of(document: object) -> Schema[Workload] | Schema[SystemWorkload]:
    """That of a workload that names its system, or of one for our own application."""
    return SYSTEM_WORKLOAD if isinstance(document, dict) and "system" in document else WORKLOAD


def _names_system(path: Path) -> bool:
    with suppress(OSError, ValueError, yaml.YAMLError, RecursionError):  # the schema says it with file and line
        return schema_of(yaml.safe_load(path.read_text("utf-8"))) is SYSTEM_WORKLOAD
    return False


def _read(path: Path, refused: Mapping[str, str] | None = None) -> Workload:
    if _names_system(path):
        return resolved(SYSTEM_WORKLOAD.read_yaml(path, "workload", "name", refused), path.absolute().parent)
    return WORKLOAD.read_yaml(path, "workload", "name", refused)


def standalone(path: Path) -> str:
    """The text of a workload that can be read from any folder: what it names has its whole path."""
    return to_yaml(_read(path)) if _names_system(path) else path.read_text("utf-8")


def to_yaml(workload: Workload) -> str:
    """The file of which `read_workload` makes the same workload."""
    return yaml.safe_dump(workload.to_mapping(), sort_keys=False)


def overridden(workload: Workload, overrides: Overrides) -> Workload:
    """The workload as the command line changes it; UsageError if that does not fit. A rate sets a recording's speed."""
    rate = overrides.rate_per_s
    if rate is not None and isinstance(workload, SystemWorkload) and isinstance(load := workload.load, Recorded):
        if not 1 <= rate <= RATE_PER_S_MAX:
            raise UsageError(f"--rate {rate}; use a whole number from 1 to {RATE_PER_S_MAX}")
        load = replace(load, speed=load.speed * rate * load.duration_ns / 1e9 / load.total())
        load = load.between(workload.warm_up.duration_s, 0, workload.input)
        workload, overrides = replace(workload, load=load), replace(overrides, rate_per_s=None)
    given = {each: value for each in fields(overrides) if (value := getattr(overrides, each.name)) is not None}
    if not given:
        return workload
    if not (isinstance(workload.load, Constant) or (overrides.rate_per_s is overrides.duration_s is None)):
        raise UsageError("--rate and --duration need a constant profile, or --rate a recorded one; edit the workload")
    mapping = workload.to_mapping()
    for each, value in given.items():
        part, _, name = each.metadata["key"].partition(".")
        if part not in mapping:
            raise UsageError(f"{each.metadata['option']} is of our own application; leave it out beside system")
        mapping[part][name] = value
    if "job" in mapping and mapping["job"]["mode"] != workload.job.mode:
        del mapping["job"]["batch_s"]
    if overrides.duration_s is not None:
        mapping["warm_up"]["settle_s"] = max(0, min(workload.warm_up.settle_s, overrides.duration_s / 4))
        longest_ms = max(Limits().stall_ms, overrides.duration_s * 1000)
        mapping["limits"]["stall_ms"] = min(workload.limits.stall_ms, longest_ms)
    try:
        read = schema_of(mapping).read(mapping)
        # What was found in the files is in no mapping.
        return replace(read, load=workload.load) if mapping["load"]["profile"] == RECORDED else read
    except UsageError as error:
        sentence = str(error)
        for each in given:
            sentence = sentence.replace(f"{each.metadata['key']}=", f"{each.metadata['option']} ")
        raise UsageError(sentence) from None
