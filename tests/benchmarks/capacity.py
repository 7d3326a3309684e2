"""The runs that `market-spread plan` is fitted to, and those that check the fit: carry them out, and write them down.

    python tests/benchmarks/capacity.py run NAME...     each as `market-spread run`, in runs/capacity
    python tests/benchmarks/capacity.py write           what there is in runs/capacity, as the data of the package

Fitted and checking runs take turns, so that an hour in which the machine is slow meets both.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the benchmarks are scripts beside each other, not a distribution

import yaml

from market_spread.controller.capacity.measured import DATA, observations_below, to_json

RUNS = Path("runs/capacity")
_PREFIX = "capacity-"


@dataclass(frozen=True, slots=True)
class Point:
    """A run of the grid. held_out: the fit does not see it. state_partitions: None for the default."""

    rate_per_s: int
    frame_messages: int
    linger_ms: float = 2
    partitions: int = 1
    symbols: int = 350
    probes_per_s: int = 200
    state_partitions: int | None = None
    mode: str = "real-time"
    held_out: bool = False

    def workload(self, name: str) -> dict[str, object]:
        """The workload's file."""
        is_real_time = self.mode == "real-time"
        job: dict[str, object] = {"mode": self.mode, "batch_s": 30 if is_real_time else 1, "memory": "3g"}
        job["jit"] = "peak"  # as in a job that stays
        if self.state_partitions is not None:
            job["shuffle_partitions"] = self.state_partitions
        return {
            "name": f"{_PREFIX}{'held-out-' if self.held_out else ''}{name}",
            "seed": 1,
            "load": {"profile": "constant", "messages_per_s": self.rate_per_s, "duration_s": 40},
            "market": {
                "symbols": self.symbols,
                "rejected_orders": "1 in 70000",
                "probes_per_s": self.probes_per_s,
                "partitions": self.partitions,
            },
            "frames": {"messages": self.frame_messages, "linger_ms": self.linger_ms},
            "job": job,
            "warm_up": {"batches": 12, "duration_s": 22, "settle_s": 5},
            # CPU a message is measured, so a late frame does no harm.
            "limits": {"late_ms": 1000, "late_share": 0.05},
            "void": {"foreign_share": 0.5, "drift_share": 6},
        }


# In the order in which they are carried out.
POINTS = {
    "a": Point(20_000, 10, probes_per_s=400),
    "b": Point(60_000, 200, linger_ms=5, symbols=3500),
    "h1": Point(30_000, 200, linger_ms=3, held_out=True),
    "c": Point(5_000, 200),
    "d": Point(100_000, 200),
    "e": Point(20_000, 200, partitions=2, probes_per_s=1000),
    "h2": Point(80_000, 100, partitions=2, held_out=True),
    "f": Point(40_000, 200, symbols=3500, state_partitions=1),
    "g": Point(10_000, 100, linger_ms=20),
    "h3": Point(175_000, 400, held_out=True),
    "i": Point(60_000, 20),
    "j": Point(150_000, 400, linger_ms=5),
    "h4": Point(10_000, 20, partitions=2, probes_per_s=500, held_out=True),
    "k": Point(20_000, 200, linger_ms=10),
    "l": Point(30_000, 200, symbols=35_000),
    "h5": Point(50_000, 200, linger_ms=4, symbols=7000, state_partitions=4, held_out=True),
    "m": Point(40_000, 50, partitions=2, probes_per_s=1000),
    "na": Point(20_000, 200, linger_ms=10, mode="micro-batch"),
    "nb": Point(100_000, 200, mode="micro-batch"),
    "nh": Point(60_000, 200, linger_ms=5, mode="micro-batch", held_out=True),
    "nc": Point(200_000, 900, linger_ms=10, mode="micro-batch"),
    "nd": Point(40_000, 20, mode="micro-batch"),
}


def run(name: str) -> None:
    """Carry out one of them; whatever the verdict is, its CPU was measured."""
    RUNS.mkdir(parents=True, exist_ok=True)
    file = RUNS / f"{name}.yaml"
    file.write_text(yaml.safe_dump(POINTS[name].workload(name), sort_keys=False))
    command = [str(Path(sys.executable).parent / "market-spread"), "run", str(file), "--runs-folder", str(RUNS), "--json"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    result = json.loads(ended.stdout)
    print(name, result["run_id"], result["verdict"], result["cpu_us_per_message_second_half"], *result["reasons"])


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "write"))
    parser.add_argument("names", nargs="*", choices=[*POINTS, []], metavar="NAME")
    arguments = parser.parse_args()
    if arguments.action == "write":
        DATA.write_text(to_json(observations_below(RUNS)))
        return
    for name in arguments.names or POINTS:
        run(name)


if __name__ == "__main__":
    main()
