"""Runs beside a test: `market-spread run --target kubernetes`, and what their results say of losses and silences."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from market_spread.common.config import inherited_environment
from tests.cluster.ground.kubectl import wait_for
from tests.cluster.releases import Release

WORKLOAD = Path(__file__).parent / "workloads" / "release.yaml"
NOTHING_LOST = {"alerts_missing": 0, "alerts_unexpected": 0, "alerts_wrong": 0, "invalid_records": 0}
_RUN_S = 300
_SENT = "market_spread_sender_messages_sent_total"


class Run:
    """A run from outside of the cluster, as a process."""

    def __init__(self, release: Release, folder: Path, *words: str, workload: Path = WORKLOAD) -> None:
        self._release = release
        self._process = subprocess.Popen(
            [Path(sys.executable).parent / "market-spread", "run", workload, "--target", "kubernetes", "--release",
             release.name, "--namespace", release.kubectl.namespace, "--runs-folder", folder, "--json", *words],
            env={**inherited_environment(), "KUBECONFIG": str(release.kubectl.kubeconfig)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def wait_until_measuring(self) -> None:
        """Wait until the measured load flows for ten seconds: then a batch is committed, and another is under way."""
        before = sent(self._release)

        def flows() -> bool:
            assert self._process.poll() is None, self._process.communicate()
            return sent(self._release) > before + 10_000

        wait_for("the load flows", flows, within_s=120)

    def result(self) -> dict[str, Any]:
        """Its result, once it has ended."""
        output, errors = self._process.communicate(timeout=_RUN_S)
        assert output, errors
        found: dict[str, Any] = json.loads(output)
        return found

    def stop(self) -> None:
        """End it, if it has not."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.communicate(timeout=60)


def lossless(result: dict[str, Any]) -> dict[str, Any]:
    """The figures that must all be nought, whatever was killed."""
    return {name: result[name] for name in NOTHING_LOST}


def longest_silence_s(result: dict[str, Any]) -> float:
    """How long output stood still: so long did the unluckiest probe of fifty a second wait."""
    found = float(result["latency_ns"]["max"]) / 1e9
    print(f"\nlongest silence: {found:.1f} s", file=sys.stderr)
    return found


def sent(release: Release) -> float:
    """What the senders have sent, as the aggregator tells Prometheus."""
    (aggregator,) = release.pods("metrics-aggregator")
    script = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/metrics').read().decode())"
    text = release.kubectl.exec(aggregator["metadata"]["name"], "python3", "-c", script)
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(_SENT))
