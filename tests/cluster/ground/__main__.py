"""The command of `make cluster-up` and its like: `python -m tests.cluster.ground --help`."""

import argparse
import os
import sys
import time
from collections.abc import Callable

from tests.cluster.ground import binaries, images
from tests.cluster.ground.cluster import Cluster, remains, why_not
from tests.cluster.ground.control_plane import is_ready
from tests.cluster.ground.errors import GroundError, run
from tests.cluster.ground.layout import KUBECONFIG


def main() -> int:
    """Do what is asked; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.ground", description="The test cluster.")
    commands = parser.add_subparsers(required=True)
    _command(commands, "up", _up, "bring the cluster up; with KUBECONFIG, say whether that one answers")
    _command(commands, "down", _down, "bring it down, without leaving anything behind")
    _command(commands, "binaries", _binaries, "build the programs that are not built yet", "NAME")
    _command(commands, "images", _images, "build the images that are not built yet", "NAME")
    _command(
        commands, "build", _build, "build all programs and images that are not built yet, if a cluster can be here"
    )
    _command(commands, "load", _load, "build images and have them on all nodes", "NAME")
    arguments = parser.parse_args()
    try:
        arguments.do(getattr(arguments, "names", []))
    except GroundError as error:
        print(f"market-spread: {error}", file=sys.stderr)
        return 1
    return 0


def _up(_: list[str]) -> None:
    if named := os.environ.get("KUBECONFIG"):
        run([binaries.KUBECTL.path if binaries.is_built(binaries.KUBECTL) else "kubectl", "get", "--raw=/readyz"])
        print(f"the cluster of KUBECONFIG={named} is used")
        return
    if reason := why_not():
        raise GroundError(reason)
    started = time.monotonic()
    Cluster().up()
    print(f"the cluster is up after {time.monotonic() - started:.0f} s; use it with: export KUBECONFIG={KUBECONFIG}")


def _down(_: list[str]) -> None:
    Cluster().down()
    if left := remains():
        raise GroundError("still there: " + "; ".join(left))


def _binaries(names: list[str]) -> None:
    known = {program.name: program for program in binaries.ALL}
    binaries.build_missing(tuple(known[name] for name in _known(names, list(known))))


def _images(names: list[str]) -> None:
    known = _all_images()
    for name in _known(names, list(known)):
        print(images.ensure(known[name]))


def _build(_: list[str]) -> None:
    if os.environ.get("KUBECONFIG") or why_not():
        return
    # What the tests of the charts take comes first.
    binaries.build_missing((binaries.HELM, binaries.KUBECONFORM))
    binaries.build_missing()
    for image in (*images.ground_images(), *_all_images().values()):
        images.ensure(image)


def _load(names: list[str]) -> None:
    if not is_ready():
        raise GroundError("the cluster is not up; bring it up with: make cluster-up")
    known = _all_images()
    Cluster().load(known[name] for name in _known(names, list(known)))


def _all_images() -> dict[str, images.Image]:
    return {**images.product_images(), "kafka": images.kafka_image()}


def _known(names: list[str], known: list[str]) -> list[str]:
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise GroundError(f"there is no {', '.join(unknown)}; there are: {', '.join(known)}")
    return names or known


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    do: Callable[[list[str]], None],
    text: str,
    argument: str = "",
) -> None:
    parser = commands.add_parser(name, help=text, description=text)
    if argument:
        parser.add_argument("names", nargs="*", metavar=argument)
    parser.set_defaults(do=do)


if __name__ == "__main__":
    sys.exit(main())
