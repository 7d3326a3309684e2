"""A release is changed, put back and removed. These tests come last of those that use it."""

import pytest

from tests.cluster.ground.kubectl import wait_for
from tests.cluster.releases import Release

COMPONENTS = ("sender", "receiver", "metrics-aggregator", "job", "kafka", "executor")
# What every namespace has.
ALWAYS_THERE = {"configmap/kube-root-ca.crt", "serviceaccount/default"}

pytestmark = pytest.mark.timeout(900)


@pytest.mark.full
def test_an_upgrade_and_a_rollback_touch_only_what_is_changed(release: Release) -> None:
    before = pods(release)
    assert memory_of_sender(release) == "1Gi"

    release.install("--set=sender.memory=768Mi")
    upgraded = pods(release)
    assert memory_of_sender(release) == "768Mi"

    release.rollback()
    put_back = pods(release)
    assert memory_of_sender(release) == "1Gi"

    for after in (upgraded, put_back):
        assert {component for component in COMPONENTS if after[component] != before[component]} == {"sender"}


def test_nothing_is_left_of_a_release_that_is_uninstalled(release: Release) -> None:
    assert set(release.all_in_namespace()) > ALWAYS_THERE

    release.uninstall()

    wait_for("what belonged to the driver is collected", lambda: not release.pods("executor"), within_s=60)
    wait_for("all is gone", lambda: set(release.all_in_namespace()) == ALWAYS_THERE, within_s=60)


def pods(release: Release) -> dict[str, set[str]]:
    """The pods of each component, by what no two have in common."""
    return {component: {pod["metadata"]["uid"] for pod in release.pods(component)} for component in COMPONENTS}


def memory_of_sender(release: Release) -> str:
    (pod,) = release.pods("sender")
    return str(pod["spec"]["containers"][0]["resources"]["limits"]["memory"])
