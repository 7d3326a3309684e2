"""One driver at a time: who gets the lease, who loses it, by a clock that is moved by hand."""

from dataclasses import replace
from typing import cast

import pytest

from market_spread.common.errors import UnavailableError, WrongStateError
from market_spread.streaming.driver.kubernetes.lease import (
    DURATION_S,
    GIVE_UP_S,
    RENEW_EVERY_S,
    HeldLease,
    KubernetesLease,
    Lease,
)
from tests.support.clock import ManualClock


class Server:
    """The API server: one lease, with versions."""

    def __init__(self) -> None:
        self.lease = HeldLease("", "", {"version": 0})
        self.is_down = False

    def read(self) -> HeldLease:
        if self.is_down:
            raise UnavailableError("the API server does not answer")
        return self.lease

    def write(self, holder: str, before: HeldLease, *, unix_ns: int) -> HeldLease:
        if self.is_down:
            raise UnavailableError("the API server does not answer")
        if before.stored != self.lease.stored:
            raise WrongStateError("it has changed")
        self.lease = HeldLease(holder, str(unix_ns), {"version": self.lease.stored["version"] + 1})
        return self.lease


class Rig:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.server = Server()
        self.lost: list[str] = []

    def driver(self, identity: str) -> Lease:
        return Lease(
            cast("KubernetesLease", self.server),
            identity=identity,
            clock=self.clock,
            on_lost=lambda reason: self.lost.append(f"{identity}: {reason}"),
        )

    def pass_s(self, seconds: float) -> None:
        self.clock.advance_ns(round(seconds * 1e9))


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_free_lease_is_taken_at_once(rig: Rig) -> None:
    first = rig.driver("a")

    first.step()

    assert first.is_held
    assert rig.server.lease.holder == "a"


def test_second_driver_waits_as_long_as_the_first_renews(rig: Rig) -> None:
    first, second = rig.driver("a"), rig.driver("b")

    for _ in range(20):
        first.step()
        second.step()
        rig.pass_s(RENEW_EVERY_S)

    assert first.is_held
    assert not second.is_held


def test_lease_that_is_not_renewed_is_taken_over(rig: Rig) -> None:
    first, second = rig.driver("a"), rig.driver("b")
    first.step()
    second.step()

    rig.pass_s(DURATION_S)
    second.step()
    held_too_early = second.is_held
    rig.pass_s(0.1)
    second.step()

    assert not held_too_early
    assert second.is_held


def test_driver_gives_up_before_another_one_may_take_over(rig: Rig) -> None:
    first = rig.driver("a")
    first.step()
    rig.server.is_down = True

    while not rig.lost:
        rig.pass_s(RENEW_EVERY_S)
        first.step()
    ended_after_s = rig.clock.monotonic_ns() / 1e9

    assert rig.lost == [f"a: it was not renewed for {GIVE_UP_S:g} s"]
    assert GIVE_UP_S < ended_after_s < DURATION_S


def test_driver_that_was_overtaken_ends(rig: Rig) -> None:
    first, second = rig.driver("a"), rig.driver("b")
    first.step()
    second.step()
    rig.pass_s(DURATION_S + 1)
    second.step()

    first.step()  # its renewal meets a lease that has changed
    first.step()

    assert second.is_held
    assert rig.lost[0].startswith("a: ")


def test_same_pod_goes_on_at_once_after_a_restart_of_its_container(rig: Rig) -> None:
    rig.driver("job-0_10.0.0.1").step()

    restarted = rig.driver("job-0_10.0.0.1")
    restarted.step()

    assert restarted.is_held


def test_pod_of_the_same_name_elsewhere_waits(rig: Rig) -> None:
    rig.driver("job-0_10.0.0.1").step()

    made_again = rig.driver("job-0_10.0.0.2")
    made_again.step()

    assert not made_again.is_held


def test_change_by_a_third_party_is_no_loss(rig: Rig) -> None:
    first = rig.driver("a")
    first.step()
    rig.server.lease = replace(rig.server.lease, stored={"version": 77})

    for _ in range(3):
        rig.pass_s(RENEW_EVERY_S)
        first.step()

    assert rig.lost == []
    assert rig.server.lease.stored == {"version": 79}


def test_released_lease_is_free_for_the_next(rig: Rig) -> None:
    first, second = rig.driver("a"), rig.driver("b")
    first.start()
    first.wait_until_held()

    first.release()
    second.step()

    assert second.is_held


def test_clock_of_the_holder_does_not_matter(rig: Rig) -> None:
    rig.server.lease = HeldLease("a", "4102444800000000000", {"version": 5})  # renewed in 2100, as its clock says
    second = rig.driver("b")
    second.step()

    rig.pass_s(DURATION_S + 0.1)
    second.step()

    assert second.is_held
