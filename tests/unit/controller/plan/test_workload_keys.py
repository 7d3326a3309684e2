"""Every key of a workload, gone through by the schema itself: none is lost on the way through a file."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.errors import UsageError
from market_spread.controller.plan.objectives import PERCENTILES
from market_spread.controller.plan.reading import read_workload, to_yaml
from market_spread.controller.plan.workload import WORKLOAD
from market_spread.loadgen.market.symbols import accepting_count
from tests.support.keys import Key, keys_of

BASE: Mapping[str, Any] = {
    "name": "base",
    "seed": 1,
    "load": {"profile": "constant", "messages_per_s": 1_000, "duration_s": 30},
    "market": {"symbols": 1_000, "partitions": 2},
    "frames": {"messages": 100, "linger_ms": 1},
    "job": {"batch_s": 40},
    "warm_up": {"duration_s": 2},
}
# Those of faults go with each other alone, so they have a test of their own: test_faults.py.
KEYS = [
    key
    for key in keys_of(WORKLOAD)
    if key.of in ("", "constant") and key.path != "load.profile" and not key.path.startswith("faults.")
]


def with_key(mapping: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    part, _, name = path.partition(".")
    return {**mapping, part: {**mapping.get(part, {}), name: value} if name else value}


def values(node: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    match node:
        case {"enum": choices}:
            return st.sampled_from(choices)
        case {"type": "integer"}:
            return st.integers(node["minimum"], node["maximum"])
        case {"type": "number"}:
            return st.floats(node["minimum"], node["maximum"])
        case {"type": "array"}:
            return st.lists(st.sampled_from(node["items"]["enum"]), max_size=3)
        case {"pattern": _}:
            return st.from_regex("[a-z0-9][a-z0-9-]{0,9}", fullmatch=True)
        case _:
            return st.text("abc: #", min_size=1, max_size=9)


def others(key: Key) -> list[Any]:
    """Some values that the key may have, none of them its default."""
    match key.node:
        case {"enum": choices}:
            legal = list(choices)
        case {"minimum": low, "maximum": high}:
            legal = [low, high, low + 1, low + 300]
        case {"type": "array", "items": items}:
            legal = [items["enum"][:2]]
        case _:
            legal = ["another"]
    return [value for value in legal if value != key.node.get("default")]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_no_key_is_lost_when_a_workload_is_written(key: Key, tmp_path: Path) -> None:
    base = WORKLOAD.read(BASE)
    for value in others(key):
        try:
            workload = WORKLOAD.read(with_key(BASE, key.path, value))
        except UsageError:
            continue  # this value does not go with the other keys
        if workload != base:
            break
    (tmp_path / "workload.yaml").write_text(to_yaml(workload))

    assert workload != base
    assert read_workload(tmp_path / "workload.yaml") == workload


def fitting(given: dict[str, Any]) -> dict[str, Any]:
    """Values that fit together."""
    market, slo = given["market"], given["slo"]
    market["changing_symbols"] = min(market["changing_symbols"], accepting_count(market["symbols"]))
    given["load"]["messages_per_s"] = max(1, given["load"]["messages_per_s"])
    given["job"]["batch_s"] = max(20, given["job"]["batch_s"])
    given["job"]["standby"] = min(given["job"]["standby"], 2 - given["job"]["replicas"])
    given["warm_up"]["settle_s"] = min(given["warm_up"]["settle_s"], given["load"]["duration_s"] / 2)
    longest_ms = max(2_000, given["load"]["duration_s"] * 1000)
    given["limits"]["stall_ms"] = min(max(1_001, given["limits"]["stall_ms"]), longest_ms)
    given["limits"]["p99_ms"] = None
    slo["rate_share"] = min(slo["rate_share"], 0.999)
    given["frames"]["linger_ms"] = min(
        given["frames"]["linger_ms"], 1_000, *(slo[f"{name}_ms"] for name in PERCENTILES)
    )
    latencies = [f"{name}_ms" for name in PERCENTILES]
    return {**given, "slo": {**slo, **dict(zip(latencies, sorted(slo[name] for name in latencies), strict=True))}}


def workloads() -> st.SearchStrategy[dict[str, Any]]:
    parts: dict[str, Any] = {"load": {"profile": st.just("constant")}}
    for key in KEYS:
        part, _, name = key.path.partition(".")
        if name:
            parts.setdefault(part, {})[name] = values(key.node)
        else:
            parts[part] = values(key.node)
    whole = {name: st.fixed_dictionaries(part) if isinstance(part, dict) else part for name, part in parts.items()}
    return st.fixed_dictionaries(whole).map(fitting)


@given(workloads())
def test_a_workload_is_read_back_as_it_was_written(mapping: dict[str, Any]) -> None:
    workload = WORKLOAD.read(mapping)

    assert WORKLOAD.read(yaml.safe_load(to_yaml(workload))) == workload


@pytest.mark.parametrize("key", [key for key in KEYS if "minimum" in key.node], ids=lambda key: key.path)
def test_both_ends_of_each_range_are_held(key: Key) -> None:
    for wrong in (key.node["minimum"] - 1, key.node["maximum"] + 1 + key.node["maximum"] // 2**50, "much", True):
        with pytest.raises(UsageError) as raised:
            WORKLOAD.read(with_key(BASE, key.path, wrong))

        assert str(raised.value) == f"{key.path}={wrong!r}; {key.remedy}"


def test_every_key_says_what_it_means() -> None:
    assert [key.path for key in keys_of(WORKLOAD) if not key.node.get("description", "").endswith(".")] == []


def test_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(yaml.safe_dump(dict(BASE)) + "seed: 2\n")

    with pytest.raises(UsageError, match=r"w\.yaml:17: seed stands in line 14 already; leave one of them out"):
        read_workload(path)


def test_stall_may_be_as_long_as_the_load_to_the_last_digit() -> None:
    load_s = 2.4032932782802483  # not a whole number of nanoseconds
    workload = with_key(with_key(BASE, "load.duration_s", load_s), "warm_up.settle_s", 1)

    assert WORKLOAD.read({**workload, "limits": {"stall_ms": load_s * 1000}}).limits.stall_ms == load_s * 1000
    with pytest.raises(UsageError, match="since the load ends before"):
        WORKLOAD.read({**workload, "limits": {"stall_ms": load_s * 1000 + 0.01}})


def test_rules_between_keys_are_told_with_what_is_wrong_elsewhere() -> None:
    wrong = with_key(with_key(with_key(BASE, "job.batch_s", 10), "job.replicas", 2), "frames.messages", 0)
    wrong |= {"slo": {"p50_ms": 3, "max_ms": 2}, "limits": {"stall_ms": 1000}}
    wrong = with_key(with_key(wrong, "warm_up.settle_s", 30), "market.probes_per_s", 1)

    with pytest.raises(UsageError) as raised:
        WORKLOAD.read(wrong)

    assert str(raised.value) == (
        "frames.messages=0; use a whole number from 1 to 100000; job.batch_s=10; with replicas use 20 s or more; "
        "warm_up.settle_s=30; use less than the load's 30 s; "
        "limits.stall_ms=1000; use more than 1000, the time between two probes; "
        "slo.max_ms=2; use 3 or more, the limit of p50"
    )


ODD: tuple[Any, ...] = (
    None, True, -1, 1e300, float("nan"), 10**400, "", "x", [], [1], [{}], {}, {"x": 1}, {1: {}}, date(2026, 2, 1), b"x",
)  # fmt: skip
PARTS = ("load", "market", "frames", "job", "warm_up", "limits", "slo", "void", "machine")


@pytest.mark.parametrize("path", [*(key.path for key in KEYS), *PARTS, "load.profile"])
def test_whatever_stands_at_a_key_is_taken_or_refused_in_a_sentence(path: str) -> None:
    sentences = []
    for value in ODD:
        try:
            WORKLOAD.read(with_key(BASE, path, value))
        except UsageError as error:
            sentences.append(str(error))

    assert len(sentences) > len(ODD) // 2
    assert [sentence for sentence in sentences if not sentence.startswith(path.partition(".")[0])] == []


@pytest.mark.parametrize("text", ["seed: 2026-02-31\n", "seed: " + "9" * 5_000 + "\n", "a: " + "[" * 5_000])
def test_yaml_that_means_nothing_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(text)

    with pytest.raises(UsageError, match=r"w\.yaml is no YAML: "):
        read_workload(path)
