"""Where the checkout has what tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
QUICK = ROOT / "loadgen" / "workloads" / "quick.yaml"
