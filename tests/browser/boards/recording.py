"""What Prometheus read of a real run, kept beside this: `python -m tests.browser.boards.recording` records it anew.

Kept is what the boards ask for, as OpenMetrics, of which promtool makes blocks that any Prometheus serves.
"""

import gzip
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from market_spread.controller.deploy.local.broker import free_port
from tests.support.monitored_run import Watched, answers, monitored_run, started
from tests.support.waiting import eventually
from tests.unit.monitoring.monitoring_fixtures import DASHBOARDS, dashboard, marks, metrics_in, program, queries

RECORDING = Path(__file__).with_name("run.om.gz")
WORKLOAD = Path(__file__).with_name("workload.yaml")
INTERVAL_S = 5
_RUN_S = 500.0
_LOOK_BACK = "15m"
_BEFORE_S = 20.0
# A recording has no marks where a series ended: what is older than two scrapes counts as ended.
_ENDED_AFTER = "12s"
# A recording stays readable for good; Prometheus would drop it after 15 days.
_KEPT_FOR = "100y"
# Its name and its kernel are nobody's business.
_OF_THE_HOST = {"node_uname_info": ("nodename", "release", "version", "domainname", "machine")}


@dataclass(frozen=True)
class Recorded:
    """A Prometheus that serves the recording of a run. begin, end: what boards show of it, in Unix seconds."""

    url: str
    run: str
    begin: float
    end: float


def asked_for() -> set[str]:
    """The metrics that panels, annotations and variables of the boards name."""
    variables = (each["query"] for path in DASHBOARDS for each in dashboard(path)["templating"]["list"])
    named = {found[1] for said in variables if (found := re.match(r"label_values\((\w+),", said))}
    return named.union(*(metrics_in(shown.expr) for shown in (*queries(), *marks())))


def record() -> None:
    """Run the workload, and keep what Prometheus has of it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        monitored_run(WORKLOAD, Path(folder), interval_s=INTERVAL_S, within_s=_RUN_S) as watched,
    ):
        watched.wait_for_the_end(within_s=_RUN_S)
        lines = [line for name in sorted(asked_for()) for line in _samples(watched, name)]
    text = "\n".join([*lines, "# EOF", ""])
    RECORDING.write_bytes(gzip.compress(text.encode(), mtime=0))


def _samples(watched: Watched, name: str) -> Iterator[str]:
    for series in watched.query(f"{name}[{_LOOK_BACK}]"):
        hidden = {"__name__", *_OF_THE_HOST.get(name, ())}
        labels = {label: value for label, value in series["metric"].items() if label not in hidden}
        said = ",".join(f"{label}={json.dumps(value, ensure_ascii=False)}" for label, value in sorted(labels.items()))
        for at, value in series["values"]:
            yield f"{name}{{{said}}} {value} {at}"


@contextmanager
def recorded() -> Iterator[Recorded]:
    """A Prometheus with the recording, until the end of the body."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        text = folder / "run.om"
        text.write_bytes(gzip.decompress(RECORDING.read_bytes()))
        configuration = folder / "prometheus.yml"
        configuration.write_text("{}")
        data, address, log = folder / "data", f"127.0.0.1:{free_port()}", folder / "prometheus.log"
        promtool = program("promtool", "prometheus")
        subprocess.run(
            [promtool, "tsdb", "create-blocks-from", "openmetrics", text, data],
            check=True,
            capture_output=True,
            timeout=120,
        )
        command = (
            program("prometheus", "prometheus"),
            f"--config.file={configuration}",
            f"--storage.tsdb.path={data}",
            f"--storage.tsdb.retention.time={_KEPT_FOR}",
            f"--query.lookback-delta={_ENDED_AFTER}",
            f"--web.listen-address={address}",
            "--web.cors.origin=.*",
            "--log.level=warn",
        )
        with started(log, *command):
            eventually("Prometheus is ready", lambda: answers(f"http://{address}/-/ready"), detail=log.read_text)
            yield _read(f"http://{address}", text.read_text())


def _read(url: str, text: str) -> Recorded:
    """The run, from before to the end of the measured load: as somebody sees it who looks at it then."""
    found = re.findall(r'^market_spread_run_info\{.*phase="([^"]+)".*run_id="([^"]+)".*\} 1 (\S+)$', text, re.MULTILINE)
    (run,) = {run for _, run, _ in found}
    measuring = [float(at) for phase, _, at in found if phase == "measuring"]
    return Recorded(url, run, measuring[0] - _BEFORE_S, measuring[-1])


if __name__ == "__main__":
    record()
