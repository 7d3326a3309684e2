"""`market-spread init` and `systems`: a workload for a system that is not our application, to begin with."""

from pathlib import Path

import click

from market_spread.controller.cli.options import json_option, show_result
from market_spread.controller.exits import say
from market_spread.controller.templates.write import SYSTEMS, lacks, write


@click.command(epilog="Example: market-spread init fares && market-spread run fares/workload.yaml")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--template", type=click.Choice([*SYSTEMS]), default="loop", help="One of `market-spread systems`.")
@click.option("--kafka", metavar="HOST:PORT", default="localhost:9092", help="The broker of an attached system.")
@json_option("Print the files as JSON on standard output.")
def init(folder: Path, template: str, kafka: str, as_json: bool) -> None:
    """Write a workload for a system of yours into FOLDER.

    It runs as it stands: with messages of its own, a check of the outputs and, unless one runs already, a system. Put
    your system, your messages and your check in their places.
    """
    paths = [str(path) for path in write(template, folder, kafka=kafka)]
    show_result(paths, "\n".join(paths), as_json=as_json)
    say(f"run it with: market-spread run {folder / 'workload.yaml'}")


@click.command(epilog="Example: market-spread systems && market-spread init words --template word_count")
@json_option()
def systems(as_json: bool) -> None:
    """List the systems that `init` writes, and what they need."""
    keys = ("about", "job", "needs")
    found = [{"name": name, **{key: SYSTEMS[name][key] for key in keys}, "lacks": lacks(name)} for name in SYSTEMS]
    lines = []
    for each in found:
        needs = ", ".join(f"{it} (not here)" if it in each["lacks"] else it for it in each["needs"])
        lines.append(f"{each['name']:<21}{each['about']:<61}{needs}")
    show_result(found, "\n".join(lines), as_json=as_json)
