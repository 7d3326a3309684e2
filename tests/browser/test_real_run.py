"""The page of a real run: broker, Spark, sender and receiver push what they measure, and the page has their figures."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from market_spread.common.layout import WARM_UP_ORDER_ID_MIN
from market_spread.common.ledger import decode_ledger
from market_spread.loadgen.columns import Alerts
from tests.browser.conftest import Open
from tests.browser.reading import blank_canvases, key_figures, table
from tests.browser.test_figures import checked_row

WORKLOAD = Path(__file__).parents[1] / "integration" / "workloads" / "small.yaml"
PAGES = ("overview", "pipeline", "workers", "workers/job", "computations", "computations/ingest", "aggregator")
TIMEOUT_S = 240

pytestmark = pytest.mark.timeout(TIMEOUT_S + 60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run has left behind."""
    runs = tmp_path_factory.mktemp("runs")
    command = [str(Path(sys.executable).parent / "market-spread"), "run", str(WORKLOAD), "--runs-folder", str(runs)]
    ended = subprocess.run([*command, "--keep-input"], capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert ended.returncode == 0, ended.stderr
    assert "http://127.0.0.1:" in ended.stderr
    (folder,) = runs.iterdir()
    return folder


def test_latencies_are_those_of_the_alerts_in_the_ledger(folder: Path, watched: Open) -> None:
    rows = decode_ledger((folder / "alerts.ledger").read_bytes())
    alerts = Alerts.from_rows(rows.alert_rows, rows.received_us)
    measured = np.flatnonzero(alerts.order_id < WARM_UP_ORDER_ID_MIN)

    page = watched().open((folder / "metrics.html").as_uri())

    triple = table(page, "The triple of latencies")
    checked_row(triple["Intended send to receipt"], (alerts.received_us - alerts.intended_us)[measured])
    checked_row(triple["Actual send to receipt"], (alerts.received_us - alerts.sent_us)[measured])
    assert key_figures(page)["lag"] == "0 messages"


def test_judged_is_the_part_that_the_result_is_of(folder: Path, watched: Open) -> None:
    result = json.loads((folder / "result.json").read_text())
    page = watched().open((folder / "metrics.html").as_uri())

    page.get_by_role("button", name="judged").click()

    samples = int(table(page, "The triple of latencies")["Intended send to receipt"]["n"].replace(",", ""))
    a_second = result["alerts_received"] / result["duration_s"]
    assert samples == pytest.approx(result["latency_samples"], abs=1.5 * a_second)
    assert result["latency_samples"] < result["alerts_received"]


@pytest.mark.parametrize("name", PAGES)
def test_pages_have_something_to_show(folder: Path, watched: Open, name: str) -> None:
    watching = watched()

    page = watching.open(
        (folder / "metrics.html").as_uri() + f"#/{name}", until="main canvas:visible, main table:visible"
    )

    assert blank_canvases(page) == []
    assert watching.complaints == []
    assert all(address.startswith(("file:", "data:", "blob:")) for address in watching.requests)
