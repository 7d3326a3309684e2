"""`python tests/benchmarks/verdict_rates`: the tables of docs/comparing.md, by simulation; some minutes."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # scripts beside each other, not a distribution

from simulated import NOISES, Rates, even, rates

_NOISE_SHARES = (0.01, 0.03, 0.05, 0.1, 0.2)
_SLOWER_SHARES = (0.03, 0.05, 0.1, 0.2)


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions

    print("| noise, 8 runs a group | " + " | ".join(f"{share:.0%}" for share in _NOISE_SHARES) + " |")
    print("|---|" + "---:|" * len(_NOISE_SHARES))
    for name, noise in NOISES.items():
        found = [
            rates(repetitions=repetitions, pairs=8, noise_share=share, slower_share=0.0, noise=noise, seed=1)
            for share in _NOISE_SHARES
        ]
        print(f"| {name} | " + " | ".join(f"{each.any_wrong:.1%}" for each in found) + " |", flush=True)

    print("\n| slower by | runs a group | " + " | ".join(f"{share:.0%} noise" for share in _NOISE_SHARES) + " |")
    print("|---:|---:|" + "---:|" * len(_NOISE_SHARES))
    for slower in (0.0, *_SLOWER_SHARES):
        for pairs in (8, 16):
            found = [
                rates(repetitions=repetitions, pairs=pairs, noise_share=share, slower_share=slower, noise=even, seed=2)
                for share in _NOISE_SHARES
            ]
            print(f"| {slower:.0%} | {pairs} | " + " | ".join(_said(each) for each in found) + " |", flush=True)


def _said(each: Rates) -> str:
    return f"{each.p99_worse:.2f} / {each.p99_same:.2f}"


if __name__ == "__main__":
    main()
