"""Counts what is found and what is wrongly blamed, and writes both numbers into the README.

    .venv/bin/python -m tests.mutants [--real] [--write]

--real: also the wrong jobs on real Kafka and Spark, a minute each. Without --write it only prints them.
"""

import itertools
import re
import sys
import tempfile
from pathlib import Path

from market_spread.runs.analysis.latency import stamp_faults
from tests.mutants.inputs import generated, hand_made
from tests.mutants.real import WRONG_JOBS, is_found, run_of
from tests.mutants.system import MICRO_BATCH, REAL_TIME, System
from tests.mutants.test_mutants import KINDS, LIVES, SEEDS, STANDSTILLS_US, judged, right_system
from tests.mutants.wrong import MUTANTS, STAMPS

README = Path(__file__).parents[2] / "README.md"
_PLACE = re.compile(r"(<!-- mutants -->\n).*?(\n<!-- /mutants -->)", re.DOTALL)


def caught() -> int:
    """How many of the wrong systems are found by a fault of their kind, or by the stages that they spoil."""
    found = 0
    for mutant in MUTANTS:
        _, judgement = judged(mutant.system, hand_made(1))
        found += bool({kind for kind in KINDS if getattr(judgement, kind)} & set(mutant.caught))
    for mutant in STAMPS:
        alerts, _ = judged(mutant.system, hand_made(1))
        found += {name for name, count in stamp_faults(alerts).items() if count > 0.001 * len(alerts)} == set(
            mutant.caught
        )
    return found


def blamed() -> tuple[int, int]:
    """Of how many right systems how many are called failed or void."""
    cases = itertools.product((hand_made, generated), LIVES, (REAL_TIME, MICRO_BATCH), STANDSTILLS_US, SEEDS)
    systems = [(right_system(life, mode, us, seed), make(seed % 3)) for make, life, mode, us, seed in cases]
    systems += [(System(seed=seed, hiccup_us=60_000), generated(seed % 3)) for seed in range(24)]
    return sum(not judged(system, given)[1].ok for system, given in systems), len(systems)


def main() -> None:
    """Print the sentence, and write it if asked for."""
    wrong, right = blamed()
    sentence = (
        f"Of {len(MUTANTS) + len(STAMPS)} wrong systems, simulated, the oracle and the stamps find {caught()}; "
        f"of {right} right ones {wrong} are blamed (`python -m tests.mutants`)."
    )
    if "--real" in sys.argv[1:]:
        real = 0
        for job in WRONG_JOBS:
            with tempfile.TemporaryDirectory() as folder:
                result = run_of(job, Path(folder))
            real += is_found(job, result)
            print(f"{job.name}: {result['verdict']}, {'; '.join(result['reasons'][:1])}")
        sentence += f"\nOf {len(WRONG_JOBS)} wrong jobs on real Kafka and Spark, {real} are called what they are."
    print(sentence)
    if "--write" in sys.argv[1:]:
        README.write_text(_PLACE.sub(rf"\g<1>{sentence}\g<2>", README.read_text()))


if __name__ == "__main__":
    main()
