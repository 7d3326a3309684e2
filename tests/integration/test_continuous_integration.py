"""The documentation's example for GitHub Actions, executed step by step as a runner would, on real processes."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.integration.test_your_system import LENIENT, change, market_spread
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "continuous-integration.md"
WORKFLOW = re.compile(r"^<!-- file: performance.yaml -->\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.timeout(300)


@dataclass
class Runner:
    """A runner in a folder: what it has for `uses`, and the environment that steps hand on."""

    folder: Path
    environment: dict[str, str]
    statuses: dict[str, int] = field(default_factory=dict)
    said: str = ""

    def execute(self, steps: list[dict[str, Any]]) -> None:
        """Every step in order; after one that fails only those that always run."""
        path = self.folder / "github_path"
        path.touch()
        summary = self.folder / "github_step_summary"
        for step in steps:
            if "uses" in step or (any(self.statuses.values()) and step.get("if") != "always()"):
                continue
            before = os.pathsep.join([*reversed(path.read_text().split()), os.environ["PATH"]])
            files = {"GITHUB_PATH": str(path), "GITHUB_STEP_SUMMARY": str(summary), "PATH": before}
            ended = subprocess.run(
                ["bash", "-e", "-c", step["run"]], cwd=self.folder, env=os.environ | self.environment | files,
                capture_output=True, text=True, timeout=240, check=False,
            )  # fmt: skip
            self.statuses[step["name"]] = ended.returncode
            self.said += ended.stdout + ended.stderr

    @property
    def summary(self) -> str:
        return (self.folder / "github_step_summary").read_text()

    def cases(self, name: str) -> "ElementTree.Element":
        return ElementTree.parse(self.folder / name).getroot()


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    """What the steps that use an action leave: base and head with a system that `init` has written, and our own."""
    for tree in ("base", "head"):
        made = market_spread("init", f"{tree}/performance", folder=tmp_path)
        assert made.returncode == 0, made.stderr
        load = {"profile": "constant", "messages_per_s": 300, "duration_s": 30}
        change(tmp_path / tree / "performance", load=load, slo={}, warm_up={"duration_s": 1}, **LENIENT)
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", tree]):
            user = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
            subprocess.run(["git", *user, *words], cwd=tmp_path / tree, check=True)
    (tmp_path / "market-spread").symlink_to(ROOT)
    return tmp_path


def executed(folder: Path) -> Runner:
    """The example with one pair of short runs in place of eight long ones."""
    found = WORKFLOW.search(PAGE.read_text())
    assert found
    (job,) = yaml.safe_load(found[1])["jobs"].values()
    runner = Runner(folder, {"PAIRS": "1", "SECONDS_EACH": "3"})
    runner.execute(job["steps"])
    return runner


def test_a_change_is_judged_and_compared_with_what_it_changes(checkouts: Path) -> None:
    runner = executed(checkouts)

    assert set(runner.statuses.values()) == {0}, runner.said
    right, fast = runner.cases("right.xml"), runner.cases("fast.xml")
    assert (right.attrib["failures"], right.attrib["errors"]) == ("0", "0")
    assert int(right.attrib["tests"]) > 10
    # One pair is too few for a verdict, and is said to be.
    assert fast.attrib["failures"] == "0"
    assert fast.attrib["errors"] == fast.attrib["tests"] != "0"
    assert "a verdict needs 6" in runner.summary
    assert "**passed**" in runner.summary
    # Each tree's own files were run, and the comparison says from which commit.
    (made,) = (checkouts / "runs").glob("ab-base-head/b/*/workload.yaml")
    assert yaml.safe_load(made.read_text())["system"]["folder"] == str(checkouts / "head" / "performance")
    assert "system_code.git_commit" in runner.summary


def test_a_change_that_loses_messages_ends_with_its_first_step(checkouts: Path) -> None:
    system = checkouts / "head" / "performance" / "system.py"
    place = "        fare = {"
    assert place in system.read_text()
    system.write_text(
        system.read_text().replace(place, f"        if trip['trip_id'] == 400:\n            continue\n{place}")
    )

    runner = executed(checkouts)

    assert runner.statuses == {"Install": 0, "Is it right?": 1, "Summary": 0}, runner.said
    right = runner.cases("right.xml")
    failed = [case.attrib["name"] for case in right.iter("testcase") if case.find("failure") is not None]
    assert failed == ["alerts_missing"]
    assert "**failed (system)**\n* 1 outputs are missing" in runner.summary
