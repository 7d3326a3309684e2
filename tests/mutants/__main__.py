"""Counts what is found and what is wrongly blamed, and writes both numbers into the README.

    .venv/bin/python -m tests.mutants [--real [SESSION ...]] [--kept FOLDER] [--write]

--real: also on real Kafka and Spark, all sessions or those that are named, less than a minute each. --kept: what they
observed is kept there, and judged again without being done again. Without --write it only prints the numbers.
"""

import argparse
import itertools
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from market_spread.controller.analysis.latency import stamp_faults
from tests.mutants.inputs import generated, hand_made
from tests.mutants.real import SESSIONS, carried_out
from tests.mutants.rig import WRONG_RIGS
from tests.mutants.system import MICRO_BATCH, REAL_TIME, System
from tests.mutants.test_mutants import KINDS, LIVES, SEEDS, STANDSTILLS_US, judged, right_system
from tests.mutants.wrong import MUTANTS, STAMPS

README = Path(__file__).parents[2] / "README.md"
_PLACE = re.compile(r"(<!-- mutants -->\n).*?(\n<!-- /mutants -->)", re.DOTALL)


def caught() -> int:
    """How many of the wrong systems and rigs are found by a fault of their kind, or by the stages that they spoil."""
    found = sum(rig.is_found(rig.result()) for rig in WRONG_RIGS)
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


def on_real_ones(names: Sequence[str], kept: Path | None) -> str:
    """The sentence about real Kafka and Spark; a line for each verdict as it comes."""
    counts = {True: [0, 0], False: [0, 0]}
    for session in (session for session in SESSIONS if not names or session.name in names):
        with tempfile.TemporaryDirectory() as folder:
            for wrong, result in carried_out(session, Path(folder), kept):
                is_wrong = wrong is not None or session.rig is not None
                good = wrong.is_found(result) if wrong else session.is_right(result)
                name = f"{session.name}/{wrong.name}" if wrong else session.name
                print(
                    f"{'' if good else 'NOT SO: '}{name}: {result.verdict}, {'; '.join(result.reasons[:1])}", flush=True
                )
                counts[is_wrong][0] += good
                counts[is_wrong][1] += 1
    (found, wrong_ones), (passed, right_ones) = counts[True], counts[False]
    return (
        f"Of {wrong_ones} wrong ones on real Kafka and Spark {found} are called what they are; "
        f"of {right_ones} right ones {right_ones - passed} are blamed."
    )


def main() -> None:
    """Print the sentences, and write them if asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--real", nargs="*", metavar="SESSION", choices=[session.name for session in SESSIONS])
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    wrong, right = blamed()
    total = len(MUTANTS) + len(STAMPS) + len(WRONG_RIGS)
    sentence = (
        f"Of {total} wrong systems, simulated, {len(WRONG_RIGS)} of them with a wrong rig, {caught()} are found; "
        f"of {right} right ones {wrong} are blamed (`python -m tests.mutants`)."
    )
    if given.real is not None:
        sentence += "\n" + on_real_ones(given.real, given.kept)
    print(sentence)
    if given.write:
        README.write_text(_PLACE.sub(rf"\g<1>{sentence}\g<2>", README.read_text()))


if __name__ == "__main__":
    main()
