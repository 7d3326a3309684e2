"""The chart node-pools against the definitions that Karpenter was released with, in a real API server.

The API server applies what the tests of the chart cannot: rules in CEL, and pruning, which a strict apply refuses.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.errors import GroundError
from tests.cluster.ground.kubectl import wait_for
from tests.cluster.simulated import Object, node_pools

RELEASES = sorted((Path(__file__).parents[1] / "charts" / "karpenter").iterdir())


@pytest.fixture(scope="module", params=RELEASES, ids=lambda folder: folder.name)
def apply(ground: Cluster, request: pytest.FixtureRequest) -> Iterator[Callable[[list[Object]], str]]:
    """Applies objects in a cluster that has the definitions of a release, which go with the tests."""
    definitions = [str(path) for path in sorted(request.param.iterdir())]
    files = [f"--filename={path}" for path in definitions]
    ground.kubectl("create", *files)
    ground.kubectl("wait", "--for=condition=Established", "--timeout=30s", *files)

    def applied(objects: list[Object]) -> str:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        return ground.kubectl("apply", "--server-side", "--validate=strict", "--filename=-", text=text)

    wait_for("the API serves the kinds", lambda: "nodepools" in ground.kubectl("api-resources"), within_s=30)
    yield applied
    ground.kubectl("delete", *files, "--timeout=60s", timeout_s=90)


def test_a_release_takes_the_pools_whole(apply: Callable[[list[Object]], str]) -> None:
    objects = node_pools()

    assert len(objects) == 6
    assert apply(objects).count("serverside-applied") == 6
    # Again, as an upgrade of the chart would: rules compare with what is there.
    assert apply(objects).count("serverside-applied") == 6


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"EC2NodeClass": {"subnetSelectorTerms": [{"id": "subnet-1", "tags": {"a": "b"}}]}}, "mutually exclusive"),
        ({"EC2NodeClass": {"amiSelectorTerms": [{"alias": "al2023"}]}}, "alias"),
        ({"NodePool": {"limit": {"nodes": "2"}}}, "unknown field"),
        ({"NodePool": {"weight": 0}}, "weight"),
    ],
    ids=["a rule", "a form", "a misspelt field", "a range"],
)
def test_a_release_refuses_wrong_pools(
    apply: Callable[[list[Object]], str], changes: dict[str, Object], said: str
) -> None:
    with pytest.raises(GroundError, match=said):
        apply(node_pools(**changes))
