"""Simulated runs whose slow orders have a known cause, among events that do no harm."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.controller.analysis.causes import Causes, Event, causes_of
from market_spread.controller.analysis.stalls import Groups
from market_spread.controller.statistics.intervals import Floats
from market_spread.loadgen.columns import Alerts, Bools

T0_US = 1_700_000_000_000_000
SECONDS, ORDERS_PER_S = 60, 183
KEYS, HOT_KEYS, PARTITIONS = 100, 20, 4
STAGES = ("send_lag", "ingest", "compute", "delivery")


@dataclass(eq=False)
class Simulated:
    """A run as it grows: the stages of each order, microseconds, and what happened.

    fetch: whether what is late in delivery lay at the broker.
    """

    seed: int
    spread: float = 0.7
    fetch: bool = True
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.drawn = np.random.default_rng(self.seed)
        count = SECONDS * ORDERS_PER_S
        self.intended_us = T0_US + np.sort(self.drawn.uniform(0, SECONDS * 1e6, count)).astype(np.int64)
        is_hot = self.drawn.uniform(size=count) < 0.79
        hot, cold = self.drawn.integers(0, HOT_KEYS, count), self.drawn.integers(HOT_KEYS, KEYS, count)
        self.key = np.where(is_hot, hot, cold)
        medians_us = {"ingest": 2_500, "compute": 900, "delivery": 1_200}
        self.stages = {"send_lag": self.drawn.uniform(0, 2_000, count)}
        for stage, median_us in medians_us.items():
            self.stages[stage] = median_us * self.drawn.lognormal(0, self.spread, count)

    def at(self) -> int:
        """Some moment of the run."""
        return T0_US + int(self.drawn.uniform(0.02, 0.9) * SECONDS * 1e6)

    def stop(self, begin_us: int, length_us: float, stage: str, of: Bools | None = None) -> None:
        """Nothing passes the stage for a while; what piled up is worked off in a third of that time."""
        before = [self.stages[name] for name in STAGES[: STAGES.index(stage)]]
        came_us = self.intended_us + sum(before, np.zeros(len(self.intended_us)))
        off_us = begin_us + length_us + (came_us - begin_us) * 0.25
        waits = (came_us >= begin_us) & (came_us < off_us)
        if of is not None:
            waits &= of
        self.stages[stage] = self.stages[stage] + np.where(waits, off_us - came_us, 0.0)

    def tell(self, kind: str, begin_us: int, length_us: float) -> None:
        self.events.append(Event(kind, begin_us / 1000, length_us / 1000, f"{kind} at {begin_us}"))

    def alerts(self) -> Alerts:
        times = np.cumsum([self.stages[name] for name in STAGES], axis=0).astype(np.int64) + self.intended_us
        zeros = np.zeros(len(self.key), np.int64)
        alerts = Alerts(
            order_id=np.arange(len(self.key)), symbol=np.array([f"/K{key:04d}".encode() for key in self.key]),
            side=np.full(len(self.key), ord("B"), np.uint8), account=zeros, quantity=zeros, price=zeros,
            intended_us=self.intended_us, bid=zeros, offer=zeros, quote_sequence=zeros,
            sent_us=times[0], read_us=times[1], emitted_us=times[2], received_us=times[3],
        )  # fmt: skip
        return alerts[np.argsort(alerts.received_us, kind="stable")]

    def causes(self) -> Causes:
        alerts = self.alerts()
        key = np.array([int(symbol[2:]) for symbol in alerts.symbol.tolist()])
        partition, whole = key % PARTITIONS, np.zeros(len(key), np.int64)
        groups = [
            Groups(partition, whole == 0, whole, lambda at: f"partition {partition[at]} of the job's state"),
            Groups(key, whole == 0, whole, lambda at: f"the key {alerts.symbol[at].decode()}"),
        ]
        lay_us = (alerts.received_us - alerts.emitted_us) if self.fetch else whole + 500
        found = causes_of(alerts, self.events, groups, HdrCounts(lay_us))
        assert found is not None
        return found


def harmless(run: Simulated) -> None:
    """What every run has, and what has slowed nothing down: boundaries, GCs of job and broker, busy seconds."""
    for number in range(SECONDS // 10):
        run.tell("boundary", T0_US + number * 10_000_000 + 4_000_000, run.drawn.uniform(55_000, 120_000))
    for _ in range(run.drawn.poisson(50)):
        run.tell("gc", run.at(), run.drawn.lognormal(2.3, 0.8) * 1_000)
    (drawn,) = run.drawn.spawn(1)
    for at_us in drawn.uniform(0, SECONDS * 1e6, drawn.poisson(30)):
        run.tell("safepoint", T0_US + int(at_us), drawn.lognormal(2.0, 0.5) * 1_000)
    for _ in range(run.drawn.poisson(3)):
        run.tell("pressure", T0_US + int(run.drawn.integers(0, SECONDS)) * 1_000_000 + 500_000, 1_000_000)
    for _ in range(run.drawn.poisson(1)):
        run.tell("broker", run.at(), run.drawn.uniform(500_000, 700_000))


def boundary(run: Simulated) -> None:
    for number in range(SECONDS // 10):
        begin_us, length_us = T0_US + number * 10_000_000 + 8_000_000, run.drawn.uniform(250_000, 500_000)
        run.tell("boundary", begin_us, length_us)
        run.stop(begin_us, length_us, "ingest")


def collection(run: Simulated) -> None:
    for _ in range(12):
        begin_us, length_us = run.at(), run.drawn.uniform(60_000, 250_000)
        run.tell("gc", begin_us, length_us)
        run.stop(begin_us, length_us, "compute")


def safepoint(run: Simulated) -> None:
    for _ in range(12):
        begin_us, length_us = run.at(), run.drawn.uniform(60_000, 250_000)
        run.tell("safepoint", begin_us, length_us)
        run.stop(begin_us, length_us, "compute")


def broker(run: Simulated) -> None:
    begin_us, length_us = run.at(), run.drawn.uniform(800_000, 5_000_000)
    run.tell("broker", begin_us - int(run.drawn.uniform(0, 250_000)), length_us + run.drawn.uniform(0, 250_000))
    run.stop(begin_us, length_us, "ingest")


def machine(run: Simulated) -> None:
    begin_us, length_us = run.at(), run.drawn.uniform(600_000, 3_000_000)
    run.tell("machine", begin_us, length_us)
    run.stop(begin_us, length_us, str(run.drawn.choice(STAGES)))


def restart(run: Simulated) -> None:
    begin_us, length_us = run.at(), run.drawn.uniform(2_000_000, 6_000_000)
    run.tell("restart", begin_us - 1_000_000, length_us + 2_000_000)
    run.stop(begin_us, length_us, "ingest")


def fault(run: Simulated) -> None:
    """A stop of the broker that was planned, so that the broker is silent as well."""
    begin_us, length_us = run.at(), run.drawn.uniform(2_000_000, 6_000_000)
    run.tell("broker", begin_us, length_us)
    run.tell("fault", begin_us, length_us)
    run.stop(begin_us, length_us, "ingest")


def sender(run: Simulated) -> None:
    for _ in range(run.drawn.integers(3, 8)):
        run.stop(run.at(), run.drawn.uniform(150_000, 600_000), "send_lag")


def receiver(run: Simulated) -> None:
    for _ in range(run.drawn.integers(3, 8)):
        run.stop(run.at(), run.drawn.uniform(150_000, 600_000), "delivery")


def delivery(run: Simulated) -> None:
    receiver(run)
    run.fetch = False


def pressure(run: Simulated) -> None:
    """A neighbour: for some seconds everything takes several times as long, and by turns far longer."""
    for second in run.drawn.choice(SECONDS, run.drawn.integers(3, 7), replace=False).tolist():
        begin_us = T0_US + second * 1_000_000 + 500_000
        run.tell("pressure", begin_us, 1_000_000)
        within = (run.intended_us >= begin_us) & (run.intended_us < begin_us + 1_000_000)
        slower = run.drawn.lognormal(2.0, 0.7, len(within))
        for stage in STAGES[1:]:
            run.stages[stage] = np.where(within, run.stages[stage] * slower, run.stages[stage])


def partition(run: Simulated) -> None:
    slow = run.key % PARTITIONS == run.drawn.integers(0, PARTITIONS)
    run.stages["compute"] = run.stages["compute"] + np.where(slow, run.drawn.exponential(20_000, len(slow)), 0.0)


def key(run: Simulated) -> None:
    slow = run.key == run.drawn.integers(0, HOT_KEYS)
    run.stages["compute"] = run.stages["compute"] + np.where(slow, run.drawn.exponential(40_000, len(slow)), 0.0)


PLANTED: dict[str, Callable[[Simulated], None]] = {
    "boundary": boundary, "gc": collection, "safepoint": safepoint, "broker": broker, "machine": machine,
    "restart": restart, "sender": sender, "receiver": receiver, "delivery": delivery, "partition": partition,
    "key": key, "pressure": pressure, "fault": fault,
}  # fmt: skip


def planted(seed: int, *kinds: str, alike: bool = False) -> Causes:
    """The causes of a run in which these are why orders were slow.

    alike: so that of the slowest 1% each of two has about half, by leaving out what one has slowed more of.
    """
    run = Simulated(seed)
    harmless(run)
    slower = []
    for kind in kinds:
        before = {stage: values.copy() for stage, values in run.stages.items()}
        PLANTED[kind](run)
        slower.append({stage: values - before[stage] for stage, values in run.stages.items()})
    if alike:
        share(run, slower)
    return run.causes()


def share(run: Simulated, slower: list[dict[str, Floats]]) -> None:
    """Scale what each has added such that as many orders as half of the tail are slower by 100 ms and more."""
    for added in slower:
        total = sum(added.values(), np.zeros(len(run.key)))
        factor = 100_000 / np.sort(total)[-len(run.key) // 200]
        for stage, values in added.items():
            run.stages[stage] = run.stages[stage] + values * (factor - 1)


def quiet(seed: int) -> Causes:
    """The causes of a run in which nothing but chance makes orders slow, in one of two more than in the other."""
    run = Simulated(seed, spread=0.5 + 0.2 * (seed % 5))
    harmless(run)
    return run.causes()


def unknown(seed: int) -> Causes:
    """The causes of a run that stands still now and then, and has no event of it."""
    run = Simulated(seed)
    harmless(run)
    for _ in range(run.drawn.integers(1, 7)):
        run.stop(run.at(), run.drawn.uniform(100_000, 600_000), "compute")
    return run.causes()
