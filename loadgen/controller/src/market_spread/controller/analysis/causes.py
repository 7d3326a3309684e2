"""Why the slowest orders were slow: the events that they met, or the stage, partition or key that was late."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from market_spread.common.hdr.histogram import HdrCounts, bucket_indices, latency_summary_ns
from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis.latency import Latencies, stages_us
from market_spread.controller.analysis.observed import Observed, replays_of
from market_spread.controller.analysis.stalls import Groups, parts_of
from market_spread.controller.analysis.survival import Survival
from market_spread.controller.analysis.validity import Seen
from market_spread.controller.clients.probe import Silence
from market_spread.controller.plan.plan import RunPlan
from market_spread.controller.statistics.intervals import Floats
from market_spread.loadgen.columns import Alerts, Bools
from market_spread.loadgen.oracle.oracle import WHOLE_RUN

# By precedence, what one and several are called, and what to try first.
KINDS = {
    "fault": ("planned fault", "planned faults", "see planned_faults in result.json"),
    "machine": ("standstill of the machine", "standstills of the machine", "a machine that nobody shares"),
    "broker": ("silence of the broker", "silences of the broker", "cores and a disk of the broker's own"),
    "restart": ("restart of the job", "restarts of the job", "see in logs/ why the job ended"),
    "boundary": ("batch boundary", "batch boundaries", "longer batches: job.batch_s"),
    "gc": ("garbage collection", "garbage collections", "a larger heap: job.memory"),
    "safepoint": ("safepoint of a JVM", "safepoints of a JVM", "cores for its threads; logs/*.gc.log say what it did"),
    "sender": ("delay of the sender", "delays of the sender", "cores of the sender's own, or several senders"),
    "receiver": ("delay of the receiver", "delays of the receiver", "cores of the receiver's own"),
    "delivery": ("delay behind the job", "delays behind the job", "see append_ns: the job's producer, or the broker"),
    "partition": ("", "", "spread its keys, or more partitions"),
    "key": ("", "", "see what is costly about it: its rate, or its state"),
    "pressure": ("time of pressure", "times of pressure", "fewer neighbours, or more cores: docs/host-tuning.md"),
}
# For so long what piled up may make orders slow afterwards; silences are told with some slack as it is.
_AFTER_US = {"boundary": 1_000_000, "gc": 1_000_000, "safepoint": 1_000_000, "fault": 60_000_000}
_STAGE_OF = {"sender": "send_lag", "receiver": "delivery", "delivery": "delivery"}
# What was seen to happen goes before a mere concentration, and that before what is often there.
_ROUNDS = (tuple(kind for kind in KINDS if kind not in ("partition", "key", "pressure")), ("partition",), ("pressure",))
_ORDERS_MIN, _TAIL_MIN = 200, 20
# A tail within so many medians needs no cause; a share of it that is smaller gets no name.
_QUIET_TIMES, _SHARE_MIN = 3.0, 0.15
# Of all groups together, one has so much more of a tail than its share by chance once in a thousand runs.
_CHANCE_MAX, _FAR_ABOVE = 0.001, 1.5
_PRESSURE = ("pressure_cpu_share", "pressure_io_share", "pressure_memory_share", "throttled_share", "cpus_stolen")
_SECONDS_MAX, _EXEMPLARS_MAX, _EVENTS_MAX, _PAUSE_MS_MIN, _SATURATED = 20, 3, 1_200, 5.0, 0.9
_STAMPS = {"intended": "intended", "sent": "sent", "ingested": "read", "emitted": "emitted", "received": "received"}
# A cause: its kind, its text, which of the tail it explains, and which of all orders it can have made slower.
_Share = tuple[str, str, Bools, Bools]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run, of one of KINDS. Unix milliseconds; text: for people."""

    kind: str
    begin_unix_ms: float
    duration_ms: float
    text: str


@dataclass(frozen=True, slots=True)
class Causes:
    """What the slowest orders met, and whether the machine was saturated; docs/run-document.md has each field."""

    sentence: str
    tail: Mapping[str, int | None]
    found: Sequence[Mapping[str, Any]]
    unexplained_share: float
    seconds: Sequence[Mapping[str, Any]]
    orders: Sequence[Mapping[str, Any]]
    events: Sequence[Event]
    saturation: str = ""

    @property
    def lines(self) -> list[str]:
        """The sentence, what to try first for each cause, and the saturation of the machine."""
        tries = [f"{each['text']} ({each['share']:.0%}): try {each['advice']}" for each in self.found]
        return [self.sentence, *tries, *filter(None, [self.saturation])]


def causes_of_run(
    plan: RunPlan, observed: Observed, latencies: Latencies, seen: Seen | None, survived: Survival
) -> Causes | None:
    """The causes of a run by all events that are known of it; None if none of its latencies is judged."""
    alerts, restarts = latencies.alerts, replays_of(plan, observed)
    times = [(it.component.partition("-")[0], f"{it.component} silent", it) for it in observed.silences]
    again = [Silence("job", *ends) for ends in restarts if restarts != WHOLE_RUN]
    times += [("restart", "restart of the job", it) for it in again if not survived.excuses(it)]
    events = [Event(kind, it.begin_us / 1000, it.duration_us / 1000, text) for kind, text, it in times]
    events += [
        Event("boundary", each.begin_us / 1000, each.gap_us / 1000, f"boundary of batch {each.batch_id}")
        for each in latencies.boundaries
    ]
    for it, (begin_us, end_us) in zip(survived.figures, survived.until_recovered_us, strict=True):
        long_us = min(end_us, observed.measured_until_unix_ns // 1000) - begin_us
        events.append(Event("fault", begin_us / 1000, long_us / 1000, it.text))
    if seen is not None:
        for jvm, end_ms, ms, what in (pause for pause in seen.pauses if pause[2] >= _PAUSE_MS_MIN):
            events.append(Event("gc" if what == "GC" else "safepoint", end_ms - ms, ms, f"{what} of the {jvm}"))
        for name in _PRESSURE:
            series = seen.measured("machine", name)
            shares = series.values / (seen.cores if name == "cpus_stolen" else 1)
            usual = float(np.median(shares)) if len(shares) else 0.0
            least = usual + max(0.15, 6 * float(np.median(np.abs(shares - usual))) if len(shares) else 0.0)
            # A sample, in the middle of a second, tells of the time since the one before.
            events += [
                Event("pressure", second * 1000 - 500, 1000, f"{name} {share:.0%}, else {usual:.0%}")
                for second, share in zip(series.unix_s.tolist(), shares.tolist(), strict=True)
                if share > least
            ]
    groups = parts_of(plan, alerts, restarts) if observed.words.are_of_market else ()
    fetch = HdrCounts.of_status(observed.received.fetch_histogram)
    causes = causes_of(alerts, events, groups, fetch, asked=observed.words.asked)
    return replace(causes, saturation=_saturation(seen, observed.words.asked)) if causes and seen else causes


def _saturation(seen: Seen, asked: str) -> str:
    """What it means that hardly a CPU was idle; empty if some were, or if the processes are on other machines."""
    cpus = {name: seen.measured(name, "cpus").values for name in ("machine", *seen.components)}
    used = {name: float(np.median(values)) for name, values in cpus.items() if len(values)}
    if len(used) < 2 or (in_use := used.pop("machine", 0.0)) < _SATURATED * seen.cores:
        return ""
    used["others"] = max(0.0, in_use - sum(used.values()))
    most = ", ".join(f"{name} {used[name]:.2f}" for name in sorted(used, key=lambda name: -used[name])[:4])
    text = f"the machine was saturated: half of the time {in_use:.2f} of its {seen.cores} CPUs or more were in use"
    return f"{text} ({most}), so every {asked} may have waited for one: try fewer messages a second, or more cores"


def causes_of(
    alerts: Alerts, events: Sequence[Event], groups: Sequence[Groups] = (), fetch: HdrCounts | None = None, *,
    asked: str = "order",
) -> Causes | None:  # fmt: skip
    """What explains the slowest 1% of the orders, at least 20 of them; of fewer than 200 orders nothing is said.

    An order is laid to what it met for at least half of its excess over the median, or to a stage in which it and its
    neighbours were late for as long, or to a group that has more of the tail than chance gives. Of several that explain
    about as much, the first of KINDS counts. alerts: the first of each order; fetch: how long alerts lay at the broker;
    asked: what the sentence calls an order.
    """
    if not (count := len(alerts)):
        return None
    latency_us = alerts.received_us - alerts.intended_us
    places, median_us = np.argsort(-latency_us, kind="stable")[: max(_TAIL_MIN, count // 100)], np.median(latency_us)
    # Of a system that does not tell when it has read, all is one stage.
    stages = {stage: us for stage, us in stages_us(alerts).items() if stage != "ingest" or us.any()}
    tail = _Tail(alerts, events, groups, fetch or HdrCounts(), stages, places, (latency_us[places] - median_us) / 2)
    times = float(np.median(latency_us[places]) / max(median_us, 1))
    stands_out = count >= _ORDERS_MIN and median_us > 0 and times > _QUIET_TIMES
    left, met, shares = np.full(len(places), stands_out), np.zeros(count, np.bool_), []
    for kinds in _ROUNDS if stands_out else ():
        while some := [share for kind in kinds if (share := tail.explained(kind, left)) is not None]:
            most = max(of.sum() for _, _, of, _ in some)
            shares.append(chosen := next(share for share in some if share[2].sum() >= 0.8 * most))
            left, met = left & ~chosen[2], met | chosen[3]
    shares.sort(key=lambda share: -share[2].sum())
    found = [
        {"kind": kind, "text": text, "orders": int(of.sum()), "share": float(of.mean())}
        | {"stage_shares": tail.spent(of), "advice": KINDS[kind][2]}
        for kind, text, of, _ in shares
    ]
    else_p99_ns = latency_summary_ns(HdrCounts(latency_us[~met]))["p99"] if found else None
    who = f"the slowest {len(places) / count:.0%} ({len(places):,} {asked}s)"
    if count < _ORDERS_MIN:
        sentence = f"{count:,} {asked}s are too few to tell what made the slowest of them slow"
    elif median_us <= 0:
        sentence = f"nothing can be told: most {asked}s were received before they were due"
    elif not stands_out:
        sentence = f"nothing stands out: half of {who} lie within {times:.1f} times the median"
    else:
        spent = tail.spent(shares[0][2] if shares else left)
        stage = max(spent, key=lambda stage: spent[stage])
        parts = [f"{'met' if KINDS[it[0]][0] else 'are on'} {it[1]} ({it[2].mean():.0%} of them)" for it in shares]
        what = ", and ".join(parts) or "met nothing that explains them"
        sentence = f"{who} {what}: {stage.replace('_', ' ')} took {spent[stage]:.0%} of their time"
        sentence += "" if else_p99_ns is None else f"; else p99 is {else_p99_ns / 1e6:,.0f} ms"
    told = {"orders": len(places), "least_ns": int(latency_us[places].min()) * 1000, "else_p99_ns": else_p99_ns}
    lanes = sorted(events, key=lambda event: -event.duration_ms)[:_EVENTS_MAX]
    lanes.sort(key=lambda event: event.begin_unix_ms)
    return Causes(sentence, told, found, float(left.mean()), *tail.worst(shares), lanes)


def _spans_us(events: Sequence[Event], kind: str, after_us: int) -> Int64s:
    """Begin and end of each time with an event of the kind, and as long again for what piled up, at most so long."""
    if not (ours := sorted((it.begin_unix_ms, it.duration_ms) for it in events if it.kind == kind)):
        return np.zeros(0, np.int64)
    begin_us, long_us = (np.array(ours) * 1000).astype(np.int64).T
    end_us = np.maximum.accumulate(begin_us + long_us + np.minimum(long_us, after_us))
    apart = begin_us[1:] > end_us[:-1]
    return np.stack([begin_us[np.append(True, apart)], end_us[np.append(apart, True)]], axis=1).reshape(-1)


def _shared_us(spans_us: Int64s, begin_us: Int64s, end_us: Int64s) -> Floats:
    """For how long each time meets the spans."""
    if not len(spans_us):
        return np.zeros(len(begin_us))
    before_us = np.cumsum(np.diff(spans_us, prepend=spans_us[0]) * (np.arange(len(spans_us)) % 2))
    return np.interp(end_us, spans_us, before_us) - np.interp(begin_us, spans_us, before_us)


@dataclass(frozen=True, slots=True)
class _Tail:
    """The slowest orders, slowest first: their places among all, and half of each one's excess over the median, us."""

    alerts: Alerts
    events: Sequence[Event]
    groups: Sequence[Groups]
    fetch: HdrCounts
    stages: Mapping[str, Int64s]
    places: Int64s
    half_us: Floats

    def explained(self, kind: str, left: Bools) -> _Share | None:
        """What the kind explains of those that are left; None if it is too little, or no more than chance gives."""
        if kind == "partition":
            return self._by_group(left) if left.mean() >= _SHARE_MIN else None
        tail, stage = self.alerts[self.places], _STAGE_OF.get(kind)
        spans_us = _spans_us(self.events, kind, _AFTER_US.get(kind, 0))
        if kind not in ("machine", "pressure", "sender"):  # it waited for its send before it came to any of these
            left = left & ~self._is_late("send_lag")
        meets = _shared_us(spans_us, tail.intended_us, tail.received_us) >= self.half_us
        of = left & (self._is_late(stage) if stage else meets)
        if (share := of.mean()) < _SHARE_MIN:
            return None
        if stage:
            least_us = int(self.half_us[of].min())
            lay = self.fetch.counts[int(bucket_indices(np.array([least_us]))[0]) :].sum()
            if kind == "receiver" and lay + (of & meets).sum() < of.sum() / 2:
                return None  # they neither lay at the broker for as long, nor met a silence of it
            times = 1 + int((np.diff(np.sort(tail.received_us[of])) > 1_000_000).sum())
            met = self.stages[stage] - np.median(self.stages[stage]) >= least_us
        else:
            some, first_us = np.flatnonzero(left)[:: 1 + int(left.sum()) // 1000], self.alerts.intended_us.min()
            run_us = max(1, int(self.alerts.received_us.max() - first_us))
            shifts_us = np.random.default_rng(1).integers(0, run_us, (200, 1))
            moved_us = first_us + (tail.intended_us[some] - first_us + shifts_us) % run_us
            shared_us = _shared_us(spans_us, moved_us, moved_us + (tail.received_us - tail.intended_us)[some])
            by_chance = (shared_us >= self.half_us[some]).mean(axis=1) * left.mean()
            # Pressure fills whole seconds, so that a few slow moments within them are no sign of it.
            expected = np.quantile(by_chance, 0.95) if kind == "pressure" else np.mean(by_chance)
            if share - expected < max(_SHARE_MIN, share / 3):
                return None
            begins_us, ends_us = tail.intended_us[of], tail.received_us[of]
            times = sum(bool(((begins_us < end) & (ends_us > begin)).any()) for begin, end in spans_us.reshape(-1, 2))
            all_us = _spans_us(self.events, kind, 0 if kind == "pressure" else 10**12)
            met = _shared_us(all_us, self.alerts.intended_us, self.alerts.received_us) > 0
        return kind, f"{times:,} {KINDS[kind][times > 1]}", of, met

    def _is_late(self, stage: str) -> Bools:
        """Those whose time in a stage, and that of two of their four neighbours, was longer by half of their excess."""
        stage_us, ends_us = self.stages[stage], self.alerts.received_us if stage == "delivery" else self.alerts.sent_us
        order = np.argsort(ends_us, kind="stable")
        at = np.argsort(order)[self.places]
        beside = np.clip(at[:, None] + np.arange(-2, 3), 0, len(order) - 1)
        late_us = stage_us[order][beside] - np.median(stage_us)
        late: Bools = np.minimum(np.median(late_us, axis=1), late_us[:, 2]) >= self.half_us
        return late

    def _by_group(self, left: Bools) -> _Share | None:
        """Those of the partition or key that has most of them against its share of all orders, and is itself slow.

        Chernoff's bound on the binomial tail: Hoeffding, Probability inequalities, JASA 58 (1963), theorem 1.
        """
        best, found, count = 0.0, None, left.sum()
        for groups in self.groups:
            of = np.unique(groups.of, return_inverse=True)[1]
            share = np.bincount(of) / (len(of) + 1)
            part = np.clip(np.bincount(of[self.places[left]], minlength=len(share)) / count, 1e-9, 1 - 1e-9)
            gain = count * (part * np.log(part / share) + (1 - part) * np.log((1 - part) / (1 - share)))
            at = int(np.where(part > share, gain, -1.0).argmax())
            if part[at] * count / len(left) >= _SHARE_MIN and gain[at] > max(best, np.log(len(share) / _CHANCE_MAX)):
                best, found = gain[at], (groups.name(int(np.argmax(of == at))), of == at)
        if found is None:
            return None
        text, met = found
        latency_us = self.alerts.received_us - self.alerts.intended_us
        own, others = (np.percentile(latency_us[which], (50, 99)) for which in (met, ~met))
        kind = "key" if text.startswith("the key") else "partition"
        return (kind, text, left & met[self.places], met) if (own >= _FAR_ABOVE * others).any() else None

    def spent(self, of: Bools) -> dict[str, float]:
        """Of the time of those orders of the tail the share of each stage."""
        spent_us = {stage: max(0.0, float(us[self.places[of]].sum())) for stage, us in self.stages.items()}
        return {stage: us / (sum(spent_us.values()) or 1.0) for stage, us in spent_us.items()}

    def worst(self, shares: Sequence[_Share]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The seconds of the slowest orders, worst first, with the cause of each, and the slowest orders of each."""
        tail, second_of = self.alerts[self.places], self.alerts.intended_us[self.places] // 1_000_000
        seconds, orders = list[dict[str, Any]](), list[dict[str, Any]]()
        for at in np.sort(np.unique(second_of, return_index=True)[1])[:_SECONDS_MAX].tolist():
            theirs, begin_us, end_us = second_of == second_of[at], tail.intended_us[at], tail.received_us[at]
            kind, text = next(((kind, text) for kind, text, of, _ in shares if of[at]), (None, ""))
            for it in sorted((it for it in self.events if it.kind == kind), key=lambda event: event.duration_ms):
                if it.begin_unix_ms * 1000 < end_us and (it.begin_unix_ms + it.duration_ms) * 1000 > begin_us:
                    text = f"{it.text}, {it.duration_ms:,.0f} ms"  # at last the longest that it met
            second = {"begin_unix_ms": int(second_of[at]) * 1000, "max_ns": int(end_us - begin_us) * 1000}
            seconds.append({**second, "orders": int(theirs.sum()), "kind": kind, "text": text})
            for each in np.flatnonzero(theirs)[:_EXEMPLARS_MAX].tolist():
                stamps = {f"{of}_unix_us": int(getattr(tail, f"{name}_us")[each]) for of, name in _STAMPS.items()}
                unknown = {} if "ingest" in self.stages else {"ingested_unix_us": None}
                symbol = tail.symbol[each].decode("latin-1").strip()
                orders.append({"order_id": int(tail.order_id[each]), "symbol": symbol} | stamps | unknown)
        return seconds, orders
