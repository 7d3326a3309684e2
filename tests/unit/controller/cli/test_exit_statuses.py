"""The exit statuses that the documentation promises are those of the commands: its tables say which there are."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from market_spread.common.errors import MarketSpreadError, RunVoidError
from market_spread.controller.analysis.evidence import Criterion, Verdict
from market_spread.controller.cli.main import main
from market_spread.controller.deploy.local.command import Process, ProcessStatus
from tests.support.paths import QUICK, ROOT
from tests.unit.controller.compare.run_fixtures import judged, write_run
from tests.unit.controller.views.test_checking import GOOD, UNCHECKED

DOCS = ROOT / "docs"
FAST_MS, SLOW_MS = 20.0, 30.0
TORTURE = ROOT / "loadgen" / "workloads" / "torture.yaml"
VOID: dict[str, Any] = {"verdict": "void", "reasons": ["the generator was late"]}
WRONG = judged(Verdict.FAILED, Criterion.ALERTS_MISSING)


class Shell:
    """Runs commands in a folder of its own, in which nothing but them is real."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, *words: object) -> int:
        ended = CliRunner().invoke(main, [str(word) for word in words])
        assert isinstance(ended.exception, SystemExit | None), ended.exception
        return ended.exit_code

    def when(self, name: str, does: Callable[..., Any]) -> "Shell":
        """With this in the place of something else."""
        self._monkeypatch.setattr(f"market_spread.{name}", does)
        return self


def raising(error: BaseException) -> Callable[..., Any]:
    def does(*_: object, **__: object) -> None:
        raise error

    return does


INTERRUPTED = raising(KeyboardInterrupt())


def returning(value: object) -> Callable[..., Any]:
    return lambda *_, **__: value


Scenario = Callable[[Shell], int]


def of_run(carry_out: Callable[..., Any]) -> Scenario:
    return lambda shell: shell.when("controller.session.execute.carry_out", carry_out)("run", QUICK)


def of_replay(carry_out: Callable[..., Any]) -> Scenario:
    words = ("replay", "--nbbo", "a", "--orders", "b")
    planned = returning(SimpleNamespace())

    def replay(shell: Shell) -> int:
        shell.when("controller.plan.plan.plan_of_files", planned)
        return shell.when("controller.session.execute.carry_out", carry_out)(*words)

    return replay


def verdict(which: Verdict) -> Callable[..., Any]:
    return returning(SimpleNamespace(verdict=which))


def comparing(after_ms: float = FAST_MS, *options: str, odd: str = "after", **changes: Any) -> Scenario:
    """Compares two groups of eight runs, made in turn; one run of the odd group is as the keywords say."""

    def compare(shell: Shell) -> int:
        for number in range(8):
            for at, (group, p99_ms) in enumerate((("before", FAST_MS), ("after", after_ms))):
                of_this = changes if (group, number) == (odd, 3) else {}
                write_run(Path(group), 2 * number + at, p99_ms + number / 10, **of_this)
        return shell("compare", "before", "after", *options)

    return compare


def made_by(make: Callable[[Path, int, Sequence[str]], object]) -> type:
    """In the place of a process that makes runs: it is given where, the number of the run, and its options."""

    class Runs:
        made = 0

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def __call__(self, workload: Path, *, runs_folder: Path, options: Sequence[str]) -> None:
            make(runs_folder, self.made, options)
            self.made += 1

    return Runs


def in_turn(
    p99_ms: Callable[[int], float] = lambda number: FAST_MS + number / 100, *, arms: str = "b", **changes: Any
) -> Scenario:
    """Has `ab` make eight pairs: the latencies of B's runs by the number of the run, and what else these arms have."""

    def make(runs_folder: Path, number: int, _: Sequence[str]) -> None:
        of_run_ms = p99_ms(number) if runs_folder.name == "b" else FAST_MS + number / 100
        write_run(runs_folder, number, of_run_ms, **(changes if runs_folder.name in arms else {}))

    return lambda shell: shell.when("controller.session.subprocess.RunProcess", made_by(make))(
        "ab", QUICK, QUICK, "--seed", 1
    )


def searching(limit: int, *options: object) -> Scenario:
    """Searches the limit of a system that is slow above that rate."""

    def make(runs_folder: Path, number: int, given: Sequence[str]) -> None:
        rate = int(given[1])
        p99_ms = FAST_MS if rate <= limit else 900.0
        write_run(runs_folder, number, p99_ms, offered_rate_per_s=rate, achieved_rate_per_s=rate)

    words = ("sweep", QUICK, "--slo", "p99=50ms", "--no-curve", *options)
    return lambda shell: shell.when("controller.session.subprocess.RunProcess", made_by(make))(*words)


def while_a_run_is_made(*words: object) -> Scenario:
    return lambda shell: shell.when("controller.session.subprocess.RunProcess", made_by(INTERRUPTED))(*words)


def torturing(*of_seeds: Mapping[str, Any]) -> Scenario:
    """Looks at seeds that have runs already; the time is over before one more begins."""

    def torture(shell: Shell) -> int:
        for seed, changes in enumerate(of_seeds, 1):
            write_run(Path("seeds") / str(seed), seed, planned_faults=[], **changes)
        return shell("torture", TORTURE, "--hours", 1e-12, "--runs-folder", ".")

    return torture


def looking_back(shell: Shell) -> int:
    write_run(Path("runs"))
    return shell("history", "runs")


def checking(**found: Any) -> Scenario:
    judgement = replace(found.pop("of", GOOD), **found)

    words = ("check", "--nbbo", "a", "--orders", "b", "--alerts", "c")
    return lambda shell: shell.when("loadgen.oracle.oracle.check_files", returning(judgement))(*words)


def self_testing(does: Callable[..., Any]) -> Scenario:
    def self_test(shell: Shell) -> int:
        shell.when("controller.selftest.session.self_test", does).when(
            "controller.exits.interrupt_once", returning(None)
        )
        return shell("selftest", "--rate", 20_000, "--json")

    return self_test


def record(*, holds: bool) -> Callable[..., Any]:
    return returning(SimpleNamespace(holds=holds, document={}, rates=(), sentence=""))


def probing(problem: Callable[..., Any]) -> Scenario:
    return lambda shell: shell.when("controller.clients.probe.service_problem", problem)("probe", "services", "job=b:1")


def asking(*statuses: ProcessStatus) -> Scenario:
    return lambda shell: shell.when(STATUSES, returning([*statuses]))("status")


def all_of(*scenarios: Scenario) -> Scenario:
    """Those that must end in the same way."""

    def each(shell: Shell) -> int:
        (status,) = {scenario(shell) for scenario in scenarios}
        return status

    return each


STATUSES = "controller.deploy.local.command.BackgroundStack.statuses"
BROKER = Process("broker", 5, 60)
NO_DIFFERENCE = in_turn(lambda number: FAST_MS + (5 if number % 4 < 2 else -5))
WORSE = in_turn(lambda number: SLOW_MS + number / 100)
# What the tables say of a command, and what brings it about.
SCENARIOS: dict[str, dict[str, Scenario]] = {
    **{
        name: {
            "passed": of(verdict(Verdict.PASSED)),
            "failed: the system under test did something wrong": of(verdict(Verdict.FAILED)),
            "wrong usage or configuration": lambda shell, name=name: shell(name, "no.yaml"),  # type: ignore[misc]
            "something is missing": missing,
            "void: something other than the system spoiled the run": all_of(
                of(verdict(Verdict.VOID)), of(raising(RunVoidError("the broker ended")))
            ),
            "interrupted": of(INTERRUPTED),
        }
        for name, of, missing in (
            ("run", of_run, lambda shell: shell("run", "missing.yaml")),
            ("replay", of_replay, lambda shell: shell("replay", "--nbbo", "missing", "--orders", "missing")),
        )
    },
    "compare": {
        "every figure is better or the same": all_of(comparing(), lambda shell: shell("compare", "after", "before")),
        "a figure is worse": comparing(SLOW_MS),
        "by `--force`, a run of another group than the first has wrong outputs": comparing(FAST_MS, "--force", **WRONG),
        "wrong usage": lambda shell: shell("compare", "nothing", "nowhere"),
        "without `--force`, a run is void": comparing(FAST_MS, **VOID),
        "without `--force`, a run has wrong outputs": comparing(FAST_MS, **WRONG),
        "a figure is undecided and none is worse": comparing(FAST_MS, "--least", "0.1%"),
        "by `--force`, a run is void": comparing(SLOW_MS, "--force", **VOID),
        "by `--force`, runs of the first group alone have wrong outputs": comparing(
            SLOW_MS, "--force", odd="before", **WRONG
        ),
        "interrupted": lambda shell: comparing()(shell.when("controller.compare.comparison.compare", INTERRUPTED)),
    },
    "ab": {
        "every figure is better or the same": in_turn(),
        "a figure is worse": WORSE,
        "a run of B has wrong outputs": in_turn(**WRONG),
        "wrong usage": lambda shell: shell("ab", QUICK),
        "a figure is undecided and none is worse": NO_DIFFERENCE,
        "runs of A alone have wrong outputs": in_turn(arms="a", **WRONG),
        "three void runs in a row": in_turn(arms="ab", **VOID),
        "interrupted": while_a_run_is_made("ab", QUICK, QUICK),
    },
    "sweep": {
        "a limit was found": searching(70_000),
        "even the lowest rate is broken": searching(0),
        "wrong usage": lambda shell: shell("sweep", QUICK, "--slo", "p99=fast"),
        "no answer": searching(70_000, "--runs-max", 2),
        "interrupted": while_a_run_is_made("sweep", QUICK, "--slo", "p99=50ms"),
    },
    "history": {
        "shown": looking_back,
        "wrong usage": lambda shell: shell("history", "nothing"),
        "interrupted": lambda shell: looking_back(shell.when("controller.compare.runs.read_runs", INTERRUPTED)),
    },
    "check": {
        "all correct": checking(),
        "some missing, unexpected, wrong or duplicated": all_of(
            checking(missing=1), checking(unexpected=1), checking(wrong=1), checking(duplicated=1)
        ),
        "wrong usage": lambda shell: shell("check"),
        "the input allows no judgement": checking(of=UNCHECKED),
    },
    "torture": {
        "all that are not void passed": torturing({}, VOID),
        "one failed": torturing({}, WRONG, VOID),
        "wrong usage": lambda shell: shell("torture", QUICK),
        "all are void": torturing(VOID, VOID),
        "interrupted": while_a_run_is_made("torture", TORTURE),
    },
    "selftest": {
        "the error is within the aim": self_testing(record(holds=True)),
        "the error is not within the aim": self_testing(record(holds=False)),
        "wrong usage": lambda shell: shell("selftest", "--rate", "fast"),
        "the machine does not hold the rate": self_testing(raising(RunVoidError("the rig cannot be looked at"))),
    },
    "probe": {
        "healthy": probing(returning(None)),
        "not healthy": all_of(
            probing(returning("NOT_SERVING")),
            lambda shell: shell.when(
                "controller.clients.probe.kafka_round_trip", raising(MarketSpreadError("it is away"))
            )("probe", "kafka", "--bootstrap-servers", "b:1"),
        ),
        "wrong usage": lambda shell: shell("probe", "services", "job"),
        "interrupted": probing(INTERRUPTED),
    },
    "status": {
        "all healthy": asking(ProcessStatus(BROKER, "b:1", running=True, well=True)),
        "none started": asking(),
        "one has ended, has failed or does not answer": all_of(
            asking(ProcessStatus(BROKER, "b:1", running=False)), asking(ProcessStatus(BROKER, "b:1", running=True))
        ),
        "wrong usage": lambda shell: shell("status", "now"),
        "interrupted": lambda shell: shell.when(STATUSES, INTERRUPTED)("status"),
    },
    "meaning for every command": {
        "passed": of_run(verdict(Verdict.PASSED)),
        "no figure is worse": in_turn(),
        "the system is wrong or too slow": of_run(verdict(Verdict.FAILED)),
        "a figure is worse": WORSE,
        "a run of the change has a wrong output": in_turn(**WRONG),
        "wrong usage or configuration": all_of(
            lambda shell: shell("run", "missing.yaml"), lambda shell: shell("ab", QUICK)
        ),
        "the machine or the rig spoiled it": all_of(of_run(verdict(Verdict.VOID)), in_turn(arms="ab", **VOID)),
        "the runs tell no difference": NO_DIFFERENCE,
        "interrupted": all_of(of_run(INTERRUPTED), while_a_run_is_made("ab", QUICK, QUICK)),
    },
}
PAGES = ("operating.md", "comparing.md", "continuous-integration.md", "commands.md")


def promises(page: str) -> list[tuple[str, str, int]]:
    """Of the page's table of exit statuses: a command, what is said of it, and the status of that."""
    (table,) = re.findall(r"^\| exit status (\|.*\n\|-.*\n(?:\|.*\n)+)", (DOCS / page).read_text(), re.MULTILINE)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    (*heads,), _, *others = rows
    return [
        (name.strip("`"), said, int(status))
        for status, *cells in others
        for head, cell in zip(heads, cells, strict=True)
        if head != "remedy" and cell
        for name in head.split(", ")
        for said in cell.split("; ")
    ]


PROMISES = [promise for page in PAGES for promise in promises(page)]


@pytest.mark.parametrize(("command", "said", "status"), PROMISES, ids=lambda part: str(part).replace("`", ""))
def test_a_status_of_the_documentation_is_that_of_the_command(
    command: str, said: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert SCENARIOS[command][said](Shell(monkeypatch)) == status


def test_nothing_that_is_tried_here_is_left_out_by_the_documentation() -> None:
    told = {command: {said for name, said, _ in PROMISES if name == command} for command, _, _ in PROMISES}

    assert told == {command: {*of} for command, of in SCENARIOS.items()}
