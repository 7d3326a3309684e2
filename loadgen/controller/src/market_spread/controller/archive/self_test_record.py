"""What a self test has found of a machine: its figures, the file that keeps them, and what a run says of them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from market_spread.common.documents import json_object, write_whole
from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.hdr.histogram import HdrCounts, latency_summary_ns
from market_spread.common.schema import value_of
from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis.latency import judged_alerts
from market_spread.controller.run_folder import Section
from market_spread.loadgen.columns import Alerts

FILE_NAME = "selftest.json"
# Beyond so many times the rate, or below that part of it, a floor says nothing of a run.
FAR_OFF = 2.0
_VERSION = 3
_SOONEST_PERCENT = 5
# How long alerts take to receiver and witness is compared at these: a busy machine makes both wait, and both alike.
_DELIVERY_PERCENTS = (50, 75, 90)
_DELIVERY_SHARE_MAX = 0.5
# `ab` and `sweep` keep their runs so far below the folder of runs.
_FOLDERS_ABOVE = 3
# Where sender and receiver have a core each, beside the system and the broker.
_CORES_ENOUGH = 4
_ERROR_US_MAX, _ERROR_US_MAX_SHARED = 100, 500
# What a result has of it.
_TOLD = ("rate_per_s", "error_ns", "error_ns_all", "error_ns_p95")
_FACTS = {
    "cpu": ("model", "sockets", "cores", "threads"), "kernel": ("release",), "memory": ("total_kb",),
    "limits": ("cgroup_cpu_max", "affinity"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RateTest:
    """What the rig made of the null system at one rate.

    floor_ns: latency of the orders that were answered at once, so that of the rig itself, as it is reported; error_ns:
    by how much the rig reports more than was true of orders that were held back, see `rate_test_of`; error_ns_all: the
    median of all of them; error_ns_p95: 95% of them are no further off; delivery_ns: by percentile, how long alerts
    took to the receiver, and to the witness; injected_ns: how long orders were really held, median; reasons: why the
    rig could not be looked at, if it could not.
    """

    rate_per_s: int
    verdict: str
    reasons: tuple[str, ...] = ()
    samples: int = 0
    injected_ns: int | None = None
    error_ns: int | None = None
    error_ns_all: int | None = None
    error_ns_p95: int | None = None
    delivery_ns: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    floor_ns: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        return self.verdict == "passed" and self.error_ns is not None

    def fault(self, error_ns_max: int) -> str:
        """Why the rig errs by more than that; empty if it does not.

        All alerts are looked at besides the soonest: their way to the receiver may differ from that to the witness by
        as much, and half of the witness's, which is what one process waits for another on a busy machine.
        """
        if self.error_ns is None or abs(self.error_ns) > error_ns_max:
            return "which misses the aim"
        for name, (ours_ns, theirs_ns) in self.delivery_ns.items():
            if abs(ours_ns - theirs_ns) > error_ns_max + _DELIVERY_SHARE_MAX * theirs_ns:
                return f"but says that alerts came after {in_ms(ours_ns)} ms ({name}), which took {in_ms(theirs_ns)}"
        return ""

    @property
    def error_text(self) -> str:
        return f"{in_ms(self.error_ns)} ms (of all {in_ms(self.error_ns_all)}, 95% within {in_ms(self.error_ns_p95)})"


def is_held(order_id: int) -> bool:
    """Whether it is one of the orders, every second one, whose alerts the null system holds back."""
    return order_id % 2 == 1


def rate_test_of(reported: Alerts, witnessed: Alerts, *, rate_per_s: int, from_us: int) -> RateTest:
    """The figures, of the alerts as the rig has them and as someone beside it saw them, from an intended time on.

    What was read back of a hold is the reported latency without what else was true of it: the way to the system and the
    way from it to the witness. So the error is whatever the rig adds, to the stamps or between them. It is told by the
    alerts that the receiver had soonest, and those that the witness had: which of two processes a busy machine lets run
    first is no error of the stamps. The other figures are of all.
    """
    ours, theirs = judged_alerts(reported, from_us=from_us), judged_alerts(witnessed, from_us=from_us)
    _, at_ours, at_theirs = np.intersect1d(ours.order_id, theirs.order_id, return_indices=True)
    ours, theirs = ours[at_ours], theirs[at_theirs]
    held = np.array([is_held(order_id) for order_id in ours.order_id.tolist()], np.bool_)
    floor_ns = latency_summary_ns(HdrCounts((ours.received_us - ours.intended_us)[~held]))
    found = RateTest(rate_per_s=rate_per_s, verdict="passed", samples=len(ours), floor_ns=floor_ns)
    if not held.any():
        return found
    ours, theirs = ours[held], theirs[held]
    # The hold is in both latencies, so it is not in their difference.
    error_us = (ours.received_us - ours.intended_us) - (theirs.received_us - theirs.intended_us)
    their_way_us = theirs.received_us - theirs.emitted_us
    our_way_us = their_way_us + error_us
    return replace(
        found,
        injected_ns=_percentile_ns(theirs.emitted_us - theirs.read_us, 50),
        error_ns=_percentile_ns(our_way_us, _SOONEST_PERCENT) - _percentile_ns(their_way_us, _SOONEST_PERCENT),
        error_ns_all=_percentile_ns(error_us, 50),
        error_ns_p95=_percentile_ns(np.abs(error_us), 95),
        delivery_ns={
            f"p{percent}": (_percentile_ns(our_way_us, percent), _percentile_ns(their_way_us, percent))
            for percent in _DELIVERY_PERCENTS
        },
    )


def _percentile_ns(values_us: Int64s, percent: float) -> int:
    return round(float(np.percentile(values_us, percent)) * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTestRecord:
    """A self test of a machine. at: when; machine: what tells it from others; rates: at each rate, lowest first."""

    at: str
    rate_per_s: int
    rates: tuple[RateTest, ...]
    machine: Mapping[str, Section]
    code: Section = field(default_factory=dict)
    packages: Section = field(default_factory=dict)

    @property
    def error_ns_max(self) -> int:
        """The error that is aimed at: 0.1 ms, and 0.5 ms where sender and receiver share cores with everything else."""
        cores = self.machine["cpu"].get("threads")
        return 1000 * (_ERROR_US_MAX if isinstance(cores, int) and cores >= _CORES_ENOUGH else _ERROR_US_MAX_SHARED)

    @property
    def holds(self) -> bool:
        """Whether the error is within the aim at the rate that was asked for."""
        return self.rates[0].is_valid and not self.rates[0].fault(self.error_ns_max)

    @property
    def sentence(self) -> str:
        first, *others = self.rates
        fault = first.fault(self.error_ns_max)
        text = (
            f"the rig reads latencies back within {first.error_text} at {first.rate_per_s:,} messages/s"
            f"{fault and f', {fault}'} "
            f"(at most {in_ms(self.error_ns_max)} ms is aimed at on this machine); a system that answers at once takes "
            f"{in_ms(first.floor_ns['p50'])} ms (p50) and {in_ms(first.floor_ns['p99'])} ms (p99)"
        )
        bad = [f"; at {each.rate_per_s:,} messages/s it is void: {each.reasons[0]}" for each in others if each.reasons]
        return text + "".join(bad)

    @property
    def document(self) -> dict[str, Any]:
        """As `read` takes it."""
        return {"version": _VERSION, **asdict(self), "sentence": self.sentence}

    def write(self, runs_folder: Path) -> Path:
        """Keep it for the runs of the folder. OSError if it cannot be written."""
        runs_folder.mkdir(parents=True, exist_ok=True)
        return write_whole(runs_folder / FILE_NAME, json.dumps(self.document, indent=2) + "\n")

    @staticmethod
    def read(runs_folder: Path) -> "SelfTestRecord | None":
        """What was kept; None if there is nothing. UsageError if it cannot be read."""
        path = runs_folder / FILE_NAME
        if not path.exists():
            return None
        with usage_errors(f"{path} cannot be read", "make it again", (OSError, ValueError, LookupError, TypeError)):
            record = value_of(SelfTestRecord, json_object(path.read_bytes(), version=_VERSION))
            if not any(each.is_valid for each in record.rates) or not all(map(record.machine.get, _FACTS)):
                raise ValueError("it has no figures, or names no machine")
            _ = record.sentence  # which has figures that may not be there
            return record


def facts_of(sections: Mapping[str, Section]) -> dict[str, Section]:
    """Of a manifest what tells a machine from another one."""
    return {name: {each: sections[name].get(each) for each in names} for name, names in _FACTS.items()}


def beside(runs_folder: Path, sections: Mapping[str, Section], rate_per_s: float) -> dict[str, Any]:
    """What a run's result says of the rig: of the self test of its machine, its figures and a sentence.

    sections: of the run's manifest. The test is looked for in the runs folder and those above, as `ab` and `sweep` make
    some for their runs. fits: whether it is of this machine and at most FAR_OFF times the rate away.
    """
    again = f"market-spread selftest --rate {rate_per_s:.0f}"
    if not all(name in sections for name in _FACTS):
        return _without("the processes of the run were on machines that no self test was made on")
    folders = (runs_folder, *runs_folder.resolve().parents[:_FOLDERS_ABOVE])
    try:
        record = next(filter(None, map(SelfTestRecord.read, folders)), None)
    except UsageError as error:
        return _without(f"{error}: {again}")
    if record is None:
        return _without(f"not measured on this machine: {again}")
    nearest = min((it for it in record.rates if it.is_valid), key=lambda it: _apart(it.rate_per_s, rate_per_s))
    values = {"at": record.at, **{name: getattr(nearest, name) for name in _TOLD}}
    other = [
        f"{section} {name} {tested} instead of {value}"
        for section, facts in facts_of(sections).items()
        for name, value in facts.items()
        if (tested := record.machine.get(section, {}).get(name)) != value
    ]
    fault, test = nearest.fault(record.error_ns_max), f"self test of {record.at[:10]}"
    figures = (
        f"p50 {in_ms(nearest.floor_ns.get('p50'))} ms, p99 {in_ms(nearest.floor_ns.get('p99'))} ms, error "
        f"{nearest.error_text}{fault and f', {fault}'}, {test} at {nearest.rate_per_s:,}/s"
    )
    is_far_off = _apart(nearest.rate_per_s, rate_per_s) > FAR_OFF
    if other:
        text = f"not measured on this machine; the {test} is of another one ({other[0]}): {again}"
    elif is_far_off:
        text = f"not measured at a rate like {rate_per_s:,.0f}/s ({figures}, which is far off): {again}"
    else:
        text = f"the rig's floor here: {figures}"
    return {**values, "floor_ns": dict(nearest.floor_ns), "fits": not (other or is_far_off), "text": text}


def _without(text: str) -> dict[str, Any]:
    return {**dict.fromkeys(("at", *_TOLD)), "floor_ns": {}, "fits": False, "text": text}


def _apart(rate_per_s: float, other_per_s: float) -> float:
    lower, higher = sorted((rate_per_s, other_per_s))
    return higher / max(lower, 1e-9)


def in_ms(value_ns: int | None) -> str:
    """With two digits after the point, without the unit; `-` for None."""
    return "-" if value_ns is None else f"{value_ns / 1e6:,.2f}"
