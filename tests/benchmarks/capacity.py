"""The runs that `market-spread plan` is fitted to, and those that check the fit: carry them out, and write them down.

    python tests/benchmarks/capacity.py run [NAME...]   each as `market-spread run`, in runs/capacity, all in 40 min
    python tests/benchmarks/capacity.py write [FILE]    the runs in runs/capacity, as `plan --measured` reads them;
                                                        without a file as the data of the package
    python tests/benchmarks/capacity.py draw            what one of many senders takes for the messages of the others

Fitted and checking runs take turns, so that an hour in which the machine is slow meets both. For a machine of your own,
run them there; a run of any other workload in the same folder counts, too.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the benchmarks are scripts beside each other, not a distribution

import yaml

from market_spread.common.load.schedule import Steps
from market_spread.controller.capacity.plan import SHIPPED, TERMS, Demand, Observation
from market_spread.controller.compare.runs import RecordedRun, runs_below
from market_spread.controller.host.timeline import Timeline
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.reading import Overrides, overridden, read_workload
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD

RUNS = Path("runs/capacity")
_HELD_OUT = "held-out"
_PREFIX = "capacity-"
_STEP_S, _SETTLE_S, _ALONE_S = 15, 4, 40


@dataclass(frozen=True, slots=True)
class Grid:
    """A run of the grid. Its rate changes in steps, so that several rates meet the same moment of the machine.

    held_out: the fit does not see it. state_partitions: None for the default.
    """

    rates_per_s: tuple[int, ...]
    frame_messages: int
    linger_ms: float = 2
    partitions: int = 1
    symbols: int = 350
    probes_per_s: int = 200
    state_partitions: int | None = None
    held_out: bool = False

    def workload(self, name: str) -> dict[str, object]:
        """The workload's file."""
        job: dict[str, object] = {"mode": "real-time", "batch_s": 30, "memory": "3g"}
        job["jit"] = "peak"  # as in a job that stays
        if self.state_partitions is not None:
            job["shuffle_partitions"] = self.state_partitions
        steps = [{"profile": "constant", "messages_per_s": rate, "duration_s": _STEP_S} for rate in self.rates_per_s]
        load = {"profile": "steps", "steps": steps} if len(steps) > 1 else {**steps[0], "duration_s": _ALONE_S}
        return {
            "name": f"{_PREFIX}{f'{_HELD_OUT}-' if self.held_out else ''}{name}",
            "seed": 1,
            "load": load,
            "market": {
                "symbols": self.symbols,
                "rejected_orders": "1 in 70000",
                "probes_per_s": self.probes_per_s,
                "partitions": self.partitions,
            },
            "frames": {"messages": self.frame_messages, "linger_ms": self.linger_ms},
            "job": job,
            "warm_up": {"batches": 12, "duration_s": 40, "settle_s": 5},
            # CPU is measured, so a late frame does no harm.
            "limits": {"late_ms": 1000, "late_share": 0.05},
            "void": {"foreign_share": 0.5, "drift_share": 6},
        }


# In the order in which they are carried out. In the first two steps of several Java still compiles: they are left out.
GRID = {
    "a": Grid((20_000,), 10, probes_per_s=400),
    "b": Grid((60_000,), 200, linger_ms=5, symbols=3500),
    "f": Grid((40_000,), 200, symbols=3500, state_partitions=1),
    "plain": Grid((80_000, 20_000, 120_000, 5_000, 60_000), 200),
    "linger": Grid((60_000, 40_000, 8_000, 90_000, 15_000), 200, linger_ms=3, held_out=True),
    "misses": Grid((40_000, 10_000, 50_000, 5_000, 25_000), 200, linger_ms=5, symbols=3500, state_partitions=1),
    "partitions": Grid((60_000, 10_000, 90_000, 5_000, 30_000), 200, partitions=2, probes_per_s=1000),
    "many": Grid((30_000, 8_000, 40_000, 4_000, 16_000), 200, symbols=35_000),
    "both": Grid(
        (60_000, 25_000, 80_000, 12_000, 40_000), 100, linger_ms=4, partitions=2, probes_per_s=500, held_out=True
    ),
    "small": Grid((30_000, 10_000, 40_000, 5_000, 20_000), 20),
    "cached": Grid(
        (40_000, 15_000, 50_000, 8_000, 25_000), 200, linger_ms=4, symbols=7000, state_partitions=4, held_out=True
    ),
    "large": Grid((100_000, 20_000, 150_000, 5_000, 60_000), 400, linger_ms=10, symbols=1400),
}


def run(name: str) -> None:
    """Carry out one of them; whatever the verdict is, its CPU was measured."""
    RUNS.mkdir(parents=True, exist_ok=True)
    file = RUNS / f"{name}.yaml"
    file.write_text(yaml.safe_dump(GRID[name].workload(name), sort_keys=False))
    command = [
        str(Path(sys.executable).parent / "market-spread"),
        "run",
        str(file),
        "--runs-folder",
        str(RUNS),
        "--json",
    ]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    result = json.loads(ended.stdout)
    print(name, result["run_id"], result["verdict"], result["cpu_us_per_message"], *result["reasons"])


def observations(run: RecordedRun) -> list[Observation]:
    """What the model is fitted to: the steps of a load, without the time in which they settle."""
    figures, facts = run.figures, run.facts
    workload = read_workload(run.folder / "workload.yaml")
    load, market, frames = workload.load, workload.market, workload.frames
    timeline = Timeline.read(run.folder / "timeline.parquet")
    steps = json.loads((run.folder / "result.json").read_text())["steps"]
    (started,) = (step["started"] for step in steps if step["name"] == "measuring")
    begin_s = datetime.fromisoformat(started).timestamp()
    latencies_ns = {
        "p99 between commits, ms": figures.get("latency_between_boundaries_ns.p99"),
        "pause of a commit, ms": figures.get("boundary_gap_ns_median"),
    }
    parts = load.steps if isinstance(load, Steps) else (load,)
    found, from_s, left_out = [], begin_s, 2 if len(parts) > 1 else 0
    for step in parts:
        settled_s = from_s + (_SETTLE_S if left_out else step.duration_s / 2)
        from_s += step.duration_s
        cores = {
            name: float(timeline.series(name, "cpus").within(settled_s, from_s - 1).values.mean()) for name in TERMS
        }
        observation = Observation(
            run={
                "run_id": run.run_id,
                "verdict": run.verdict,
                "commit": facts["code.git_commit"],
                "machine": f"{facts['cpu.cores']} cores, {facts['cpu.model']}",
            },
            mode=workload.job.mode,
            held_out=_HELD_OUT in run.workload,
            load=Demand(
                messages_per_s=step.rate_per_s,
                alerts_per_s=figures["alerts_received"] / figures["duration_s"],
                frame_messages=frames.messages,
                linger_ms=frames.linger_ms,
                symbols=market.symbols,
                partitions=market.partitions,
                state_partitions=workload.state_partitions,
            ),
            cores=cores,
            latencies={name: value / 1e6 for name, value in latencies_ns.items() if value is not None},
        )
        found.append(observation)
    expected = sum(of.load.numbers()["frames_per_s"] * step.duration_s for of, step in zip(found, parts, strict=True))
    print(f"{run.run_id}: {figures['frames_sent']:,.0f} frames, {expected:,.0f} expected")
    return found[left_out:]


def write(path: Path) -> None:
    """Write down the runs whose output was right, by their start, a step a line."""
    found = [each for run in runs_below(RUNS) if not run.wrong_reasons for each in observations(run)]
    path.write_text('{"runs": [\n' + ",\n".join(json.dumps(asdict(each)) for each in found) + "\n]}\n")


def drawing_s(messages: int = 3_000_000, senders: int = 64) -> float:
    """Seconds of CPU that a sender takes for a message, whosesoever it is, where it sends few of them itself."""
    offered = overridden(DEFAULT_WORKLOAD, Overrides(rate_per_s=messages, duration_s=1))
    load = plan_of_workload(offered).measured.with_parameters(shard=0, shards=senders).open(0)
    began_s = time.process_time()
    sent = sum(len(block.quotes) + len(block.orders) for block in load.blocks())
    assert 0 < sent < messages / 10
    return (time.process_time() - began_s) / messages


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "write", "draw"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    if arguments.action == "draw":
        print(f"{1e6 * drawing_s():.3f} us of CPU a message")
        return
    if arguments.action == "write":
        write(Path(arguments.names[0]) if arguments.names else SHIPPED)
        return
    for name in arguments.names or GRID:
        run(name)


if __name__ == "__main__":
    main()
