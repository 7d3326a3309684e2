"""Judges a simulated run: the product's own verdict on it, and what the world knows and no process can."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from market_spread.common.kafka.client import Partition
from market_spread.common.telemetry.recorder import exact_of
from market_spread.common.wire.codec import decode_ledger
from market_spread.common.wire.layout import ALERT, DECISION, NBBO, ORDER, WARM_UP_ORDER_ID_MIN, Layout
from market_spread.controller.analysis.evidence import Assessment, Conclusion, Criterion, Evidence, Verdict, Verdicts
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.analysis.validity import push_gaps, validity
from market_spread.controller.analysis.verdict import conservation, correctness
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.model.series import CounterSeries, HistogramSeries
from market_spread.metrics_aggregator.model.store import Store
from market_spread.v1.metrics_pb2 import PushRequest
from tests.simulation.faults import Fault
from tests.simulation.network import PushId
from tests.simulation.run import RUN_ID, Simulation, Wrong, plan, simulated

# What voids a run that nothing is wrong with, if there was such a fault.
_VOIDED_BY_BROKER = {Criterion.GENERATOR_QUEUE, Criterion.UNDECIDED}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a seed. problems: sentences, none if all is as it should be."""

    seed: int
    faults: tuple[Fault, ...]
    verdict: Verdict | None
    problems: tuple[str, ...]
    history: tuple[str, ...]

    def text(self) -> str:
        """The whole history, for people."""
        said = [f"seed {self.seed}, {len(self.faults)} faults", *(f"  {fault}" for fault in self.faults), *self.history]
        return "\n".join([*said, f"verdict: {self.verdict}", *(f"PROBLEM: {problem}" for problem in self.problems)])


def outcome(seed: int, faults: tuple[Fault, ...], wrong: Wrong | None = None) -> Outcome:
    """Carry a seed out under these faults, and judge it."""
    with simulated(seed, faults, wrong or Wrong()) as it:
        concluded = _conclusion(it.observed) if it.observed else None
        if concluded is not None:
            it.world.note("controller", f"{concluded.verdict}: {'; '.join(concluded.reasons) or 'nothing is wrong'}")
        problems = [*it.world.problems, *_problems(it, concluded)]
        verdict = concluded.verdict if concluded else None
        return Outcome(seed, faults, verdict, tuple(problems), tuple(it.world.history))


def _conclusion(observed: Observed) -> Conclusion:
    """The verdict, by all but the machine and the latencies: these are not simulated."""
    not_looked_at = Evidence(Criterion.RIG_STALLED, None, "not evaluated: silences are not simulated")
    return Verdicts(
        correct=Assessment(tuple(correctness(observed, None)), known=observed.judgement is not None),
        valid=Assessment(tuple(validity(plan(), observed, None, not_looked_at, None))),
    ).conclude()


def _problems(it: Simulation, concluded: Conclusion | None) -> Iterator[str]:
    if concluded is None or it.observed is None:
        yield "the controller came to no verdict"
        return
    yield from _of_verdict(it, it.observed, concluded)
    lost = list(_lost(it, it.observed))
    if concluded.verdict is Verdict.PASSED:
        yield from lost
    yield from _of_topics(it)
    yield from _of_ledgers(it)
    yield from _of_pushes(it)


def _of_verdict(it: Simulation, observed: Observed, concluded: Conclusion) -> Iterator[str]:
    """Nothing is blamed that is right, and a void run has a reason among the faults."""
    reasons = "; ".join(concluded.reasons)
    if concluded.verdict is Verdict.FAILED:
        yield f"the run failed: {reasons}"
    if concluded.verdict is Verdict.VOID:
        excused = set(_VOIDED_BY_BROKER) if it.faults else set()
        names = {"receiver": "the receiver", "sender": "the sender"}
        if any(names.get(fault.target, "-") in str(observed.error) for fault in it.faults):
            excused.add(Criterion.BROKE_OFF)
        if not set(concluded.decisive) <= excused:
            yield f"the run is void without cause: {reasons}"
    if concluded.verdict is Verdict.PASSED and observed.is_all_counted and conservation(observed)["in_flight"]:
        yield f"the run passed, and its conservation is {conservation(observed)}"


def _lost(it: Simulation, observed: Observed) -> Iterator[str]:
    """What is truly lost of a run's orders, by the input alone."""
    due = set(_input(observed)["orders"])
    decided = decode_ledger(observed.decisions_ledger, DECISION).rows
    known = Counter(int(row.tobytes()[1:11]) for row in decided)
    if missing := [order_id for order_id in due if not known[order_id]]:
        yield f"{len(missing)} orders have no decision in the ledger, and the run passed"
    rejected = {int(row.tobytes()[1:11]) for row in decided if row.tobytes().endswith(b"R")}
    alerted = {int(row.tobytes()[1:11]) for row in decode_ledger(observed.ledger, ALERT).rows}
    if not observed.restarts and (missing := sorted(rejected ^ alerted)):
        yield f"{len(missing)} orders have an alert or a decision that rejects, and not both, and the run passed"
    if unknown := [order_id for order_id in known if order_id not in due and order_id < WARM_UP_ORDER_ID_MIN]:
        yield f"{len(unknown)} decisions are on orders that were never sent, and the run passed"


def _input(observed: Observed) -> dict[str, list[int]]:
    """Order ids and quote sequences of the loads that were begun."""
    found: dict[str, list[int]] = {"orders": [], "quotes": []}
    for phase, load in plan().opened(observed.starts_unix_ns).items():
        for block in load.blocks():
            found["quotes"] += [int(row.tobytes()[43:55]) for row in block.quotes.rows]
            if phase == "measured":
                found["orders"] += [int(row.tobytes()[14:24]) for row in block.orders.rows]
    return found


def _of_topics(it: Simulation) -> Iterator[str]:
    """Each message of the input stands in its topic once; all of them, unless the sender died."""
    observed = it.observed
    assert observed is not None
    sent = {"nbbo": _messages(it, "nbbo", NBBO, 43, 55), "orders": _messages(it, "orders", ORDER, 14, 24)}
    for topic, counts in sent.items():
        if twice := sum(count > 1 for count in counts.values()):
            yield f"{twice} messages stand in {topic} more than once"
    if not it.environment.sender_restarts and it.world.processes["sender"].service is not None:
        due = _input(observed)
        for topic, numbers in (("orders", due["orders"]), ("nbbo", due["quotes"])):
            if missing := sum(number not in sent[topic] for number in numbers):
                yield f"{missing} messages are not in {topic}"


def _messages(it: Simulation, topic: str, layout: Layout, begin: int, end: int) -> Counter[int]:
    counts: Counter[int] = Counter()
    for (of, _), log in it.broker.logs.items():
        if of == topic:
            for record in log:
                value = record.value
                counts.update(int(value[at + begin : at + end]) for at in range(0, len(value), layout.width))
    return counts


def _of_ledgers(it: Simulation) -> Iterator[str]:
    """A ledger has each record of its topic once, as it is there."""
    if it.receiving is None:
        return
    for name, layout in (("alerts", ALERT), ("decisions", DECISION)):
        path = it.folder / "ledgers" / RUN_ID / f"{name}.ledger"
        lines = decode_ledger(path.read_bytes(), layout)
        places = list(zip(lines.partitions.tolist(), lines.offsets.tolist(), strict=True))
        counts = Counter(places)
        if twice := sum(count > 1 for count in counts.values()):
            yield f"{twice} records of {name} stand in the ledger more than once"
        logs: dict[Partition, list[bytes]] = {
            place: [record.value for record in log] for place, log in it.broker.logs.items() if place[0] == name
        }
        if missing := sum(
            (place[1], offset) not in counts for place, log in logs.items() for offset in range(len(log))
        ):
            yield f"{missing} records of {name} are not in the ledger"
        for (partition, offset), row in zip(places, lines.rows, strict=True):
            log = logs[name, partition]
            if offset >= len(log) or log[offset] != row.tobytes():
                yield f"the ledger of {name} has another record than the topic at {partition}/{offset}"
                break


def _of_pushes(it: Simulation) -> Iterator[str]:
    """Each push that counts is written down once and as it was cut; what is not there was dropped, and is counted."""
    files = RunFiles(it.folder / "runs")
    entries = [entry for entry in files.entries(RUN_ID) if isinstance(entry, PushRequest)]
    counts = Counter(_id_of(entry) for entry in entries)
    if twice := sum(count > 1 for count in counts.values()):
        yield f"{twice} pushes are written down more than once"
    taken = {push_id: push for push_id, push in it.taken.items() if push.run_id == RUN_ID}
    if unknown := [entry for entry in entries if not _is_as_cut(entry, taken.get(_id_of(entry)))]:
        yield f"{len(unknown)} pushes are written down that were not cut so"
    if gone := [push_id for push_id in it.network.acknowledged if push_id in taken and push_id not in counts]:
        yield f"{len(gone)} pushes were acknowledged and are not written down"
    dropped = 0
    for pusher in it.pushers.values():
        delivery = pusher.delivery
        if delivery.pending:
            yield f"{delivery.pending} pushes were kept to the end"
        for epoch_ns, lost in delivery._dropped.items():
            dropped += lost if any(push_id[1] == epoch_ns for push_id in taken) else 0
        if delivery.refused:
            yield f"{delivery.refused} pushes were refused"
    living = {_id_of(push)[:2] for push in taken.values()} & it.living
    left_out = sum(push_id[:2] in living and push_id not in counts for push_id in taken)
    if left_out != dropped:
        yield f"{left_out} pushes of processes that lived to the end are not written down, and {dropped} were dropped"
    yield from _of_totals(it, entries)
    pushes, missing, _ = push_gaps(files.path(RUN_ID))
    if pushes != len(entries) or missing < dropped:
        yield f"the run is told of {pushes} pushes with {missing} missing; there are {len(entries)}, {dropped} dropped"


def _of_totals(it: Simulation, entries: list[PushRequest]) -> Iterator[str]:
    """What the aggregator shows, and shows when it is started again, is the sum of what is written down."""
    values: Counter[tuple[str, str, str]] = Counter()
    counters: dict[tuple[str, str, str], dict[int, float]] = {}
    for entry in entries:
        for item in entry.histograms:
            values[item.key.name, str(sorted(item.key.labels.items())), entry.source] += item.count
        for sample in entry.counters:
            key = (sample.key.name, str(sorted(sample.key.labels.items())), entry.source)
            counters.setdefault(key, {})[entry.epoch_unix_ns] = sample.value
    again = Store(clock=it.clock, log=RunFiles(it.folder / "runs"))
    for store, when in ((it.store, "shows"), (again, "shows when it is started again")):
        assert store is not None
        series = store.restore(RUN_ID).series.items()
        shown = {(of.name, str(list(of.labels)), of.source): its for of, its in series}
        for key, its in shown.items():
            if isinstance(its, HistogramSeries) and its.merged.count != values[key]:
                yield f"the aggregator {when} {its.merged.count} values of {key}, and {values[key]} were pushed"
            if isinstance(its, CounterSeries) and its.value != sum(counters[key].values()):
                yield f"the aggregator {when} {key} as {its.value}, and {sum(counters[key].values())} was pushed"
        if missing := (values.keys() | counters.keys()) - shown.keys():
            yield f"the aggregator {when} nothing of {sorted(missing)[0]}"


def _is_as_cut(entry: PushRequest, cut: PushRequest | None) -> bool:
    if cut is None:
        return False
    found = {(item.key.name, *sorted(item.key.labels.items())): exact_of(item) for item in entry.histograms}
    right = {(item.key.name, *sorted(item.key.labels.items())): exact_of(item) for item in cut.histograms}
    counted = {(item.key.name, *sorted(item.key.labels.items())): item.value for item in entry.counters}
    return found == right and all(
        counted.get((item.key.name, *sorted(item.key.labels.items()))) == item.value for item in cut.counters
    )


def _id_of(push: PushRequest) -> PushId:
    return push.source, push.epoch_unix_ns, push.sequence
