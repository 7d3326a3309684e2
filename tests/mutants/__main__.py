"""Counts what is found and what is wrongly blamed, and writes both numbers into the README.

    .venv/bin/python -m tests.mutants [--real [SESSION ...]] [--kept FOLDER] [--write]

--real: also on real Kafka and Spark, all sessions or those that are named, less than a minute each. --kept: what they
observed is kept there, and judged again without being done again. Without --write it only prints the numbers.
"""

import argparse
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from market_spread.controller.analysis.evidence import Verdict
from tests.mutants.inputs import generated, hand_made
from tests.mutants.parts import WRONG_PARTS
from tests.mutants.real import SESSIONS, carried_out
from tests.mutants.rig import WRONG_RIGS
from tests.mutants.right import right_systems
from tests.mutants.verdicts import result
from tests.mutants.wrong import DECISIONS, MUTANTS, SLOW, STAMPS

README = Path(__file__).parents[2] / "README.md"
_PLACE = re.compile(r"(?<=<!-- mutants -->\n)(?P<simulated>.*?)(?P<real>\nOf [^\n]*)?(?=\n<!-- /mutants -->)")


def caught() -> int:
    """How many of the wrong systems and rigs are called what they are, by what is wrong."""
    found = sum(rig.is_found(rig.result()) for rig in WRONG_RIGS) + sum(part.is_found() for part in WRONG_PARTS)
    found += sum(mutant.is_found(result(mutant.system, hand_made(1))[1]) for mutant in (*MUTANTS, *STAMPS))
    for mutant in (*SLOW, *DECISIONS):
        given = generated(1, seconds=mutant.system.seconds)
        found += mutant.is_found(result(mutant.system, given, mutant.decided)[1])
    return found


def blamed() -> tuple[int, int]:
    """Of how many right systems how many are failed or void."""
    verdicts = [
        result(right.system, right.make(), (lambda it: it) if right.decides else None)[1].verdict
        for right in right_systems()
    ]
    return sum(verdict is not Verdict.PASSED for verdict in verdicts), len(verdicts)


def on_real_ones(names: Sequence[str], kept: Path | None) -> str:
    """The sentence about real Kafka and Spark; a line for each verdict as it comes."""
    counts = {True: [0, 0], False: [0, 0]}
    for session in (session for session in SESSIONS if not names or session.name in names):
        with tempfile.TemporaryDirectory() as folder:
            for wrong, result in carried_out(session, Path(folder), kept):
                is_wrong = session.rig is not None if wrong is None else wrong.verdict is not Verdict.PASSED
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
    if given.write and given.real:
        parser.error("some sessions alone are not what the README tells; leave out their names, or --write")
    wrong, right = blamed()
    rigs = len(WRONG_RIGS) + len(WRONG_PARTS)
    total = len(MUTANTS) + len(STAMPS) + len(SLOW) + len(DECISIONS) + rigs
    sentence = (
        f"Of {total} wrong systems, simulated, {rigs} of them with a wrong rig, {caught()} are failed or void by what "
        f"is wrong; of {right} right ones {wrong} are failed or void (`python -m tests.mutants`)."
    )
    real = on_real_ones(given.real, given.kept) if given.real is not None else ""
    print(sentence, *([real] if real else []), sep="\n")
    if given.write:
        README.write_text(written(README.read_text(), sentence, real))


def written(page: str, simulated: str, real: str) -> str:
    """The page with these sentences; that of real systems stays as it is where none were tried."""
    page, places = _PLACE.subn(lambda place: simulated + (f"\n{real}" if real else place["real"] or ""), page)
    if places != 1:
        raise ValueError("the page has no place for the sentences, or two")
    return page


if __name__ == "__main__":
    main()
