"""CPU a message is of the judged part of the load, with time and messages of the same moment."""

import dataclasses
import threading
from datetime import UTC, datetime
from typing import cast

from market_spread.common.hdr.histogram import HdrCounts
from market_spread.controller.analysis.observed import CpuReading, Observed, cpu_per_message, cpu_us_by_look
from market_spread.controller.analysis.validity import generator_queue
from market_spread.controller.deploy.base import Environment
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.session.run import Run
from market_spread.v1.control_pb2 import JobStatusResponse, SenderStatusResponse
from market_spread.v1.limits_pb2 import RunLimits
from tests.support.clock import ManualClock
from tests.support.paths import QUICK

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
# CPU a message of a real run, by 5 s.
BY_5_S = (49, 37, 26, 27, 21, 23, 18, 23, 22, 22, 19, 23)


def look(second: int, messages: int, cpu_us: int, *, executors_us: int | None = 0, restarts: int = 0) -> CpuReading:
    return CpuReading(START + second * SECOND, messages, messages, cpu_us, executors_us, messages // 2, restarts)


def looks_of(by_5_s: tuple[int, ...], *, rate: int = 20_000) -> list[CpuReading]:
    used = [0]
    for each in by_5_s:
        used.append(used[-1] + 5 * rate * each)
    return [look(5 * i, 5 * i * rate, total) for i, total in enumerate(used)]


def test_what_is_used_while_settling_is_not_in_it() -> None:
    looks = looks_of(BY_5_S)

    whole_us, *_ = cpu_per_message(looks)
    settled_us, half_us, broker_us = cpu_per_message(looks[2:])

    assert whole_us == sum(BY_5_S) / 12
    assert settled_us == sum(BY_5_S[2:]) / 10
    assert half_us == sum(BY_5_S[7:]) / 5
    assert broker_us == 0.5
    assert cpu_us_by_look(looks) == ([float(each) for each in BY_5_S], [1_700_000_000.0 + 5 * i for i in range(1, 13)])


def test_executors_are_in_it() -> None:
    looks = [dataclasses.replace(each, executors_cpu_us=each.messages_processed) for each in looks_of((20, 20, 20))]

    assert cpu_per_message(looks)[0] == 21


def test_it_is_not_known_after_a_restart_without_executors_or_with_two_looks() -> None:
    looks = looks_of((20, 20, 20))
    silent = dataclasses.replace(looks[-1], executors_cpu_us=None)
    restarted = dataclasses.replace(looks[-1], restarts=1)
    gone = dataclasses.replace(looks[-1], executors_cpu_us=-1)

    assert cpu_per_message(looks[:2]) == (None, None, None)
    for last in (silent, restarted, gone):
        assert cpu_per_message([*looks[:-1], last]) == (None, None, 0.5)


class Using:
    """An environment whose broker uses 0.3 CPUs."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def broker_cpu_us(self) -> int:
        return self._clock.monotonic_ns() * 3 // 10_000

    def executors_cpu_us(self) -> int:
        return 0

    def stolen_cpu_s(self) -> None:
        return None


def test_looks_are_taken_from_settling_to_the_end_at_the_moments_of_counts() -> None:
    """The count of 20,000/s comes once a second and is 0.9 s old when it is seen; 30 us a message, 60 until 10 s."""
    clock = ManualClock(START)
    plan = plan_of_workload(read_workload(QUICK))
    settle_s, duration_s = round(plan.workload.warm_up.settle_s), round(plan.duration_s)
    run = Run(
        plan,
        cast(Environment, Using(clock)),
        run_id="r",
        clock=clock,
        show=lambda _: None,
        interrupted=threading.Event(),
    )
    observed = Observed(started=datetime(2026, 1, 1, tzinfo=UTC), starts_unix_ns={"measured": START})

    def used_us(second: int) -> int:
        return 20_000 * (30 * second + 30 * min(second, settle_s))

    for poll in range(4 * duration_s + 20):
        second = max(0, min(poll // 4, duration_s + 3) - 1)
        observed.job = JobStatusResponse(
            counted_unix_ns=START + second * SECOND,
            messages_processed=20_000 * min(second, duration_s),
            counted_cpu_us=used_us(second),
            cpu_us=used_us(second) + 1_000 * (poll * 7 % 900),  # of the moment at which it was asked
        )
        observed.sent = SenderStatusResponse(messages_sent=5_000 * poll)
        run._look_at_cpu(observed)
        clock.advance_ns(SECOND // 4)

    assert observed.looks[0].unix_ns == START + settle_s * SECOND
    assert observed.looks[-1].unix_ns == START + duration_s * SECOND
    assert len({each.unix_ns for each in observed.looks}) == len(observed.looks) <= 121
    whole_us, half_us, broker_us = cpu_per_message(observed.looks)
    assert (whole_us, half_us) == (30, 30)
    assert broker_us is not None
    assert abs(broker_us - 15) < 0.01


def histogram(*values_us: int) -> HdrCounts:
    counts = HdrCounts()
    for value_us in values_us:
        counts.merge(_one(value_us))
    return counts


def _one(value_us: int) -> HdrCounts:
    counts = HdrCounts()
    counts.record_few([value_us])
    return counts


def test_a_queue_in_the_generator_is_told() -> None:
    limits = RunLimits(acknowledge_p99_us_max=50_000, unacknowledged_us_max=500_000)

    quick = generator_queue(histogram(*[1_700] * 999, 99_800), 99_800, limits)
    slow = generator_queue(histogram(*[1_700] * 90, *[59_000] * 10), 59_000, limits)
    stuck = generator_queue(histogram(*[1_700] * 1000), 59_000_000, limits)

    assert (quick.holds, slow.holds, stuck.holds) == (True, False, False)
    assert slow.value is not None
    assert 58 < slow.value < 60
    assert stuck.value == 59_000
    assert stuck.text.startswith("the load waited in the generator or for the broker, not for the job: ")
    assert generator_queue(HdrCounts(), 0, limits).holds is None
