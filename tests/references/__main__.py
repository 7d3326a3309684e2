"""The references in docs/, from code: of metrics, of the keys of a workload, and of the environment.

`python -m tests.references` writes them; with a folder, there instead.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from market_spread.common.config import environment_help
from market_spread.common.grpc.identity import Identity
from market_spread.common.hdr.histogram import PERCENTILES
from market_spread.common.kafka.security import KafkaSecurity
from market_spread.common.process.service import ServiceConfig
from market_spread.common.telemetry import exposition, recorder
from market_spread.common.telemetry.metrics import METRICS, Metric, MetricKind
from market_spread.controller.plan.system import SYSTEM_WORKLOAD
from market_spread.controller.plan.workload import WORKLOAD
from market_spread.controller.views.output import markdown_table
from market_spread.host_tuner.config import HostTunerConfig, RemovalConfig
from market_spread.loadgen.recorded import OF_THE_FILES, RECORDED
from market_spread.metrics_aggregator.service import AggregatorConfig
from market_spread.receiver.service import ReceiverConfig
from market_spread.sender.service import SenderConfig
from market_spread.streaming.driver.config import JobConfig
from tests.support.keys import Key, keys_of
from tests.support.own_metrics import HOST_TUNER_METRICS, OWN_METRICS
from tests.support.paths import ROOT

_UNITS = {"per_s": "1/s", "s": "s", "ms": "ms", "share": "share", "mb": "MB", "gb": "GB"}
# What a workload has besides for a system of the user's.
_OF_SYSTEM = {"system", "kafka", "input", "output", "check"}
_VARIABLE = re.compile(r"^  (\w+): (.*), (must be set|by default .*)\n      (.*)$", re.MULTILINE)
_SERVICES = {"sender": SenderConfig, "receiver": ReceiverConfig, "job": JobConfig}
_ALONE = {"aggregator": AggregatorConfig, "host_tuner": HostTunerConfig, "removal": RemovalConfig, "identity": Identity}


def main(into: Path) -> None:
    """Write the three pages."""
    foreign = yaml.safe_load((ROOT / "charts" / "monitoring" / "foreign_metrics.yaml").read_text())
    pages = {"metrics": metrics(foreign), "workloads": workloads(), "environment": environment()}
    for name, text in pages.items():
        (into / f"{name}.md").write_text(text)


def metrics(foreign: Mapping[str, Mapping[str, str]]) -> str:
    """Every metric that there is. foreign: those that we read of others, by who has them, to their meanings."""
    return _page("metrics").format(
        pushed=_metrics(METRICS.values()),
        own=_metrics(OWN_METRICS),
        partition_series=recorder.PARTITION_SERIES_MAX,
        others=recorder.OTHERS,
        host_tuner=_metrics(HOST_TUNER_METRICS),
        edges=len(exposition.EDGES_US),
        first=exposition.EDGES_US[0],
        last=exposition.EDGES_US[-1] / 1e6,
        quantile_label=exposition.QUANTILE_LABEL,
        recent=exposition.RECENT_S,
        quantiles=", ".join(f"{percent / 100:.6g}" for percent in PERCENTILES),
        quantile_gauges=_quantile_gauges(),
        foreign="\n\n".join(_foreign(who, metrics) for who, metrics in foreign.items()),
    )


def workloads() -> str:
    """Every key of a workload, from the schema that reads it."""
    of_system = filter(_is_of_system, keys_of(SYSTEM_WORKLOAD))
    return _page("workloads").format(rows=_keys(keys_of(WORKLOAD)), system_rows=_keys(of_system))


def environment() -> str:
    """Each process, and the variables that it reads, as its own `--help` says."""
    kafka, service = _variables(KafkaSecurity), _variables(ServiceConfig)
    tables = {"kafka": kafka, "service": [row for row in service if row not in kafka]}
    tables |= {name: [row for row in _variables(of) if row not in service] for name, of in _SERVICES.items()}
    tables |= {name: _variables(of) for name, of in _ALONE.items()}
    head = ("variable", "type", "default", "meaning")
    return _page("environment").format(**{name: markdown_table(head, rows) for name, rows in tables.items()})


def _page(name: str) -> str:
    return Path(__file__).with_name(f"{name}.txt").read_text()


def _metrics(metrics: Iterable[Metric]) -> str:
    rows = (
        (f"`{metric.name}`", metric.kind.value, ", ".join(f"`{label}`" for label in metric.labels), metric.meaning)
        for metric in metrics
    )
    return _rows(("metric", "kind", "labels", "meaning"), rows)


def _quantile_gauges() -> str:
    rows = []
    for metric in (*METRICS.values(), *OWN_METRICS):
        if metric.kind is MetricKind.HISTOGRAM:
            recent = f"`{exposition.quantile_name(metric, recent=True)}`" if metric.name in METRICS else ""
            rows.append((f"`{exposition.quantile_name(metric)}`", recent))
    return _rows(("since the begin", f"of the last {exposition.RECENT_S} s"), rows)


def _foreign(who: str, metrics: Mapping[str, str]) -> str:
    rows = ((f"`{name}`", meaning) for name, meaning in metrics.items())
    return f"### {who}\n\n" + _rows(("metric", "meaning"), rows)


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return markdown_table(head, rows).replace("|  |", "| |")


def _is_of_system(key: Key) -> bool:
    first, last = re.split(r"[.\[]", key.path)[0], key.path.rpartition(".")[2]
    return first in _OF_SYSTEM or (key.of == RECORDED and last not in OF_THE_FILES)


def _keys(keys: Iterable[Key]) -> str:
    return "\n".join(map(_key, keys))


def _key(key: Key) -> str:
    unit = re.search(r"_(per_s|s|ms|share|mb|gb)$", key.path)
    meaning = f"`{key.of}`: {key.node['description']}" if key.of else key.node["description"]
    cells = f"`{key.path}`", _UNITS[unit[1]] if unit else "", _values(key), _default_of_key(key), meaning
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _values(key: Key) -> str:
    """What would be right, as it is said of a wrong value."""
    words = key.remedy.removeprefix("use ")
    for start in ("one of ", "a list of "):
        if words.startswith(start):
            return start + ", ".join(f"`{word}`" for word in words.removeprefix(start).split(", "))
    if "minimum" in key.node:
        whole = "whole, " if key.node["type"] == "integer" else ""
        return f"{whole}{key.node['minimum']:,} to {key.node['maximum']:,}"
    return words.removeprefix("a ")


def _default_of_key(key: Key) -> str:
    default = key.node.get("default")
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, float):
        one_in = 0 < default < 0.001
        return f"`1 in {round(1 / default)}`" if one_in else f"{default:g}"
    if key.required:
        return ""
    return "none" if default in (None, "", []) else f"`{default}`" if isinstance(default, str) else f"{default:,}"


def _variables(config_class: type[Any]) -> list[tuple[str, ...]]:
    found = _VARIABLE.findall(environment_help(config_class))
    return [(f"`{name}`", kind, _default_of_variable(known), meaning) for name, kind, known, meaning in found]


def _default_of_variable(known: str) -> str:
    value = known.removeprefix("by default ")
    return value if value in ("must be set", "unset", "empty") else f"`{value}`"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs")
