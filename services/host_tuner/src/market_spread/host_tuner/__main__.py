"""The host tuner: `python -m market_spread.host_tuner`, configured by its environment."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version

from market_spread.common.clock import Clock, SystemClock, polls
from market_spread.common.config import environment_help, from_environment
from market_spread.common.errors import RunFailedError, UsageError, usage_errors
from market_spread.common.kubernetes import ApiServer
from market_spread.common.process.entry import run_main, write_ports
from market_spread.common.processes import stop_event_on_signals
from market_spread.host_tuner.cluster import KubeletSocket, KubernetesNode, NodePublisher, OwnDaemonSet
from market_spread.host_tuner.config import HostTunerConfig, RemovalConfig, read_profile_file
from market_spread.host_tuner.running import HostWatch, leave, put_host_back, serving_pages
from market_spread.host_tuner.tree import BOOT_ID, HostTree, Originals, RecordFile
from market_spread.host_tuner.tuner import Tuner

_POLL_S = 0.5


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command says; returns the exit status."""
    as_written = argparse.RawDescriptionHelpFormatter
    name, variables = "market-spread-host-tuner", environment_help(HostTunerConfig)
    parser = argparse.ArgumentParser(prog=name, description=__doc__, formatter_class=as_written, epilog=variables)
    parser.add_argument("--version", action="version", version=f"{name} {version(name)}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run = commands.add_parser("run", help="tune the host and watch over it until SIGTERM (the default)")
    run.add_argument("--dry-run", action="store_true", help="only look: write nothing, on the host or to the node")
    commands.add_parser("report", help="look once and print a table; exit 1 if a setting is not as wanted")
    commands.add_parser("restore", help="put the host back as it was before the tuner")
    said = "remove the DaemonSet and wait until its pods have put their hosts back"
    commands.add_parser("remove", help=said, formatter_class=as_written, epilog=environment_help(RemovalConfig))
    given = parser.parse_args(arguments)
    once = {"report": _report, "restore": _restore, "remove": _remove}
    return run_main(once.get(given.command, lambda: _run(dry_run=getattr(given, "dry_run", False))))


def _run(*, dry_run: bool) -> None:
    config = from_environment(HostTunerConfig)
    config = replace(config, dry_run=config.dry_run or dry_run)
    clock = SystemClock()
    tree = HostTree(config.host_root)
    originals = None if config.dry_run else _originals(config, tree)
    publisher, daemon_set = (None, None) if config.dry_run else _cluster(config, clock)
    tuner = _tuner(config, tree, originals)
    watch = HostWatch(tuner, publisher, clock=clock, interval_s=config.interval_s, dry_run=config.dry_run)
    stop = stop_event_on_signals()
    with serving_pages(config.host, config.http_port, watch.pages()) as port:
        write_ports(config.ports_file, http=port)
        watch.until(stop)
    leave(daemon_set.next_writes(config.host_root) if daemon_set else None, publisher, tree, originals)


def _report() -> None:
    config = from_environment(HostTunerConfig)
    tree = HostTree(config.host_root)
    report = _tuner(config, tree, None).cycle()
    print(report.table())
    if not report.ok:
        raise RunFailedError("the host is not as its profile wants it")


def _restore() -> None:
    config = from_environment(HostTunerConfig)
    tree = HostTree(config.host_root)
    put_host_back(tree, _originals(config, tree))


def _remove() -> None:
    """The pods are gone before the chart takes away the rights that they need to put everything back."""
    config = from_environment(RemovalConfig)
    name = config.daemon_set
    daemon_set = OwnDaemonSet(ApiServer.of_pod(), config.namespace, name)
    daemon_set.remove()
    for _ in polls(SystemClock(), config.deadline_s, every_s=_POLL_S):
        if not daemon_set.exists():
            return
    said = f"pods of {name} are still there after {config.deadline_s:g} s; look at their logs"
    raise RunFailedError(f"{said}, and delete the nodes that are lost")


def _tuner(config: HostTunerConfig, tree: HostTree, originals: Originals | None) -> Tuner:
    profile = read_profile_file(config.profile)
    kubelet = KubeletSocket(config.pod_resources_socket) if config.pod_resources_socket is not None else None
    return Tuner(profile, tree, originals, kubelet)


def _originals(config: HostTunerConfig, tree: HostTree) -> Originals:
    with usage_errors(f"{config.host_root / BOOT_ID} cannot be read", "mount it there"):
        boot_id = tree.read(BOOT_ID).strip()
    folder = config.state_folder
    if not folder.is_dir():
        raise UsageError(f"MARKET_SPREAD_STATE_FOLDER={folder} is not a folder; make it, on the host's disk")
    record = RecordFile(folder / "originals.json")
    with usage_errors(f"another tuner works on this host, with {folder}", "remove one of the two"):
        record.lock()
    return Originals(record, boot_id)


def _cluster(config: HostTunerConfig, clock: Clock) -> tuple[NodePublisher | None, OwnDaemonSet | None]:
    """The node and the DaemonSet in Kubernetes, as far as the environment names them."""
    if config.node_name is None:
        return None, None
    api = ApiServer.of_pod()
    publisher = NodePublisher(KubernetesNode(api, config.node_name), clock)
    if config.namespace is None or config.daemon_set is None:
        return publisher, None
    return publisher, OwnDaemonSet(api, config.namespace, config.daemon_set)


if __name__ == "__main__":
    sys.exit(main())
