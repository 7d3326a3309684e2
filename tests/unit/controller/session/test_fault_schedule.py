"""Planned faults come at their times, and none outlives its run."""

from typing import cast

from market_spread.controller.deploy.base import Environment
from market_spread.controller.plan.faults import Fault
from market_spread.controller.session.fault_schedule import FaultSchedule
from tests.support.clock import ManualClock

BEGIN_NS = 500_000_000
STOP = Fault(at_s=10, do="stop", target="job", for_s=5)
KILL = Fault(at_s=12, do="kill", target="receiver")


class Processes:
    """Notes what is done to them, and takes a while for it."""

    def __init__(self, clock: ManualClock, takes_ns: int = 0) -> None:
        self.done: list[tuple[str, Fault]] = []
        self._clock, self._takes_ns = clock, takes_ns

    def strike(self, fault: Fault) -> None:
        self.done.append(("strike", fault))
        self._clock.advance_ns(self._takes_ns)

    def heal(self, fault: Fault) -> None:
        self.done.append(("heal", fault))


def scheduled(clock: ManualClock, processes: Processes, *faults: Fault) -> FaultSchedule:
    schedule = FaultSchedule(faults, cast(Environment, processes), clock=clock)
    schedule.start(clock.unix_ns() + BEGIN_NS, threaded=False)
    return schedule


def test_each_begins_and_ends_at_its_time() -> None:
    clock = ManualClock()
    processes = Processes(clock)
    schedule, begun_ns = scheduled(clock, processes, KILL, STOP), clock.unix_ns()

    seen: list[tuple[float, str, Fault]] = []
    for tenth in range(160):
        schedule.step()
        seen += [(tenth / 10, *each) for each in processes.done[len(seen) :]]
        clock.advance_ns(100_000_000)

    assert seen == [
        (10.5, "strike", STOP),
        (12.5, "strike", KILL),
        (12.5, "heal", KILL),
        (15.5, "heal", STOP),
    ]
    killed, stopped = schedule.events
    assert (stopped.fault, killed.fault) == (STOP, KILL)
    assert (stopped.began_unix_ns - begun_ns, stopped.ended_unix_ns - begun_ns) == (10_500_000_000, 15_500_000_000)
    assert killed.ended_unix_ns == killed.began_unix_ns


def test_what_has_begun_is_told_before_it_is_over() -> None:
    clock = ManualClock()
    schedule, begun_ns = scheduled(clock, Processes(clock, takes_ns=3_000_000_000), STOP, KILL), clock.unix_ns()
    schedule.step()
    assert schedule.begun == []

    clock.advance_ns(10_600_000_000)
    schedule.step()

    assert [(unix_ns - begun_ns, fault) for unix_ns, fault in schedule.begun] == [
        (10_600_000_000, STOP),
        (13_600_000_000, KILL),
    ]
    assert [event.fault for event in schedule.events] == [KILL]


def test_who_waits_is_told_for_how_long() -> None:
    clock = ManualClock()
    schedule = scheduled(clock, Processes(clock), STOP)

    assert schedule.step() == 0.25
    clock.advance_ns(10_400_000_000)
    assert round(schedule.step(), 3) == 0.1
    clock.advance_ns(100_000_000)
    schedule.step()
    clock.advance_ns(4_900_000_000)
    assert round(schedule.step(), 3) == 0.1


def test_what_takes_a_while_to_end_stays_down_for_as_long_as_is_planned() -> None:
    clock = ManualClock()
    processes = Processes(clock, takes_ns=2_000_000_000)
    schedule = scheduled(clock, processes, Fault(at_s=1, do="restart", target="broker", for_s=3))
    clock.advance_ns(1_500_000_000)
    schedule.step()  # until 3.5 s
    clock.advance_ns(2_900_000_000)

    schedule.step()
    assert [what for what, _ in processes.done] == ["strike"]
    clock.advance_ns(200_000_000)
    schedule.step()

    assert [what for what, _ in processes.done] == ["strike", "heal"]


def test_a_run_that_breaks_off_leaves_nothing_stopped_and_begins_nothing_more() -> None:
    clock = ManualClock()
    processes = Processes(clock)
    schedule = scheduled(clock, processes, STOP, KILL)
    clock.advance_ns(11_000_000_000)
    schedule.step()

    schedule.close()
    clock.advance_ns(10_000_000_000)
    schedule.step()
    schedule.close()

    assert processes.done == [("strike", STOP), ("heal", STOP)]
    (event,) = schedule.events
    assert event.ended_unix_ns - event.began_unix_ns == 0  # it was stopped at 11 s of the clock, and ended then
