"""The command line without processes: help, wrong usage, and how errors are said."""

import errno
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from market_spread.common.errors import MarketSpreadError, RunFailedError, RunVoidError, UsageError
from market_spread.common.jvm.jars import JarCache, read_lock
from market_spread.common.load.schedule import DURATION_S_MAX, DURATION_S_MIN, RATE_PER_S_MAX
from market_spread.common.wire.codec import encode
from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.controller.cli.authoring import SYSTEMS
from market_spread.controller.cli.main import SECTIONS, main
from market_spread.controller.deploy.local.command import Process
from market_spread.controller.exits import Commands, say
from market_spread.controller.plan.plan import plan_of_files
from market_spread.controller.plan.reading import read_workload
from market_spread.controller.plan.system import SystemWorkload
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD
from market_spread.controller.session import execute as running
from market_spread.controller.session.subprocess import RunProcess
from market_spread.loadgen.market.symbols import SYMBOLS_MAX, SYMBOLS_MIN
from tests.support.paths import QUICK, ROOT
from tests.support.pipelines import named
from tests.unit.controller.compare.run_fixtures import write_run

COMMANDS = [
    *("ab", "check", "compare", "describe", "down", "export", "generate", "history", "init", "list", "pipeline"),
    *("plan", "probe", "replay", "run", "selftest", "setup", "show", "status", "sweep"),
    *("systems", "topics", "torture", "ui", "up"),
]


def invoke(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def quotes(*symbols: bytes) -> bytes:
    count = len(symbols)
    columns = {
        "symbol": np.array([symbol.ljust(6) for symbol in symbols], "S6"),
        "bid": np.full(count, 1_000_000),
        "offer": np.full(count, 1_000_500),
        "intended_us": np.full(count, 1_700_000_000_000_000),
        "sequence": np.arange(1, count + 1),
    }
    return encode(NBBO, columns).tobytes() if count else b""


def orders(*order_ids: int) -> bytes:
    count = len(order_ids)
    columns = {
        "symbol": np.array([b"WIDE  "] * count, "S6"),
        "side": np.full(count, ord("B"), np.uint8),
        "account": np.full(count, 57),
        "order_id": np.array(order_ids, np.int64),
        "quantity": np.full(count, 100),
        "price": np.full(count, 1_000_000),
        "intended_us": np.full(count, 1_700_000_000_000_000),
    }
    return encode(ORDER, columns).tobytes() if count else b""


def recording(folder: Path, nbbo: bytes, order_bytes: bytes) -> list[object]:
    (folder / "nbbo.messages").write_bytes(nbbo)
    (folder / "orders.messages").write_bytes(order_bytes)
    return ["--nbbo", folder / "nbbo.messages", "--orders", folder / "orders.messages"]


def failing_with(error: BaseException) -> click.Command:
    @click.group(cls=Commands)
    def group() -> None:
        """Fail."""

    @group.command()
    def work() -> None:
        raise error

    return group


def test_help_lists_every_command() -> None:
    result = CliRunner().invoke(main, ["--help"], env={"COLUMNS": "80"})
    lines = result.output.splitlines()

    assert result.exit_code == 0
    assert sorted(main.commands) == sorted(name for names in SECTIONS.values() for name in names) == COMMANDS
    listed = [re.fullmatch(r"  (\w*) +(\w+)  +[A-Z].*[.?]", line) for line in lines[lines.index("Commands:") + 1 : -2]]
    assert [line[1] for line in listed if line and line[1]] == [*SECTIONS]
    assert sorted(line[2] for line in listed if line) == COMMANDS
    assert len(lines) < 40
    assert invoke("-h").output == invoke("--help").output
    assert invoke("--version").output.startswith("market-spread, version ")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_it_does_with_an_example(command: str) -> None:
    result = invoke(command, "--help")

    assert result.exit_code == 0
    assert f"Usage: main {command}" in result.output
    assert f"Example: market-spread {command}" in result.output


@pytest.mark.parametrize("command", ["run", "replay", "plan", "generate", "selftest"])
def test_help_gives_ranges_and_defaults(command: str) -> None:
    ranges = {
        "--rate": (1, RATE_PER_S_MAX // 2 if command == "selftest" else RATE_PER_S_MAX),
        "--duration": (DURATION_S_MIN, DURATION_S_MAX),
        "--symbols": (SYMBOLS_MIN, SYMBOLS_MAX),
        "--frame-size": (1, 100_000),
    }
    options = [each for each in main.commands[command].params if each.opts[0] in ranges]

    for option in options:
        assert isinstance(option, click.Option)
        low, high = ranges[option.opts[0]]
        assert f"{low:,} to {high:,}" in str(option.help)
        assert option.show_default or option.default or option.required
    assert options


def test_help_gives_units() -> None:
    text = " ".join(invoke("run", "--help").output.split())

    assert "--rate INTEGER Messages per second" in text
    assert text.count("[default: (that of the WORKLOAD)]") == 5
    assert "--mode [real-time|micro-batch]" in text
    assert "--duration FLOAT Seconds" in text
    assert "Unix nanoseconds" in " ".join(invoke("generate", "--help").output.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Usage: "),
        (["fly"], "market-spread: no such command 'fly'; see market-spread --help\n"),
        (["--fly"], "market-spread: no such option '--fly'; see market-spread --help\n"),
        (["probe", "sea"], "market-spread: no such command 'sea'; see market-spread probe --help\n"),
        (["probe", "kafka"], "missing option '--bootstrap-servers'; see market-spread probe kafka --help\n"),
        (["run"], "name a WORKLOAD, or a run with --resume"),
        (["run", QUICK, "--speed", "1"], "market-spread: no such option '--speed'"),
        (
            ["run", QUICK, "--mode", "warp"],
            "'warp' is not one of 'real-time', 'micro-batch'; see market-spread run --help",
        ),
        (["run", QUICK, "--rate", "fast"], "'fast' is not a valid integer"),
        (["replay", "--nbbo", "a"], "missing option '--orders'"),
        (["replay", "--nbbo", "a", "--orders", "b", "--format", "csv"], "no such option '--format'"),
        (["generate", QUICK, "--nbbo", "a"], "missing option '--orders'"),
        (["check", "--nbbo", "a", "--orders", "b"], "missing option '--alerts'"),
        (["up", "--port", "70000"], "70000 is not in the range"),
        (["down", "now"], "got unexpected extra argument (now)"),
    ],
)
def test_wrong_usage_exits_with_2(words: list[object], said: str) -> None:
    result = invoke(*words)

    assert result.exit_code == 2
    assert said in result.stderr
    assert not words or result.stderr.count("\n") == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "missing.yaml"], "the workload missing.yaml cannot be read: No such file or directory"),
        (["run", QUICK, "--symbols", "7"], "--symbols 7; use a whole number from 350 to 100000"),
        (["run", QUICK, "--frame-size", "0"], "--frame-size 0; use a whole number from 1 to 100000"),
        (["run", QUICK, "--rate", "-5"], "--rate -5; use a whole number from"),
        (["ui", "missing"], "missing is not a folder; name the one that holds the runs, which `run` makes"),
        (["up", "--workload", "missing.yaml"], "the workload missing.yaml cannot be read: No such file or directory"),
        (["replay", "--nbbo", "a", "--orders", "b", "--rate", "0"], "--rate 0; use 1 to 10000000"),
        (["replay", "--nbbo", "a", "--orders", "b"], "a cannot be read: No such file or directory"),
        (["generate", QUICK, "--nbbo", "a", "--orders", "a"], "quotes and orders would both go to a; name two files"),
        (["generate", QUICK, "--nbbo", "a", "--orders", "b", "--start", "5"], "--start 5; use 10000000000 to"),
        (["generate", QUICK, "--nbbo", "no/a", "--orders", "b"], "no/a cannot be written after 0 messages: No such"),
        (["generate", QUICK, "--nbbo", "/dev/full", "--orders", "b"], "No space left on device"),
        (["check", "--nbbo", "a", "--orders", "b", "--alerts", "c"], "c cannot be read: No such file or directory"),
    ],
)
def test_error_is_one_line_and_2(
    words: list[object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    result = invoke(*words)

    assert result.exit_code == 2
    assert result.stderr.startswith("market-spread: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (UsageError("rate=0; use more"), 2, "market-spread: rate=0; use more\n"),
        (RunFailedError("no alert came"), 1, "market-spread: no alert came\n"),
        (RunVoidError("the broker ended"), 3, "market-spread: the broker ended\n"),
        (MarketSpreadError("it went wrong"), 1, "market-spread: it went wrong\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "market-spread: No space left on device\n"),
        (PermissionError(errno.EACCES, "Permission denied", "runs"), 2, "market-spread: Permission denied: runs\n"),
        (KeyboardInterrupt(), 3, "market-spread: interrupted\n"),
    ],
)
def test_error_of_a_command_is_a_sentence_and_a_status(error: BaseException, status: int, said: str) -> None:
    result = CliRunner().invoke(failing_with(error), ["work"])

    assert (result.exit_code, result.stderr) == (status, said)


@pytest.mark.parametrize("words", [[], ["--quiet"], ["-q"]])
def test_quiet_is_result_and_errors_alone(words: list[str], tmp_path: Path) -> None:
    made = invoke(*words, "init", tmp_path / "fares")
    refused = invoke(*words, "init", tmp_path / "fares")

    assert made.stdout.startswith(str(tmp_path / "fares"))
    assert made.stderr.startswith("run it with: ") is not bool(words)
    assert refused.stderr.startswith("market-spread: ")


@pytest.mark.parametrize("name", [name for name in SYSTEMS if "jars" not in SYSTEMS[name]])
def test_init_writes_each_system_so_that_its_workload_reads(name: str, tmp_path: Path) -> None:
    made = invoke("init", tmp_path / name, "--template", name, "--kafka", "localhost:1")

    workload = read_workload(tmp_path / name / "workload.yaml")
    assert (made.exit_code, isinstance(workload, SystemWorkload)) == (0, True)
    assert {path.name for path in (tmp_path / name).iterdir()} == {Path(line).name for line in made.stdout.splitlines()}


def test_jars_of_systems_are_of_groups_that_are_locked() -> None:
    locked = {jar.group for jar in read_lock((ROOT / "systems/src/market_spread/systems/jars.lock").read_text())}

    wanted = {group for system in SYSTEMS.values() for group in system.get("jars", ())}

    assert locked == {"streams", "flink"} <= wanted
    assert wanted - locked <= {jar.group for jar in JarCache().jars}


def test_systems_are_those_of_init_each_with_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    listed = json.loads(invoke("systems", "--json").stdout)
    lines = invoke("systems").stdout.splitlines()

    assert [each["name"] for each in listed] == [*SYSTEMS] == [line.split()[0] for line in lines]
    lacking = {each["name"]: each["lacks"] for each in listed if each["lacks"]}
    assert lacking == {"kafka_streams": ["java", "javac"], "flink": ["java", "javac", "flink"]}
    assert lines[-1].endswith("java (not here), javac (not here), flink (not here)")
    assert all(each["about"] in line for each, line in zip(listed, lines, strict=True))


def test_what_is_said_outside_of_a_command_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    say("starting")

    assert capsys.readouterr() == ("", "starting\n")


@pytest.mark.parametrize(("quiet", "said"), [(False, "--resume"), (True, "")])
def test_a_run_among_several_says_nothing_on_standard_output(
    quiet: bool, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    RunProcess(["--help"], quiet=quiet)(QUICK, runs_folder=tmp_path, options=())

    printed = capfd.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert bool(printed.err) is not quiet


@pytest.mark.parametrize("has_its_own", [True, False])
def test_the_runs_of_a_working_tree_are_made_by_its_own_command(
    has_its_own: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "tree" / ".venv" / "bin" / "market-spread"
    if has_its_own:
        own.parent.mkdir(parents=True)
        own.write_text('#!/bin/sh\necho "its own: $*"\n')
        own.chmod(0o755)

    runs = RunProcess(["--help"], checkout=tmp_path / "tree", name="load/w.yaml")
    runs(Path("a.yaml"), runs_folder=tmp_path, options=())

    said = capfd.readouterr().err
    # And on its own workload: what this version has written of it another one may not know.
    assert (f"its own: run {tmp_path}/tree/load/w.yaml --runs-folder {tmp_path} --help" in said) is has_its_own
    assert ("Usage: " in said) is not has_its_own


def test_completion_of_a_shell() -> None:
    script = CliRunner().invoke(main, [], prog_name="market-spread", env={"_MARKET_SPREAD_COMPLETE": "bash_source"})
    words = {"_MARKET_SPREAD_COMPLETE": "bash_complete", "COMP_WORDS": "market-spread run --mode ", "COMP_CWORD": "3"}
    values = CliRunner().invoke(main, [], prog_name="market-spread", env=words)
    words |= {"COMP_WORDS": "market-spread se", "COMP_CWORD": "1"}
    commands = CliRunner().invoke(main, [], prog_name="market-spread", env=words)

    assert script.exit_code == values.exit_code == commands.exit_code == 0
    assert "complete -o nosort -F _market_spread_completion market-spread" in script.output
    assert values.output.split() == ["plain,real-time", "plain,micro-batch"]
    assert commands.output.split() == ["plain,selftest", "plain,setup"]


def test_bug_is_not_hidden() -> None:
    result = CliRunner().invoke(failing_with(ZeroDivisionError()), ["work"])

    assert isinstance(result.exception, ZeroDivisionError)


@pytest.mark.parametrize(
    ("nbbo", "order_bytes", "said"),
    [
        (b"", orders(1), "nbbo.messages has no quote to replay; name a file that has"),
        (quotes(b"WIDE"), b"", "orders.messages has no order to replay; name a file that has"),
        (quotes(b"WIDE"), orders(1, 9_000_000_000), "has the order id 9000000000; ids from 9000000000 on are those of"),
        (quotes(b"WIDE"), orders(3, 1, 3), "has the order id 3 more than once; give each order an id of its own"),
        (quotes(b"WIDE")[:-1], orders(1), "is cut short: the message at byte 0 has 54 of the 55 bytes"),
        (quotes(b"WIDE"), orders(1) + b"x" * 59, "orders.messages has no order message at byte 59"),
    ],
)
def test_recording_that_cannot_be_replayed_is_refused(
    nbbo: bytes, order_bytes: bytes, said: str, tmp_path: Path
) -> None:
    result = invoke("replay", *recording(tmp_path, nbbo, order_bytes), "--runs-folder", tmp_path / "runs")

    assert result.exit_code == 2
    assert said in result.stderr
    assert not (tmp_path / "runs").exists()


def test_runs_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    options = recording(tmp_path, quotes(b"WIDE"), orders(5))

    result = invoke("replay", *options, "--runs-folder", tmp_path / "runs" / "deeper")

    assert result.exit_code == 2
    assert result.stderr.startswith(f"market-spread: the run's folder {tmp_path / 'runs' / 'deeper'}/")
    assert result.stderr.endswith(" cannot be made: Not a directory\n")


def test_plan_of_files_sends_each_once_and_fences_them(tmp_path: Path) -> None:
    recording(tmp_path, quotes(b"WIDE", b"TIGHT", b"WIDE"), orders(5, 2))

    plan = plan_of_files(tmp_path / "nbbo.messages", tmp_path / "orders.messages", rate_per_s=100)

    assert plan.is_fenced
    assert plan.workload.market.symbols == 2
    assert plan.probe_symbols == frozenset()
    assert plan.initial.open(0).messages == 3
    assert plan.measured.open(0).messages == plan.workload.load.total() == 2
    assert (plan.duration_s, plan.offered_rate_per_s) == (0.02, 100)
    assert plan.origin["source"] == "recorded"


def test_default_job_is_that_of_the_quick_workload() -> None:
    quick = read_workload(QUICK)

    assert (DEFAULT_WORKLOAD.job, DEFAULT_WORKLOAD.warm_up) == (quick.job, quick.warm_up)
    assert (DEFAULT_WORKLOAD.market.partitions, DEFAULT_WORKLOAD.decisions) == (
        quick.market.partitions,
        quick.decisions,
    )
    assert DEFAULT_WORKLOAD.frames == quick.frames


def test_descriptions_as_json() -> None:
    described = json.loads(invoke("describe", named("sequence_window"), "--json").stdout)

    assert described["name"] == "sequence_window"
    assert described["steps"][0] == "  source numbers: counter string, sequence bigint, value bigint"
    assert described["obstacles"]["micro-batch"] is None
    assert described["obstacles"]["real-time"].startswith("'window' is Python, which real-time does not run")


def commands_of(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from commands_of(command)
        else:
            yield command


def test_every_command_with_a_result_prints_it_as_json() -> None:
    lacking = [each.name for each in commands_of(main) if not any("--json" in option.opts for option in each.params)]

    assert lacking == ["ui"]


def test_what_init_writes_as_json(tmp_path: Path) -> None:
    result = invoke("init", tmp_path / "fares", "--json")

    assert {Path(each) for each in json.loads(result.stdout)} == {*(tmp_path / "fares").iterdir()}


def test_what_generate_writes_as_json(tmp_path: Path) -> None:
    words = ["--nbbo", tmp_path / "nbbo", "--orders", tmp_path / "orders", "--duration", "1"]

    result = invoke("generate", QUICK, *words, "--json")

    assert json.loads(result.stdout) == {"quotes": 10_450, "initial_quotes": 450, "orders": 10_000}


def test_what_export_copies_as_json(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs", 1)

    result = invoke("export", folder.name, tmp_path / "archive", "--runs-folder", folder.parent, "--json")

    document = json.loads(result.stdout)
    assert document["place"] == f"{tmp_path}/archive/{folder.name}"
    assert document["files"] == len([*(tmp_path / "archive" / folder.name).iterdir()])
    assert document["bytes"] > 0


@pytest.mark.parametrize(
    ("words", "does", "result", "status", "document"),
    [
        (
            ["topics", "--bootstrap-servers", "b:1", "--partitions", "2"],
            "deploy.topics.ensure_topics", [("nbbo", 2, True), ("alerts", 1, False)], 0,
            [{"topic": "nbbo", "partitions": 2, "made": True}, {"topic": "alerts", "partitions": 1, "made": False}],
        ),
        (
            ["probe", "services", "job=b:1"], "clients.probe.service_problem", "NOT_SERVING", 1,
            [{"name": "job", "healthy": False, "problem": "NOT_SERVING"}],
        ),
        (
            ["probe", "kafka", "--bootstrap-servers", "b:1", "--prefix", "a."], "clients.probe.kafka_round_trip", 7, 0,
            {"topic": "a.market-spread-probe", "offset": 7},
        ),
        (
            ["down"], "deploy.local.command.BackgroundStack.bring_down", [Process("broker", 5, 60)], 0,
            [{"name": "broker", "pid": 5, "start_ticks": 60}],
        ),
    ],
)  # fmt: skip
def test_what_a_command_has_done_as_json(
    words: list[str], does: str, result: object, status: int, document: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"market_spread.controller.{does}", lambda *_, **__: result)

    ended = invoke(*words, "--json")

    assert (ended.exit_code, json.loads(ended.stdout)) == (status, document)


def test_what_setup_fetches_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("market_spread.common.jvm.jars.find_java", lambda _: None)
    monkeypatch.setattr("market_spread.common.jvm.jars.JarCache.fetch", lambda *_: 3)
    monkeypatch.setattr("market_spread.controller.deploy.local.jvms.local_jvms", lambda *_, **__: None)

    assert json.loads(invoke("setup", "--json").stdout) == {"jars_fetched": 3}


def test_a_check_as_json(tmp_path: Path) -> None:
    words = recording(tmp_path, quotes(b"WIDE"), orders(1))
    (tmp_path / "alerts.ledger").write_bytes(b"")

    result = invoke("check", *words, "--alerts", tmp_path / "alerts.ledger", "--json")

    document = json.loads(result.stdout)
    assert result.exit_code == {"passed": 0, "failed": 1, "void": 3}[document["verdict"]]
    assert (document["orders"], document["received"]) == (1, 0)
    assert document.keys() >= {"void_reason", "missing", "sentences"}


def test_no_processes_as_json(tmp_path: Path) -> None:
    assert json.loads(invoke("status", "--folder", tmp_path / "none", "--json").stdout) == []


@pytest.mark.parametrize(("command", "said"), [("status", "nothing is up; bring it up"), ("down", "nothing is up")])
def test_without_processes_status_and_down_say_so(command: str, said: str, tmp_path: Path) -> None:
    result = invoke(command, "--folder", tmp_path / "none")

    assert result.exit_code == 0
    assert said in result.stdout
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("damage", ["", "{}", '{"version": 2}', '{"version": 1, "folder": "x"}', "[]"])
@pytest.mark.parametrize("command", ["status", "down"])
def test_damaged_list_of_processes_is_one_line(command: str, damage: str, tmp_path: Path) -> None:
    (tmp_path / "up.json").write_text(damage)

    result = invoke(command, "--folder", tmp_path)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"market-spread: {tmp_path / 'up.json'} does not tell which processes are up (")
    assert result.stderr.count("\n") == 1


def test_missing_java_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    commands: list[Callable[[], Result]] = [
        lambda: invoke("setup"),
        lambda: invoke("run", QUICK, "--runs-folder", tmp_path / "runs"),
    ]

    for command in commands:
        result = command()

        assert result.exit_code == 2
        assert result.stderr.startswith(f"market-spread: no Java at {tmp_path / 'none' / 'bin' / 'java'}; install Java")
        assert result.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_full_disk_within_a_run_makes_it_void(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "evidence.json")

    monkeypatch.setattr(running, "launch", launch)
    monkeypatch.setattr(running, "find_java", lambda _: None)
    monkeypatch.setattr(running, "call_on_signals", lambda _: None)

    result = invoke("run", QUICK, "--runs-folder", tmp_path)

    assert result.exit_code == 3
    assert result.stderr == "market-spread: the run broke off: No space left on device: evidence.json\n"


def test_run_in_a_cluster_that_cannot_be_reached_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))

    result = invoke("run", QUICK, "--target", "kubernetes", "--runs-folder", tmp_path / "runs")

    assert result.exit_code == 2
    assert result.stderr.startswith("market-spread: no cluster can be reached: ")
    assert result.stderr.endswith("; set KUBECONFIG or name another --context\n")
    assert not (tmp_path / "runs").exists()


def test_run_in_cluster_is_for_pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    result = invoke("run", QUICK, "--target", "kubernetes", "--in-cluster", "--runs-folder", tmp_path / "runs")

    assert result.exit_code == 2
    assert result.stderr.startswith("market-spread: --in-cluster is for a pod: ")


def test_processes_of_a_cluster_are_not_monitored_from_here(tmp_path: Path) -> None:
    result = invoke("run", QUICK, "--target", "kubernetes", "--monitored", "--runs-folder", tmp_path / "runs")

    assert result.exit_code == 2
    assert "--monitored is for processes of one machine" in result.stderr


def test_addresses_to_probe_are_named(tmp_path: Path) -> None:
    result = invoke("probe", "services", "receiver=127.0.0.1:1", "sender", "job=nowhere")

    assert result.exit_code == 2
    assert result.stderr == "market-spread: sender, job=nowhere; write NAME=HOST:PORT\n"
