"""The reference of the environment: each process, and what it reads, as its own `--help` says."""

import re
from pathlib import Path
from typing import Any

from market_spread.common.config import environment_help
from market_spread.common.kafka.security import KafkaSecurity
from market_spread.common.process.service import ServiceConfig
from market_spread.controller.views.output import markdown_table
from market_spread.host_tuner.config import HostTunerConfig, RemovalConfig
from market_spread.metrics_aggregator.config import AggregatorConfig
from market_spread.receiver.config import ReceiverConfig
from market_spread.sender.config import SenderConfig
from market_spread.streaming.driver.config import JobConfig

_VARIABLE = re.compile(r"^  (\w+): (.*), (must be set|by default .*)\n      (.*)$", re.MULTILINE)
_OWN = (
    ("The sender", "`python -m market_spread.sender`", SenderConfig),
    ("The receiver", "`python -m market_spread.receiver`", ReceiverConfig),
    ("The job", "`python -m market_spread.streaming.driver`", JobConfig),
)
_ALONE = (
    ("The metrics-aggregator", "`python -m market_spread.metrics_aggregator`", AggregatorConfig),
    (
        "The host tuner",
        "`python -m market_spread.host_tuner`, and its commands `run`, `report` and `restore`",
        HostTunerConfig,
    ),
    ("The host tuner's removal", "`python -m market_spread.host_tuner remove`", RemovalConfig),
)
_HEAD = ("variable", "type", "default", "meaning")


def environment_reference() -> str:
    """The whole page."""
    kafka, service = _rows(KafkaSecurity), _rows(ServiceConfig)
    parts = [
        Path(__file__).with_suffix(".txt").read_text().rstrip("\n"),
        _section(
            "A broker that asks for a login or for TLS",
            "For sender, receiver and job, and for `market-spread topics` and `market-spread probe kafka`.",
            kafka,
        ),
        _section("What sender, receiver and job have in common", "", [row for row in service if row not in kafka]),
        *(_section(title, said, [row for row in _rows(of) if row not in service]) for title, said, of in _OWN),
        *(_section(title, said, _rows(of)) for title, said, of in _ALONE),
        Path(__file__).with_name("environment_reference_end.txt").read_text(),
    ]
    return "\n\n".join(parts)


def _rows(config_class: type[Any]) -> list[tuple[str, ...]]:
    found = _VARIABLE.findall(environment_help(config_class))
    return [(f"`{name}`", kind, _default(known), meaning) for name, kind, known, meaning in found]


def _default(known: str) -> str:
    value = known.removeprefix("by default ")
    return value if value in ("must be set", "unset", "empty") else f"`{value}`"


def _section(title: str, said: str, rows: list[tuple[str, ...]]) -> str:
    return "\n\n".join(filter(None, (f"## {title}", said, markdown_table(_HEAD, rows))))
