"""The command line: `market-spread`. A list of commands; what they do is in the modules that they import."""

import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from market_spread.common.clock import SystemClock
from market_spread.common.config import java_home
from market_spread.common.errors import UsageError
from market_spread.common.job_contract import APPLICATIONS, MICRO_BATCH, MODES, REJECTED_DECISIONS
from market_spread.common.logs import show_warnings
from market_spread.common.wire.layout import BUCKETS_MAX
from market_spread.common.words import counted
from market_spread.controller.cli import options
from market_spread.controller.cli.authoring import init, systems
from market_spread.controller.cli.comparing import ab, compare, history, sweep, torture
from market_spread.controller.cli.machine import plan, selftest
from market_spread.controller.cli.options import FILE, FOLDER, INPUT, show_result
from market_spread.controller.exits import Commands, interrupt_once, printable, say

if TYPE_CHECKING:
    from market_spread.common.kafka.client import KafkaBroker
    from market_spread.controller.analysis.result import Result
    from market_spread.controller.deploy.local.command import BackgroundStack

# The commands as the help lists them, by what a user is about to do.
SECTIONS = {
    "Run": ("run", "replay", "generate", "check", "list", "show", "export"),
    "Compare": ("compare", "ab", "sweep", "torture", "history"),
    "Serve": ("ui", "up", "status", "down"),
    "Author": ("systems", "init", "describe", "pipeline"),
    "Operate": ("setup", "plan", "selftest", "topics", "probe"),
}

_duration = options.workload_option("--duration", "duration_s", float, "Seconds of measured load, 0.001 to 604,800.")
_bootstrap_servers = click.option("--bootstrap-servers", required=True, help="Addresses of the broker, HOST:PORT,...")
_prefix = click.option("--prefix", default="", help="Goes before the name of each topic.")
_monitored = click.option(
    "--monitored", is_flag=True, help="Expose Kafka and Spark to Prometheus as well, and write a prometheus.yml."
)
_up_folder = click.option(
    "--folder", type=FOLDER, default=".market-spread", help="Folder for logs, data and process ids."
)
_runs_folder = options.runs_folder_option("Folder for run documents.")
_as_json = options.json_option()
_port = partial(click.option, "--port", type=click.IntRange(0, 65535), default=0, show_default="a free one")


class _Sections(Commands):
    """The commands in sections, a line each."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [
            (f"{section if name == names[0] else '':9}{name}", self.commands[name].get_short_help_str(80))
            for section, names in SECTIONS.items()
            for name in names
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(
    cls=_Sections,
    epilog="Example: market-spread run loadgen/workloads/quick.yaml",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True},
)
@click.version_option(package_name="market-spread-controller", prog_name="market-spread")
@click.option("-q", "--quiet", is_flag=True, help="Results and errors alone, no progress.")
def main(quiet: bool) -> None:  # which is_quiet asks for
    """Run Market Spread, and measure how fast it is.

    Exit status: 0 passed, 1 failed, 2 wrong usage, 3 void (spoiled).
    """
    show_warnings()


for command in (systems, init, compare, ab, sweep, torture, plan, history, selftest):
    main.add_command(command)


@main.command(epilog="Example: market-spread setup")
@_as_json
def setup(as_json: bool) -> None:
    """Find Java, fetch the pinned jars, prepare the JVMs, once.

    The classes of the JVMs of broker and job are archived, so that they start faster.
    """
    from market_spread.common.jvm.jars import JarCache, find_java
    from market_spread.controller.deploy.local.jvms import local_jvms

    java, jars = find_java(java_home()), JarCache()
    fetched = jars.fetch(java)
    local_jvms(java, jars, checked=True)
    text = f"{fetched} jars fetched and checked" if fetched else "all jars are there, as pinned"
    show_result({"jars_fetched": fetched}, text, as_json=as_json)


@main.command(epilog="Example: market-spread run loadgen/workloads/quick.yaml --rate 100000 --duration 30")
@click.argument("workload", type=INPUT, required=False)
@options.rate_option
@_duration
@options.workload_option("--mode", "mode", click.Choice(MODES), "Mode of the job.")
@options.symbols_option
@options.workload_option("--frame-size", "frame_messages", int, "Messages per frame (a Kafka record), 1 to 100,000.")
@click.option("--keep-input", is_flag=True, help="Keep what was sent and what was received, for `check`.")
@click.option("--keep", is_flag=True, help="Keep serving the metrics page after the run, until Ctrl-C.")
@click.option("--resume", metavar="RUN_ID", help="Resume an interrupted run instead of starting a WORKLOAD.")
@_monitored
@click.option(
    "--target", type=click.Choice(["local", "kubernetes"]), default="local",
    help="Where to run: processes on this machine, or a release of the chart market-spread.",
)  # fmt: skip
@click.option("--release", default="market-spread", help="Name of the release.")
@click.option("--namespace", default="default", help="Namespace of the release.")
@click.option("--context", show_default="the current one", help="Context of the kubeconfig.")
@click.option("--in-cluster", is_flag=True, help="Running inside the cluster: connect to the pods directly.")
@click.option("--yes-load", metavar="HOST", multiple=True, help="Send load to this host, which is another machine.")
@options.junit_option
@_runs_folder
@_as_json
def run(
    workload: Path | None, keep_input: bool, keep: bool, resume: str | None, monitored: bool, target: str, release: str,
    namespace: str, context: str | None, in_cluster: bool, yes_load: tuple[str, ...], junit: Path | None,
    runs_folder: Path, as_json: bool, **changes: Any,
) -> None:  # fmt: skip
    """Run a WORKLOAD, and judge every alert.

    Of a system of yours every output is judged. Starts everything it needs and stops it afterwards. The run document
    goes into a folder of its own below the runs folder. The metrics page is served during the run and then saved there
    as metrics.html. Ctrl-C ends the measured load early, drains, and prints what there is; before that load it ends the
    run at once.

    With --resume, a run interrupted before its load was drained starts again in its folder; one interrupted later is
    judged from what is on disk.

    With --target kubernetes nothing is started: the run uses the pods of a release and leaves them as they are. Mode,
    batch time and partitions are the release's, and the workload must ask for the same.
    """
    from market_spread.controller.plan.plan import plan_of_workload
    from market_spread.controller.plan.reading import Overrides, read_workload
    from market_spread.controller.plan.system import SystemWorkload, require_allowed
    from market_spread.controller.session.execute import carry_out
    from market_spread.controller.session.execute import resume as carry_on
    from market_spread.controller.views.output import junit_of_run, write_text

    def end(result: "Result") -> NoReturn:
        if junit is not None:
            write_text(junit, junit_of_run(result))
        sys.exit(result.verdict.exit_status)

    if resume is not None and workload is None:
        end(carry_on(resume, runs_folder=runs_folder, as_json=as_json))
    if workload is None or resume is not None:
        raise UsageError("name a WORKLOAD, or a run with --resume")
    refused = {"faults": "they are for local runs so far; leave them out"} if target == "kubernetes" else {}
    plan = plan_of_workload(read_workload(workload, Overrides(**changes), refused))
    if isinstance(plan.workload, SystemWorkload):
        require_allowed(plan.workload, yes_load)
        if keep_input or monitored:
            raise UsageError("--keep-input and --monitored are for our own application so far")
    environment_of = None
    if target == "kubernetes":
        from market_spread.controller.deploy.kubernetes.release import release_of

        if monitored:
            raise UsageError("--monitored is for processes of one machine; in a cluster install the chart monitoring")
        environment_of = release_of(plan, release=release, namespace=namespace, context=context, in_cluster=in_cluster)
    result = carry_out(
        plan, runs_folder=runs_folder, as_json=as_json, keep_input=keep_input, keep=keep, monitored=monitored,
        environment_of=environment_of,
    )  # fmt: skip
    end(result)


@main.command(epilog="Example: market-spread replay --nbbo nbbo.messages --orders orders.messages")
@click.option("--nbbo", type=INPUT, required=True, help="File of quotes.")
@click.option("--orders", type=INPUT, required=True, help="File of orders.")
@click.option(
    "--rate", type=int, default=20_000, help="Messages per second, first of quotes, then of orders, 1 to 10,000,000."
)
@_runs_folder
@_as_json
def replay(nbbo: Path, orders: Path, rate: int, runs_folder: Path, as_json: bool) -> None:
    """Run with recorded input files.

    All quotes come first, and when these are committed all orders. Messages are sent unchanged except for their
    intended send times. examples/wallaroo makes such files of the reference's recorded ones.
    """
    from market_spread.controller.plan.plan import plan_of_files
    from market_spread.controller.session.execute import carry_out

    result = carry_out(plan_of_files(nbbo, orders, rate_per_s=rate), runs_folder=runs_folder, as_json=as_json)
    sys.exit(result.verdict.exit_status)


@main.command(
    epilog="Example: market-spread generate loadgen/workloads/quick.yaml --nbbo nbbo.messages --orders orders.messages"
)
@click.argument("workload", type=INPUT)
@click.option("--nbbo", type=FILE, required=True, help="File for the initial and the measured quotes; overwritten.")
@click.option("--orders", type=FILE, required=True, help="File for the measured orders; overwritten.")
@options.rate_option
@_duration
@options.symbols_option
@click.option(
    "--start", type=int, default=1_700_000_000_000_000_000,
    help="Intended send time of the first measured message, Unix nanoseconds.",
)  # fmt: skip
@_as_json
def generate(workload: Path, nbbo: Path, orders: Path, start: int, as_json: bool, **changes: Any) -> None:
    """Write the messages of a WORKLOAD to files.

    They are in the native format. The same workload and start give the same bytes.
    """
    from market_spread.controller.plan.plan import generate as write_messages
    from market_spread.controller.plan.reading import Overrides, read_workload

    offered = read_workload(workload, Overrides(**changes))
    if workload.resolve() in (nbbo.resolve(), orders.resolve()):
        raise UsageError(f"the messages would overwrite the workload {workload}; name other files")
    initial, quotes, written = write_messages(offered, nbbo=nbbo, orders=orders, start_unix_ns=start)
    text = f"{quotes:,} quotes, {initial:,} of them initial, in {nbbo}\n{written:,} orders in {orders}"
    show_result({"quotes": quotes, "initial_quotes": initial, "orders": written}, text, as_json=as_json)


@main.command(
    epilog="Example: market-spread check --nbbo nbbo.messages --orders orders.messages --alerts alerts.ledger"
)
@click.option("--nbbo", type=INPUT, required=True, help="File of the quotes as sent, in the native format.")
@click.option("--orders", type=INPUT, required=True, help="File of the orders as sent, in the native format.")
@click.option("--alerts", type=INPUT, required=True, help="The receiver's ledger of alerts.")
@click.option("--without-warm-up", is_flag=True, help="Leave out orders and alerts of the warm-up.")
@click.option(
    "--allow-duplicates", is_flag=True, help="Do not count a second alert for an order as a fault, as after a restart."
)
@_as_json
def check(nbbo: Path, orders: Path, alerts: Path, without_warm_up: bool, allow_duplicates: bool, as_json: bool) -> None:
    """Check recorded alerts against the quotes and orders.

    Exit status: 0 all correct, 1 some missing, unexpected, wrong or duplicated, 3 the input allows no judgement.
    """
    from market_spread.controller.views.output import judgement_page, put_out, verdict_of
    from market_spread.loadgen.oracle.oracle import check_files

    judgement = check_files(
        nbbo, orders, alerts, warm_up_judged=not without_warm_up, duplicates_allowed=allow_duplicates
    )
    verdict = verdict_of(judgement)
    document = {"verdict": verdict.value, "void_reason": judgement.void_reason, **asdict(judgement)}
    put_out(judgement_page(judgement), document, as_json=as_json)
    sys.exit(verdict.exit_status)


@main.command(epilog="Example: market-spread describe word_count")
@click.argument("application")
@_as_json
def describe(application: str, as_json: bool) -> None:
    """Show the steps of a pipeline, and which modes run it.

    APPLICATION is one of ours (market_spread, word_count), or a file of your own and the function in it that returns
    the pipeline, for example folder/totals.py:totals.
    """
    from market_spread.controller.session.pipeline import describe as describe_pipeline

    show_result(*describe_pipeline(application), as_json=as_json)


@main.command(epilog="Example: market-spread pipeline word_count --input lines=README.md")
@click.argument("application")
@click.option(
    "--input", "inputs", multiple=True, metavar="SOURCE=FILE",
    help="Use the lines of the file as messages of the source. May be given once for each source.",
)  # fmt: skip
@click.option("--mode", type=click.Choice(MODES), default=MICRO_BATCH, help="Mode of the job.")
@options.json_option("Print each record as JSON, with its sink and its value.")
def pipeline(application: str, inputs: tuple[str, ...], mode: str, as_json: bool) -> None:
    """Run a pipeline on files, and print what it puts out.

    It has a broker of its own. APPLICATION is named as for `describe`. A line of output is a sink and a record,
    separated by a tab; unreadable messages are reported by the sink `invalid`. Everything stops when all input is
    committed.
    """
    from market_spread.controller.session.pipeline import inputs_of, run_pipeline

    def told(line: str) -> None:
        """For a person who waits; output that goes into a file or a pipe is output alone."""
        if sys.stderr.isatty():
            say(line)

    def show(sink: str, value: bytes) -> None:
        text = value.decode(errors="backslashreplace")
        click.echo(json.dumps({"sink": sink, "value": text}) if as_json else sink.encode() + b"\t" + value)

    interrupt_once()
    records = run_pipeline(application, mode=mode, inputs=inputs_of(inputs), show=show, say=told, warn=say)
    told(", ".join(f"{sink}: {count:,} records" for sink, count in records.items()))


@main.command(epilog="Example: market-spread ui runs")
@options.runs_folder_argument()
@_port(help="Port of the page on the loopback interface.")
def ui(runs_folder: Path, port: int) -> None:
    """Serve the metrics pages of finished runs, until Ctrl-C. RUNS_FOLDER is `runs` by default."""
    from market_spread.common.processes import stop_event_on_signals
    from market_spread.controller.session.metrics_page import serve_pages

    serve_pages(runs_folder, port=port, clock=SystemClock(), say=say, stop_event=stop_event_on_signals)


@main.command(name="list", epilog="Example: market-spread list runs")
@options.runs_folder_argument(click.STRING)
@_as_json
def list_runs(runs_folder: str, as_json: bool) -> None:
    """List the runs of a folder or another store.

    RUNS_FOLDER is `runs` by default: a folder, or an address that fsspec knows, such as s3://bucket/runs.
    """
    from market_spread.controller.archive.store import RunStore, listing

    summaries = RunStore(runs_folder).summaries()
    show_result(summaries, listing(summaries), as_json=as_json)


@main.command(epilog="Example: market-spread show 20260101-120000-quick")
@click.argument("run_id")
@options.runs_folder_option("Folder that has the run, or its address.", "runs", click.STRING)
@options.json_option("Print its result.json instead.")
def show(run_id: str, runs_folder: str, as_json: bool) -> None:
    """Show the run document of a run."""
    from market_spread.controller.archive.store import RunStore

    runs = RunStore(runs_folder)
    click.echo(printable(runs.text(run_id, "result.json" if as_json else "run.md")), nl=False)
    if note := runs.summary(run_id)["note"]:
        click.echo(printable(f"{run_id}: {note}"), err=True)


@main.command(epilog="Example: market-spread export 20260101-120000-quick /mnt/archive")
@click.argument("run_id")
@click.argument("target")
@_runs_folder
@_as_json
def export(run_id: str, target: str, runs_folder: Path, as_json: bool) -> None:
    """Copy a run document into another folder or store.

    TARGET is a folder, or an address that fsspec knows, such as s3://bucket/runs. Checkpoint and topics stay.
    """
    from market_spread.controller.archive.store import RunStore

    count, bytes_copied = RunStore(target).put(runs_folder / run_id)
    place = f"{target.rstrip('/')}/{run_id}"
    document = {"files": count, "bytes": bytes_copied, "place": place}
    show_result(document, f"{count} files, {bytes_copied:,} bytes, in {place}", as_json=as_json)


@main.command(epilog="Example: market-spread topics --bootstrap-servers 127.0.0.1:9092 --partitions 2")
@_bootstrap_servers
@click.option(
    "--partitions", type=click.IntRange(1, BUCKETS_MAX), required=True, help="Partitions of the topics nbbo and orders."
)
@click.option("--replicas", type=click.IntRange(1, 32767), default=1, help="Copies of each partition.")
@click.option(
    "--decisions", type=click.Choice(list(APPLICATIONS)), default=REJECTED_DECISIONS,
    help="all: also the topic decisions, for a job that sends every decision.",
)  # fmt: skip
@_prefix
@_as_json
def topics(bootstrap_servers: str, partitions: int, replicas: int, decisions: str, prefix: str, as_json: bool) -> None:
    """Create the topics nbbo, orders, alerts and invalid.

    Existing topics are kept if they have the right number of partitions. For a broker with a login or TLS, set the
    MARKET_SPREAD_KAFKA_* variables, as for the services.
    """
    from market_spread.controller.deploy.topics import ensure_topics

    there = ensure_topics(
        _broker(bootstrap_servers), partitions=partitions, decisions=decisions, replicas=replicas, clock=SystemClock(),
        say=say, prefix=prefix,
    )  # fmt: skip
    lines = [f"{name}: {'made' if made else 'is there'}, {counted(count, 'partition')}" for name, count, made in there]
    document = [{"topic": name, "partitions": count, "made": made} for name, count, made in there]
    show_result(document, "\n".join(lines), as_json=as_json)


@main.group(cls=Commands, epilog="Example: market-spread probe services receiver=127.0.0.1:50051")
def probe() -> None:
    """Check the health of services or a broker. Exit status: 0 healthy, 1 not."""


@probe.command(epilog="Example: market-spread probe services receiver=127.0.0.1:50051")
@click.argument("addresses", nargs=-1, required=True, metavar="NAME=HOST:PORT...")
@_as_json
def services(addresses: tuple[str, ...], as_json: bool) -> None:
    """Check the health of each gRPC service."""
    from market_spread.common.config import from_environment
    from market_spread.common.grpc.identity import Identity
    from market_spread.controller.clients.probe import named_addresses, service_problem

    named, own = named_addresses(addresses), from_environment(Identity)
    problems = {name: service_problem(address, own) for name, address in named.items()}
    text = "\n".join(f"{name}: {problem or 'SERVING'}" for name, problem in problems.items())
    document = [{"name": name, "healthy": problem is None, "problem": problem} for name, problem in problems.items()]
    show_result(document, text, as_json=as_json)
    sys.exit(1 if any(problems.values()) else 0)


@probe.command(epilog="Example: market-spread probe kafka --bootstrap-servers 127.0.0.1:9092")
@_bootstrap_servers
@_prefix
@_as_json
def kafka(bootstrap_servers: str, prefix: str, as_json: bool) -> None:
    """Write a record into a topic of its own and read it back.

    For a broker with a login or TLS, set the MARKET_SPREAD_KAFKA_* variables.
    """
    from market_spread.controller.clients.probe import PROBE_TOPIC, kafka_round_trip

    topic = prefix + PROBE_TOPIC
    offset = kafka_round_trip(_broker(bootstrap_servers), topic)
    text = f"a record went to {topic} and came back (offset {offset})"
    show_result({"topic": topic, "offset": offset}, text, as_json=as_json)


def _broker(bootstrap_servers: str) -> "KafkaBroker":
    """A broker that someone else runs, with the security that the environment says."""
    from market_spread.common.config import from_environment
    from market_spread.common.kafka.client import KafkaBroker
    from market_spread.common.kafka.security import KafkaSecurity

    return KafkaBroker(bootstrap_servers, security=from_environment(KafkaSecurity))


@main.command(epilog="Example: market-spread up --port 9092")
@click.option("--workload", type=INPUT, help="Take the job's mode, batch time, partitions and memory from it.")
@_port(help="Port of the broker on the loopback interface.")
@_monitored
@_up_folder
@_as_json
def up(workload: Path | None, port: int, monitored: bool, folder: Path, as_json: bool) -> None:
    """Start the processes without a run, and leave them up.

    These are broker, metrics-aggregator, receiver, job and sender, with empty topics.
    """
    from market_spread.controller.deploy.local.command import BackgroundStack
    from market_spread.controller.plan.reading import read_workload
    from market_spread.controller.plan.workload import DEFAULT_WORKLOAD

    stack = BackgroundStack(folder, clock=SystemClock())
    served = read_workload(workload) if workload else DEFAULT_WORKLOAD
    interrupt_once()
    stack.bring_up(workload=served, say=say, broker_port=port, monitored=monitored)
    _show(stack, as_json=as_json)


@main.command(epilog="Example: market-spread down")
@_up_folder
@_as_json
def down(folder: Path, as_json: bool) -> None:
    """Stop the processes that `up` started, and no others. Their topics are deleted; their logs are kept."""
    from market_spread.controller.deploy.local.command import BackgroundStack

    ended = BackgroundStack(folder, clock=SystemClock()).bring_down()
    names = ", ".join(f"{process.title} ({process.pid})" for process in ended)
    document = [asdict(process) for process in ended]
    show_result(document, f"ended {names}" if ended else "nothing is up", as_json=as_json)


@main.command(epilog="Example: market-spread status")
@_up_folder
@_as_json
def status(folder: Path, as_json: bool) -> None:
    """Show the processes that `up` started, and their state.

    Exit status: 0 all healthy or none started, 1 one has ended, has failed or does not answer.
    """
    from market_spread.controller.deploy.local.command import BackgroundStack

    _show(BackgroundStack(folder, clock=SystemClock()), as_json=as_json)


def _show(stack: "BackgroundStack", *, as_json: bool) -> None:
    """Print the state of the processes, and exit with the status for it."""
    from market_spread.controller.deploy.local.command import status_lines

    statuses = stack.statuses()
    text = "\n".join(status_lines(statuses)) if statuses else "nothing is up; bring it up with: market-spread up"
    show_result([asdict(status) for status in statuses], text, as_json=as_json)
    sys.exit(0 if all(status.well for status in statuses) else 1)


if __name__ == "__main__":
    main()
