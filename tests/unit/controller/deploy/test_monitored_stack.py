"""Processes that Prometheus can read, started as they are told; nothing of them runs."""

import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest
import yaml

from market_spread.common.errors import MarketSpreadError, RunFailedError
from market_spread.common.jvm.archives import LocalJvms
from market_spread.common.jvm.jars import JarCache, Java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.controller.deploy.local import broker, stack
from market_spread.controller.deploy.local.services import Child
from market_spread.controller.deploy.local.stack import LocalStack
from market_spread.controller.plan.faults import Fault
from market_spread.controller.plan.workload import DEFAULT_WORKLOAD, Workload
from tests.support.clock import ManualClock

AGENT = Path("/jars/agent.jar")
REPLICAS = 2
WORKLOAD = DEFAULT_WORKLOAD.changed(
    market={"partitions": 1},
    job={"mode": "real-time", "batch_s": 20.0, "shuffle_partitions": 1, "memory": "1g", "replicas": REPLICAS},
    warm_up={"batches": 0},
)


class Jars:
    def paths(self, group: str) -> list[Path]:
        return [AGENT] if group == "metrics" else []


class Started:
    """What was started, with its command and environment; it runs on."""

    commands: dict[str, list[str]]
    environments: dict[str, Mapping[str, str]]
    running, exit_status, pid = True, None, 1
    signals: Sequence[int] = ()

    disk_is_full, log = False, "job.log"

    end = "ended with status 1"

    def stop(self, within_s: float = 10.0) -> None:
        """Nothing is left of it."""
        self.running = False

    def send(self, number: int) -> None:
        self.signals = [*self.signals, number]

    def suspend(self) -> Callable[[], None]:
        self.send(signal.SIGSTOP)
        return lambda: self.send(signal.SIGCONT)

    def last_lines(self, _count: int) -> list[str]:
        return []

    @classmethod
    def start(cls, name: str, command: Sequence[object], *, environment: Mapping[str, str], **_: object) -> "Started":
        if ports_file := environment.get("MARKET_SPREAD_PORTS_FILE"):
            Path(ports_file).write_text('{"grpc": 1, "http": 2}')
        cls.commands[name] = [str(word) for word in command]
        cls.environments[name] = environment
        return cls()


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    Started.commands, Started.environments = {}, {}
    monkeypatch.setattr(Child, "start", Started.start)
    monkeypatch.setattr(broker, "_accepts_connections", lambda port: "broker" in Started.commands)
    monkeypatch.setattr(KafkaBroker, "create_topics", lambda kafka, topics, appended: None)
    monkeypatch.setattr(
        stack, "local_jvms", lambda java, jars: LocalJvms(java, jars, Path("/job.jsa"), Path("/broker.jsa"))
    )


def processes(
    folder: Path, *, monitored: bool, workload: Workload = WORKLOAD, clock: ManualClock | None = None
) -> LocalStack:
    return LocalStack(
        folder=folder,
        java=Java(Path("/usr/bin/java"), 17),
        jars=cast(JarCache, Jars()),
        workload=workload,
        clock=clock or ManualClock(),
        monitored=monitored,
    )


def test_each_process_listens_where_prometheus_is_told_to_look(tmp_path: Path) -> None:
    started = processes(tmp_path, monitored=True)

    addresses = started.start()
    hint = started.how_to_watch(tmp_path, addresses)

    assert hint == f"for Prometheus: prometheus --config.file={tmp_path}/prometheus.yml"
    scraped = yaml.safe_load((tmp_path / "prometheus.yml").read_text())["scrape_configs"]
    targets = {config["job_name"]: config["static_configs"][0]["targets"] for config in scraped}
    assert targets["market-spread-aggregator"] == ["127.0.0.1:2"]
    (agent,) = [word for word in Started.commands["broker"] if word.startswith("-javaagent:")]
    assert agent.startswith(f"-javaagent:{AGENT}={targets['market-spread-kafka'][0]}:")
    assert Path(agent.rsplit(":", 1)[1]).read_text().startswith("# What the JMX exporter shows")
    ports = [Started.environments[name]["MARKET_SPREAD_UI_PORT"] for name in ("job", "job_1")]
    assert targets["market-spread-spark"] == [f"127.0.0.1:{port}" for port in ports]
    assert len(set(ports)) == REPLICAS
    assert Started.environments["job"]["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_unless_asked_for_nothing_of_it_is_there(tmp_path: Path) -> None:
    started = processes(tmp_path, monitored=False)

    hint = started.how_to_watch(tmp_path, started.start())

    assert hint is None
    assert not [word for word in Started.commands["broker"] if word.startswith("-javaagent:")]
    assert "MARKET_SPREAD_UI_PORT" not in Started.environments["job"]
    assert Started.environments["job"]["SPARK_LOCAL_IP"] == "127.0.0.1"  # as always


@pytest.mark.parametrize("standby", [0, 1])
def test_a_standby_has_the_checkpoint_of_the_other_and_a_replica_one_of_its_own(tmp_path: Path, standby: int) -> None:
    workload = WORKLOAD.changed(job={"standby": standby, "replicas": REPLICAS - standby})

    addresses = processes(tmp_path, monitored=False, workload=workload).start()

    told = [Started.environments[name] for name in ("job", "job_1")]
    assert len({each["MARKET_SPREAD_CHECKPOINT"] for each in told}) == (1 if standby else 2)
    assert len({each["MARKET_SPREAD_LOCAL_FOLDER"] for each in told}) == 2
    assert [each["MARKET_SPREAD_REPLICA"] for each in told] == (["0", "0"] if standby else ["0", "1"])
    assert {each["MARKET_SPREAD_STANDBY"] for each in told} == {"true" if standby else "false"}
    assert (len(addresses.replicas), addresses.is_standby) == (1, bool(standby))


@pytest.mark.parametrize(("standby", "after_s"), [(0, 0), (1, 6)])
def test_a_driver_is_started_again_when_its_standby_has_taken_over(tmp_path: Path, standby: int, after_s: int) -> None:
    clock = ManualClock()
    clock.advance_ns(1)
    workload = WORKLOAD.changed(job={"standby": standby, "replicas": REPLICAS - standby})
    stack = processes(tmp_path, monitored=False, workload=workload, clock=clock)
    stack.start()
    for number in range(1, 4):  # each time it waits as long
        ended = stack.children["job"]
        cast(Started, ended).running = False
        started_again = []
        for _ in range(8):
            stack.check_alive()
            assert stack.job_restarts == number  # at once, as its batch is read again
            started_again.append(stack.children["job"] is not ended)
            clock.advance_ns(1_000_000_000)

        assert started_again == [second >= after_s for second in range(8)]
    cast(Started, stack.children["job"]).running = False
    with pytest.raises(RunFailedError, match="the job ended"):
        stack.check_alive()


ONE = WORKLOAD.changed(job={"replicas": 1})


@pytest.mark.parametrize("target", ["job", "receiver", "broker"])
def test_what_a_planned_fault_has_ended_is_started_again_once_it_is_over(tmp_path: Path, target: str) -> None:
    stack = processes(tmp_path, monitored=False, workload=ONE)
    stack.start()
    fault, ports = Fault(at_s=1, do="kill", target=target, for_s=2), []

    def now() -> Started:
        return cast(Started, stack.broker.child if target == "broker" else stack.children[target])

    before = now()
    stack.strike(fault)
    Started.commands.pop("broker", None)  # nobody listens there any more
    for _ in range(3):
        stack.check_alive()
        ports.append(now() is before)
    stack.heal(fault)
    stack.check_alive()

    assert ports == [True, True, True]  # and nobody took it for dead
    assert before.signals == [signal.SIGKILL]
    assert now() is not before
    assert now().running
    assert stack.job_restarts == (target == "job")
    if target != "broker":
        assert Started.environments[target]["MARKET_SPREAD_GRPC_PORT"] == "1"  # as it was told at first
    now().running = False
    with pytest.raises(MarketSpreadError, match=f"the {target} ended with status 1"):  # that was not planned
        stack.check_alive()


def test_what_a_planned_fault_stops_goes_on_afterwards(tmp_path: Path) -> None:
    stack, fault = processes(tmp_path, monitored=False, workload=ONE), Fault(at_s=1, do="stop", target="job", for_s=2)
    stack.start()

    stack.strike(fault)
    stack.heal(fault)
    stack.heal(fault)

    assert cast(Started, stack.children["job"]).signals == [signal.SIGSTOP, signal.SIGCONT]
    assert not cast(Started, stack.children["receiver"]).signals


def test_a_process_that_has_died_by_itself_is_not_started_again_by_a_fault(tmp_path: Path) -> None:
    stack, fault = processes(tmp_path, monitored=False, workload=ONE), Fault(at_s=1, do="kill", target="receiver")
    stack.start()
    cast(Started, stack.children["receiver"]).running = False

    stack.strike(fault)
    stack.heal(fault)

    with pytest.raises(MarketSpreadError, match="the receiver ended"):
        stack.check_alive()


def test_stolen_time_never_goes_back(tmp_path: Path) -> None:
    machine = processes(tmp_path, monitored=False)

    before, after = machine.stolen_cpu_s(), machine.stolen_cpu_s()

    assert before is not None
    assert after is not None
    assert 0 <= before <= after
