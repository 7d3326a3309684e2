"""Each distribution's wheel starts in an empty environment, with nothing beside it but what it declares."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.paths import ROOT

UV = Path(sys.executable).with_name("uv")
# A folder, what is started of it, its exit status, and what it says without a configuration, or of one that is wrong.
STARTED = {
    "loadgen/controller": (["market-spread", "init", "fares"], 0, "fares/system.py"),
    "services/host_tuner": (["market-spread-host-tuner", "--version"], 0, "market-spread-host-tuner 0"),
    "services/metrics_aggregator": (
        ["env", "MARKET_SPREAD_GRPC_PORT=none", "market-spread-metrics-aggregator"],
        2,
        "MARKET_SPREAD_GRPC_PORT='none' is not a whole number",
    ),
    "services/receiver": (["market-spread-receiver"], 2, "MARKET_SPREAD_DATA_FOLDER is not set"),
    "services/sender": (["market-spread-sender"], 2, "MARKET_SPREAD_BOOTSTRAP_SERVERS is not set"),
    "spark": (["market-spread-job"], 2, "MARKET_SPREAD_CHECKPOINT is not set"),
    "loadgen/data": (
        ["python", "-c", "import market_spread.loadgen.sources, market_spread.loadgen.oracle.oracle"],
        0,
        "",
    ),
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of ours, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheels")
    for project in ["proto", "services/common", "systems", *STARTED]:
        command: list[str | Path] = [UV, "build", "--quiet", "--wheel", "--no-build-isolation", project]
        command += ["--out-dir", folder]
        told = {"VIRTUAL_ENV": str(ROOT / ".venv"), "TMPDIR": str(folder)}
        subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **told})
    return folder


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "project", [pytest.param(name, marks=pytest.mark.full if name == "spark" else []) for name in STARTED]
)
def test_a_wheel_starts_with_what_it_declares_and_nothing_else(project: str, wheels: Path, tmp_path: Path) -> None:
    name = tomllib.loads((ROOT / project / "pyproject.toml").read_text())["project"]["name"]
    command, status, said = STARTED[project]
    environment = tmp_path / "environment"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    pins = ["--constraint", ROOT / "requirements" / "dev.txt"]
    install = [UV, "pip", "install", "--quiet", "--no-progress", "--find-links", wheels, *pins, name]
    subprocess.run(install, check=True, env={**os.environ, "VIRTUAL_ENV": str(environment)})

    bare = {"PATH": f"{environment / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)}
    ended = subprocess.run(command, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False, timeout=120)

    assert ended.returncode == status, ended.stderr
    assert said in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
