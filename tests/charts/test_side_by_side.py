"""Releases side by side: none has an object, a pod, a checkpoint or a port of a node that is another's, too."""

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

from tests.charts.catalog import CI, DEFAULT, MARKET_SPREAD, Object, Profile, Rendered, rendered, try_rendering
from tests.charts.pods import pods, selects
from tests.charts.test_market_spread import environment

# All kinds of objects that there can be.
ALL: dict[str, Any] = {"run__enabled": True, "run__workload": "name: x", "receiver__ledgers__kind": "claim"}
PAIRS = [("a", "b"), ("market-spread", "market-spread-2"), ("ci", "ci-2"), ("spread", "market-spread")]


def names(made: Rendered) -> set[tuple[str, str]]:
    return {(found["kind"], found["metadata"]["name"]) for found in made.objects}


def selectors(part: Any) -> Iterator[Object]:
    """Whatever selects pods, wherever it stands."""
    if isinstance(part, list):
        for each in part:
            yield from selectors(each)
    elif isinstance(part, dict):
        for name, value in part.items():
            if name in ("selector", "podSelector", "labelSelector"):
                yield value if {"matchLabels", "matchExpressions"} & set(value) else {"matchLabels": value}
            else:
                yield from selectors(value)


def is_foreign(selector: Object) -> bool:
    """Whether it takes pods of others on purpose: those of the cluster's DNS."""
    return "k8s-app" in selector.get("matchLabels", {})


@pytest.mark.parametrize("profile", MARKET_SPREAD, ids=str)
@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_two_releases_in_one_namespace_have_nothing_in_common(profile: Profile, pair: tuple[str, str]) -> None:
    one, other = (rendered(profile, release, **ALL) for release in pair)

    assert names(one).isdisjoint(names(other))
    for mine, theirs in permutations((one, other)):
        found = [each for made in (*mine.objects, *(p.spec for p in pods(mine))) for each in selectors(made)]
        assert len(found) > 20
        for selector in (each for each in found if not is_foreign(each)):
            assert not [pod.maker for pod in pods(theirs) if selects(selector, pod.labels)], selector


def test_the_adversaries_of_that_test_are_found() -> None:
    made = rendered(DEFAULT, **ALL)
    by_component = {"matchLabels": {"app.kubernetes.io/component": "job"}}

    assert names(made) & names(rendered(DEFAULT, job__batchS=30, **ALL))
    assert [pod for pod in pods(rendered(DEFAULT, "other")) if selects(by_component, pod.labels)]
    assert list(selectors({"spec": [{"podSelector": by_component}]})) == [by_component]


@pytest.mark.parametrize(
    "end", ["job", "run", "test", "kafka", "executor", "sender", "topics", "runs", "default", "job-0"]
)
def test_a_name_that_ends_like_an_object_of_another_release_is_refused_or_does_not_meet_it(end: str) -> None:
    one = rendered(DEFAULT, "market-spread", **ALL)
    values = {name.replace("__", "."): value for name, value in ALL.items()}

    other = try_rendering(DEFAULT, f"market-spread-{end}", values)

    if other.status == 0:
        assert names(one).isdisjoint(names(other))
    else:
        assert f"the release's full name market-spread-{end}: release market-spread has" in other.error
        assert "use a release name with another end" in other.error


def test_nothing_but_admission_policies_is_of_the_whole_cluster_or_of_a_node() -> None:
    for profile in MARKET_SPREAD:
        made = rendered(profile, **ALL)
        whole = {found["kind"] for found in made.objects if "namespace" not in found["metadata"]}
        assert whole == {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
        spaces = {found["metadata"]["namespace"] for found in made.objects if found["kind"] not in whole}
        assert spaces == {"spread"}
        for pod in pods(made):
            assert "hostNetwork" not in pod.spec
            assert not [port for c in pod.containers for port in c.get("ports", []) if "hostPort" in port]
        assert not [
            service for service in made.of("Service") if service["spec"].get("type", "ClusterIP") != "ClusterIP"
        ]


def test_releases_on_one_volume_have_checkpoints_of_their_own() -> None:
    checkpoints = {environment(rendered(CI, release), "job")["CHECKPOINT"] for release in ("ci", "ci-2")}

    assert checkpoints == {
        "/var/lib/market-spread/checkpoint/spread/ci-market-spread-job-$(MARKET_SPREAD_REPLICA)",
        "/var/lib/market-spread/checkpoint/spread/ci-2-market-spread-job-$(MARKET_SPREAD_REPLICA)",
    }


def test_releases_find_their_own_driver_lease_and_aggregator() -> None:
    for name in ("DRIVER_HOST", "AGGREGATOR_ADDRESS", "EXECUTOR_SERVICE_ACCOUNT", "BOOTSTRAP_SERVERS"):
        assert environment(rendered(DEFAULT, "a"), "job")[name] != environment(rendered(DEFAULT, "b"), "job")[name]
