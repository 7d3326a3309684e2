"""`python -m tests.supply advisories|sbom|attest`: behind `make advisories`, `make sbom` and `make release`."""

import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, date, datetime
from pathlib import Path

import click

from market_spread.common.config import home_folder
from tests.supply import advisories, release, sbom
from tests.supply.inventory import MAVEN, PYPI, everything
from tests.support.paths import ROOT

SOURCE = "https://osv-vulnerabilities.storage.googleapis.com"
OLDEST_DAYS = 7


@click.group()
def main() -> None:
    """What we are made of, what is known against it, and what a release says of itself."""


@main.command(name="advisories")
@click.option("--source", default=SOURCE, help="Where OSV's archives are fetched from.")
@click.option("--max-age-days", type=int, help=f"Refuse older ones, as a release does after {OLDEST_DAYS}.")
def check_advisories(source: str, max_age_days: int | None) -> None:
    """Fetch OSV's advisories into the cache, or take those that are there, and check all that is locked."""
    folder = home_folder("advisories")
    for ecosystem in (PYPI, MAVEN):
        target = folder / ecosystem / "all.zip"
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with urllib.request.urlopen(f"{source}/{ecosystem}/all.zip", timeout=60) as answer:
                unfinished = target.with_suffix(".part")
                unfinished.write_bytes(answer.read())
                unfinished.replace(target)
        except (urllib.error.URLError, TimeoutError) as error:
            if not target.exists():
                sys.exit(
                    f"market-spread: no advisories of {ecosystem}: {source} does not answer ({error}), "
                    f"and {folder} has none; run it with a network, or put OSV's {ecosystem}/all.zip there"
                )
        age_days = (time.time() - target.stat().st_mtime) / 86400
        if max_age_days is not None and age_days > max_age_days:
            sys.exit(
                f"market-spread: advisories of {ecosystem} are {age_days:.0f} days old; fetch newer ones with a network"
            )
    components, known = everything(), advisories.from_folder(folder)
    found = advisories.findings(components, known)
    problems = advisories.refused(found, advisories.acceptances(ROOT / "requirements/advisories.toml"), date.today())
    for finding in found:
        print(finding)
    print(f"{len(components)} packages, {len(known)} advisories, {len(found)} that meet; {len(problems)} problems")
    if problems:
        sys.exit("market-spread: " + "\nmarket-spread: ".join(problems))


@main.command(name="sbom")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--base", default="", help="The images' base, by its digest.")
def write_sboms(folder: Path, base: str) -> None:
    """Write a bill of materials for each image and each wheel into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{len(sbom.write_all(folder, base))} bills of materials in {folder}")


@main.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--key", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--base", default="", help="The images' base, by its digest.")
@click.option("--revision", required=True, help="The commit that it was made of.")
def attest(folder: Path, key: Path, base: str, revision: str) -> None:
    """Sum up a release's files, and sign where they come from."""
    release.attest(folder, key, base=base, revision=revision, at=datetime.now(UTC))
    print(
        f"{folder / release.SUMS} and {folder / release.PROVENANCE}, to be checked with: .ci/verify {folder} PUBLIC_KEY"
    )


if __name__ == "__main__":
    main()
