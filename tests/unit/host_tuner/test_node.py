"""What the node's object is told, and when it is left alone."""

import json
from collections.abc import Mapping
from typing import cast

import pytest

from market_spread.common.errors import RunFailedError, UnavailableError
from market_spread.host_tuner.cluster import CONDITION, STARTUP_TAINT, KubernetesNode, NodePublisher
from market_spread.host_tuner.config import Applied, Sysctl, TuningProfile
from market_spread.host_tuner.running import leave
from market_spread.host_tuner.tuner import Tuner
from market_spread.host_tuner.values import APPLIED, Report, SettingOutcome
from tests.support.clock import ManualClock
from tests.unit.host_tuner.fakes import THP, FakeKernel, FakeRecord, host, originals, tree

SECOND_NS = 1_000_000_000
RIGHT = Report(
    (SettingOutcome("governor", "performance", "performance", APPLIED, ok=True),), {"a/b/c": frozenset({2, 1})}
)
WRONG = Report((SettingOutcome("governor", "performance", "powersave on cpu3", APPLIED, ok=False),))


class FakeNode:
    """A node's object in memory."""

    def __init__(self, *taints: str) -> None:
        self.annotation: str | None = None
        self.condition: Mapping[str, str] | None = None
        self.taints = list(taints)
        self.calls: list[str] = []
        self.down = False

    def read(self) -> tuple[str | None, Mapping[str, str] | None, list[str]]:
        self._called("read")
        return self.annotation, self.condition, [*self.taints]

    def set_condition(self, condition: Mapping[str, str] | None) -> None:
        self._called("set_condition")
        self.condition = condition

    def annotate(self, text: str | None) -> None:
        self._called("annotate")
        self.annotation = text

    def remove_taint(self, place: int, key: str) -> None:
        self._called("remove_taint")
        assert self.taints.pop(place) == key

    def _called(self, name: str) -> None:
        if self.down:
            raise UnavailableError("the API does not answer")
        self.calls.append(name)


def publisher_to(node: FakeNode, clock: ManualClock) -> NodePublisher:
    return NodePublisher(cast(KubernetesNode, node), clock)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_a_right_node_is_released_after_all_else_is_said(clock: ManualClock) -> None:
    node = FakeNode("market-spread.io/pool", STARTUP_TAINT)

    publisher_to(node, clock).publish(RIGHT)

    assert node.calls == ["read", "annotate", "set_condition", "remove_taint"]
    assert node.taints == ["market-spread.io/pool"]
    assert node.condition == {
        "type": CONDITION,
        "status": "True",
        "reason": "AsWanted",
        "message": "all 1 settings are as wanted",
        "lastHeartbeatTime": "2023-11-14T22:13:20Z",
        "lastTransitionTime": "2023-11-14T22:13:20Z",
    }
    assert json.loads(node.annotation or "") == {"ok": True, "wrong": {}, "exclusive": {"a/b/c": "1-2"}}


def test_a_wrong_node_keeps_its_taint_and_says_why(clock: ManualClock) -> None:
    node = FakeNode(STARTUP_TAINT)

    publisher_to(node, clock).publish(WRONG)

    assert node.taints == [STARTUP_TAINT]
    assert node.condition is not None
    assert node.condition["status"] == "False"
    assert node.condition["message"] == "governor: wanted performance, found powersave on cpu3"


def test_what_has_not_changed_is_not_said_again_but_looked_at_each_minute(clock: ManualClock) -> None:
    node = FakeNode()
    publisher = publisher_to(node, clock)
    publisher.publish(RIGHT)
    node.calls.clear()

    for _ in range(12):
        clock.advance_ns(10 * SECOND_NS)
        publisher.publish(RIGHT)

    assert node.calls == ["read", "read"]


def test_the_condition_has_a_heartbeat_and_the_time_of_its_last_change(clock: ManualClock) -> None:
    node = FakeNode()
    publisher = publisher_to(node, clock)
    publisher.publish(RIGHT)

    clock.advance_ns(301 * SECOND_NS)
    publisher.publish(RIGHT)

    assert node.condition is not None
    assert node.condition["lastHeartbeatTime"] == "2023-11-14T22:18:21Z"
    assert node.condition["lastTransitionTime"] == "2023-11-14T22:13:20Z"


def test_a_node_that_was_made_anew_is_told_again(clock: ManualClock) -> None:
    node = FakeNode()
    publisher = publisher_to(node, clock)
    publisher.publish(RIGHT)
    node.annotation, node.condition, node.taints = None, None, [STARTUP_TAINT]

    clock.advance_ns(60 * SECOND_NS)
    publisher.publish(RIGHT)

    assert (node.annotation is None, node.condition is None, node.taints) == (False, False, [])


def test_an_api_that_does_not_answer_is_counted_and_told_later(clock: ManualClock) -> None:
    node = FakeNode(STARTUP_TAINT)
    node.down = True
    publisher = publisher_to(node, clock)
    publisher.publish(RIGHT)
    node.down = False

    publisher.publish(RIGHT)

    assert publisher.errors == 1
    assert node.taints == []


@pytest.mark.parametrize(
    ("next_writes", "left", "told"),
    [
        (frozenset(), set(), False),  # removed, or a dry run is next
        (None, {THP, "proc/sys/vm"}, True),  # the API does not say
        (frozenset({THP, "proc/sys/vm/swappiness"}), {THP, "proc/sys/vm"}, True),
        (frozenset({THP}), {THP}, True),
        (frozenset({f"{THP}/ena", "proc/sys/vm/swap"}), set(), True),
    ],
)
def test_the_last_of_a_pod_is_what_the_next_one_cannot_put_back(
    clock: ManualClock, next_writes: frozenset[str] | None, left: set[str], told: bool
) -> None:
    kernel, record, node = FakeKernel(host()), FakeRecord(), FakeNode()
    publisher = publisher_to(node, clock)
    sysctls = (Sysctl("vm.swappiness", 10),)
    profile = TuningProfile(frozenset({0}), Applied(transparent_hugepages="never", sysctls=sysctls))
    publisher.publish(Tuner(profile, tree(kernel), originals(record), None).cycle())

    leave(next_writes, publisher, tree(kernel), originals(record))

    before = host()
    assert {path.rpartition("/")[0] for path in before if kernel.files[path] != before[path]} == left
    assert {path.rpartition("/")[0] for path in originals(record).paths} == left
    assert (node.annotation is not None, node.condition is not None) == (told, told)


def test_a_host_is_put_back_even_if_the_node_cannot_be_told(clock: ManualClock) -> None:
    kernel, record, node = FakeKernel(host()), FakeRecord(), FakeNode()
    Tuner(TuningProfile(frozenset({0}), Applied(governor="performance")), tree(kernel), originals(record), None).cycle()
    node.down = True

    leave(frozenset(), publisher_to(node, clock), tree(kernel), originals(record))

    assert kernel.files == host()


def test_a_removal_that_cannot_put_everything_back_fails(clock: ManualClock) -> None:
    kernel, record = FakeKernel(host()), FakeRecord()
    Tuner(TuningProfile(frozenset({0}), Applied(turbo=False)), tree(kernel), originals(record), None).cycle()
    kernel.write_faults = dict.fromkeys(kernel.files, 5)

    with pytest.raises(RunFailedError, match="no_turbo cannot be put back: Input/output error"):
        leave(frozenset(), None, tree(kernel), originals(record))
