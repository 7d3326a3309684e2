"""`python -m tests.fuzz`: tries inputs on every target, keeps what is not stood, and says how many it tried."""

import argparse
import logging
import resource
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.engine import CORPUS, Finding, Target, inputs_of, kept, shares, tried

_MEMORY_BYTES = 6 * 1024**3


def targets(scratch: Path) -> list[Target]:
    from tests.fuzz import decoders, documents, routes

    return [*decoders.targets(scratch), *documents.targets(scratch), *routes.targets(scratch)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many, of all targets together")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after so long, whatever was tried")
    parser.add_argument("--seed", type=int, default=0, help="another one makes other inputs")
    parser.add_argument("--only", default="", help="of targets whose names begin so")
    parser.add_argument("--keep", action="store_true", help="put findings into the corpus")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES if soft < 0 else min(soft, _MEMORY_BYTES), hard))
    begin, whole, refused, findings = time.monotonic(), 0, 0, list[Finding]()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as scratch:
        chosen = [target for target in targets(Path(scratch)) if target.name.startswith(given.only)]
        most = shares(chosen, given.inputs)
        for target in chosen:
            old = kept(target)
            replayed = tried(target, old, most=len(old))
            until_s = begin + given.minutes * 60 * (whole + most[target.name]) / given.inputs
            result = tried(target, inputs_of(target, given.seed), most=most[target.name], until_s=until_s)
            whole, refused = whole + len(old) + result.inputs, refused + replayed.refused + result.refused
            per_s = result.inputs / max(result.seconds, 1e-9)
            share = result.refused / max(result.inputs, 1)
            print(f"{target.name:20} {result.inputs:>9,} inputs, {share:4.0%} refused, {per_s:>8,.0f}/s", flush=True)
            for finding in (*replayed.findings, *result.findings):
                findings.append(finding)
                place = f", kept as {finding.keep(CORPUS)}" if given.keep else ""
                print(f"  {finding.what}{place}\n{finding.trace}", flush=True)
    seconds = time.process_time()
    print(f"{whole:,} inputs, {refused:,} of them refused, {len(findings)} not stood, in {seconds:,.0f} s of CPU")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
