"""Targets that take documents, through who reads them: workloads, results, states, timelines; and commands."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from click.testing import CliRunner

from market_spread.common.documents import json_object
from market_spread.common.errors import UsageError
from market_spread.controller.analysis.observed import Observed
from market_spread.controller.archive import observation
from market_spread.controller.archive.self_test_record import RateTest, SelfTestRecord
from market_spread.controller.archive.store import RunStore, listing
from market_spread.controller.capacity import plan as capacity
from market_spread.controller.capacity.plan import Demand, Observation
from market_spread.controller.cli import authoring
from market_spread.controller.cli.main import main
from market_spread.controller.compare.figures import read_figures
from market_spread.controller.compare.groups import read_groups
from market_spread.controller.compare.history import history_of
from market_spread.controller.compare.runs import Place, is_run, read_place, read_run, read_runs, run_folders
from market_spread.controller.deploy.local.command import Process, RegisteredStack
from market_spread.controller.host.timeline import Timeline, batch_of
from market_spread.controller.plan.reading import read_workload, to_yaml
from market_spread.controller.run_folder import Manifest, RunFolder, State, begin_or_go_on
from market_spread.v1.control_pb2 import JobStatusResponse, ReceiverStatusResponse, SenderStatusResponse
from tests.fuzz.engine import Target, WrongError
from tests.fuzz.mutation import json_of, mutated_bytes, mutated_text, mutated_tree
from tests.support.clock import ManualClock
from tests.unit.controller.compare.run_fixtures import write_run

WORKLOADS = Path(__file__).parents[2] / "loadgen" / "workloads"
GOOD, BAD = "20260101-000001-quick", "20260101-000000-quick"


def targets(scratch: Path) -> list[Target]:
    """All of them."""
    return [
        Target("json", 60_000, json_object, [_result(scratch)], mutated_json, (ValueError,)), *_workloads(scratch),
        *_documents(scratch), _timeline(scratch), *_runs(scratch), *_commands(scratch),
    ]  # fmt: skip


def mutated_json(random: Random, data: bytes) -> bytes:
    try:
        return (
            json_of(random, mutated_tree(random, json.loads(data)))
            if random.random() < 0.85
            else b"".join([data, data])
        )
    except (ValueError, RecursionError):
        return mutated_bytes(random, data)


def _mutated_document(random: Random, data: bytes) -> bytes:
    return mutated_json(random, data) if random.random() < 0.85 else mutated_bytes(random, data)


def _mutated_yaml(random: Random, data: bytes) -> bytes:
    """The tree changed, or the text: then it has what only YAML has, such as aliases and dates."""
    if random.random() < 0.4:
        extra = random.choice(
            (b"a: &a [*a]\n", b"x: !!python/object:os.system {}\n", b"? [a]\n: b\n", b"name: x\n" * 2, b"")
        )
        return mutated_text(random, data) + extra
    try:
        return yaml.safe_dump(mutated_tree(random, yaml.safe_load(data)), sort_keys=False).encode()
    except (yaml.YAMLError, ValueError, RecursionError):
        return mutated_bytes(random, data)


def _workloads(scratch: Path) -> list[Target]:
    path = scratch / "system" / "tried.yaml"

    def attempt(data: bytes) -> None:
        path.write_bytes(data)
        workload = read_workload(path)
        path.write_text(to_yaml(workload))
        again = read_workload(path)
        if again.to_mapping() != workload.to_mapping():
            raise WrongError("what was written is read as something else")

    shutil.rmtree(scratch / "system", ignore_errors=True)
    authoring.write("loop", scratch / "system", kafka="localhost:9092")
    ours = [each.read_bytes() for each in sorted(WORKLOADS.glob("*.yaml"))]
    return [
        Target("workload", 4_000, attempt, ours, _mutated_yaml),
        Target("workload-system", 4_000, attempt, [(scratch / "system" / "workload.yaml").read_bytes()], _mutated_yaml),
    ]


def _result(scratch: Path) -> bytes:
    shutil.rmtree(scratch / "one", ignore_errors=True)
    return (write_run(scratch / "one") / "result.json").read_bytes()


def _documents(scratch: Path) -> list[Target]:
    """Documents that have a reader of their own."""
    folder = RunFolder(scratch / "documents")
    folder.path.mkdir(parents=True, exist_ok=True)

    def of(name: str, weight: int, read: Callable[[Path], object], seed: bytes) -> Target:
        path = folder.path / name

        def attempt(data: bytes) -> None:
            path.write_bytes(data)
            read(path)

        return Target(f"document-{name.partition('.')[0]}", weight, attempt, [seed], _mutated_document, (UsageError,))

    state = State(folder.state, clock=ManualClock())
    for step in ("starting", "measuring", "done"):
        state.enter(step)
    Manifest({"code": {"git_commit": "a"}, "machine": {"cores": 2}}).write(folder.manifest)
    observed = Observed(
        started=datetime(2026, 11, 21, tzinfo=UTC), sent=SenderStatusResponse(messages_sent=5),
        received=ReceiverStatusResponse(alerts=3), job=JobStatusResponse(messages_committed=7), drained=True,
    )  # fmt: skip
    observation.write(folder, observed)
    Place("session", 1, "a").write(folder.path)
    parts: dict[str, dict[str, Any]] = {
        "cpu": {"model": "x"},
        "kernel": {"release": "6"},
        "memory": {"total_kb": 1},
        "limits": {"affinity": 2},
    }
    test = SelfTestRecord(
        at="2026-01-01T00:00:00+00:00", rate_per_s=20_000, code={}, packages={}, machine=parts,
        rates=(RateTest(rate_per_s=20_000, verdict="passed", error_ns=5, floor_ns={"p50": 1, "p99": 2}),),
    )  # fmt: skip
    stack = RegisteredStack(Path("/x"), None, (Process("broker", 1, 5), Process("nobody", 2, 5)))
    load = Demand(
        messages_per_s=1.0,
        alerts_per_s=1.0,
        frame_messages=1,
        linger_ms=1.0,
        symbols=1,
        partitions=1,
        state_partitions=1,
    )
    measured = Observation(
        run={"workload": "x"}, mode="real-time", held_out=False, load=load, cores={"job": 1.0}, latencies={"p50": 1.0}
    )
    plan = {"options": ["--rate", "5"], "order": ["a", "b"], "pairs": 3, "seed": 1}

    def again(path: Path) -> object:
        (path.parent / "a.yaml").write_text("name: a\n")
        return begin_or_go_on(path, {"a": "name: a\n"}, ["--rate", "5"], order=list, pairs=int)

    return [
        of("state.json", 20_000, _state_of, folder.state.read_bytes()),
        of("manifest.json", 20_000, Manifest.read, folder.manifest.read_bytes()),
        of("evidence.json", 10_000, lambda path: observation.read(folder), folder.evidence.read_bytes()),
        of("pair.json", 10_000, lambda path: read_place(path.parent), (folder.path / "pair.json").read_bytes()),
        of("selftest.json", 5_000, _test_of, json.dumps(test.document).encode()),
        of("up.json", 10_000, RegisteredStack.read, _written(stack, scratch / "up.json")),
        of("ab.json", 10_000, again, json.dumps(plan).encode()),
        of("capacity.json", 5_000, capacity.read, json.dumps({"runs": [asdict(measured)]}).encode()),
    ]


def _written(stack: RegisteredStack, path: Path) -> bytes:
    stack.write(path)
    return path.read_bytes()


def _test_of(path: Path) -> object:
    record = SelfTestRecord.read(path.parent)
    assert record is not None
    return json.dumps(record.document)


def _state_of(path: Path) -> object:
    return State(path, clock=ManualClock())


def _timeline(scratch: Path) -> Target:
    path = scratch / "timeline.parquet"
    rows = [(second, component, "cpu", 0.5) for second in (1, 2, 3) for component in ("job", "broker")]
    out = BytesIO()
    pq.write_table(pa.Table.from_batches([batch_of(rows)]), out)

    def attempt(data: bytes) -> None:
        path.write_bytes(data)
        read = Timeline.read(path)
        for component, name in read.names:
            read.series(component, name).within(0, 2)
            read.sum_of(name, [component])

    def mutate(random: Random, data: bytes) -> bytes:
        if random.random() < 0.3:
            return mutated_bytes(random, data)
        table = pa.Table.from_batches([batch_of(rows)])
        for _ in range(random.randint(1, 3)):
            at, count = random.randrange(table.num_columns), table.num_rows
            odd: Sequence[Any] = random.choice(
                (["x"] * count, [None] * count, [1.5] * count, [[1]] * count, [2**62] * count, [b"\xff"] * count)
            )
            match random.randrange(3):
                case 0 if table.num_columns > 1:
                    table = table.remove_column(at)
                case 1:
                    table = table.set_column(at, table.column_names[at], pa.array(odd))
                case _:
                    table = table.slice(random.randrange(count + 1))
        made = BytesIO()
        pq.write_table(table, made)
        return made.getvalue()

    return Target("timeline", 3_000, attempt, [out.getvalue()], mutate, (UsageError,))


class Runs:
    """Two good runs and one with a document of a stranger, as all see it who read folders of runs."""

    def __init__(self, folder: Path, name: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        for number in range(3):
            run = write_run(folder, number)
            Manifest({"code": {"git_commit": "a"}}).write(run / "manifest.json")
            Place("session", number, "a").write(run)
            (run / "run.md").write_text("# Run\n")
            (run / "state.json").write_text('{"version": 1, "step": "done", "resumed": 0}')
        self.path = folder / BAD / name

    def attempt(self, data: bytes) -> None:
        """List, history and comparison, without their commands."""
        self.path.write_bytes(data)
        summaries = RunStore(str(self.folder)).summaries()
        if GOOD not in listing(summaries) or len(summaries) != 3:
            raise WrongError(f"the list has not all of the runs: {summaries}")
        runs, unreadable = read_runs(run_folders(self.folder))
        if len(runs) + len(unreadable) != 3 or len(runs) < 2 or any("\n" in each for each in unreadable):
            raise WrongError(f"{len(runs)} runs can be read, and of others is said: {unreadable}")
        history_of(runs, read_figures([], []), unreadable=unreadable)
        if is_run(self.folder / BAD) and not unreadable:
            read_run(self.folder / BAD)
            read_groups([f"a={BAD}", GOOD], runs_folder=self.folder)

    def command(self, *words: str) -> Callable[[bytes], None]:
        """A command on them. It ends with a sentence, and shows the good run where it shows runs."""

        def attempt(data: bytes) -> None:
            self.path.write_bytes(data)
            self.run(*words)

        return attempt

    def run(self, *words: str) -> None:
        ended = CliRunner().invoke(main, [word.replace("RUNS", str(self.folder)) for word in words])
        if ended.exception is not None and not isinstance(ended.exception, SystemExit):
            raise ended.exception
        said = ended.stderr.strip()
        if ended.exit_code == 2 and (not said.startswith("market-spread: ") or "Traceback" in said):
            raise WrongError(f"{' '.join(words)} ends with 2 and says {said!r}")
        if ended.exit_code not in (0, 1, 2, 3):
            raise WrongError(f"{' '.join(words)} ends with {ended.exit_code}")
        if words[0] == "list" and ended.exit_code != 2 and GOOD not in ended.stdout:
            raise WrongError(f"the good run is not listed: {ended.output}")


def _runs(scratch: Path) -> list[Target]:
    of = {name: Runs(scratch / f"runs-{name}", name) for name in ("result.json", "manifest.json", "state.json")}
    return [
        Target(f"runs-{name}", 2_000, runs.attempt, [runs.path.read_bytes()], _mutated_document, ())
        for name, runs in of.items()
    ]


def _commands(scratch: Path) -> list[Target]:
    result, up = Runs(scratch / "commands", "result.json"), scratch / "commands-up"
    up.mkdir(parents=True, exist_ok=True)
    seed = [result.path.read_bytes()]
    places = {
        "list": ("list", "RUNS"), "list-json": ("list", "RUNS", "--json"), "history": ("history", "RUNS"),
        "compare": ("compare", BAD, GOOD, "--runs-folder", "RUNS"), "show": ("show", BAD, "--runs-folder", "RUNS"),
    }  # fmt: skip

    def status(data: bytes) -> None:
        (up / "up.json").write_bytes(data)
        result.run("status", "--folder", str(up))

    def words(data: bytes) -> None:
        """Commands whose arguments are anything."""
        given = data.decode("utf-8", "surrogateescape").split("\x1e")
        if given[0] in _HARMLESS:
            result.run(*given)

    def mutate(random: Random, data: bytes) -> bytes:
        given = data.split(b"\x1e")
        at = random.randrange(1, len(given) + 1)
        given[at:at] = [random.choice(_WORDS)] if random.random() < 0.5 else []
        if at < len(given):
            given[at] = random.choice(_WORDS) if random.random() < 0.5 else mutated_bytes(random, given[at])
        return b"\x1e".join(given)

    shutil.copytree(scratch / "commands", scratch / "words")
    seeds = [
        "list\x1eRUNS",
        f"show\x1e{GOOD}\x1e--runs-folder\x1eRUNS",
        f"compare\x1e{GOOD}\x1e{BAD}\x1e--runs-folder\x1eRUNS",
    ]
    seeds += [
        "history\x1eRUNS\x1e--figure\x1elatency_ns.p99",
        "describe\x1eword_count",
        f"validate\x1e{WORKLOADS}/quick.yaml",
    ]
    return [
        *(Target(f"command-{name}", 150, result.command(*of), seed, _mutated_document) for name, of in places.items()),
        Target("command-status", 300, status, [(scratch / "up.json").read_bytes()], _mutated_document),
        Target("command-words", 300, words, [each.encode() for each in seeds], mutate),
    ]  # fmt: skip


# Commands that start nothing, and write nowhere but into their output.
_HARMLESS = {"list", "show", "compare", "history", "describe", "validate"}
_WORDS = (
    b"--json", b"--figure", b"--least", b"RUNS", b"*", b"data:,x", b"reference://", b"memory://x", b"zip://x::y", b"",
    b"x\x00y", b"../..", b"\xed\xa0\x80", b"5%", b"-1", b"nan", b"a=", b"=", b"a,b", b"latency_ns.p99:higher",
    b"--force", b"/dev/null", b"/", b"http://", b"word_count:x", b"latency_ns.", b"--skip-void", b"[", b"--anchor",
)  # fmt: skip
