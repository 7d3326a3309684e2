"""Faults as part of a workload: what is refused, with its line, and what a seed draws."""

from pathlib import Path

import pytest
import yaml

from market_spread.common.errors import UsageError
from market_spread.controller.plan.faults import Fault, FaultKeys
from market_spread.controller.plan.reading import read_workload, to_yaml
from market_spread.controller.plan.workload import WORKLOAD, Workload
from tests.support.paths import QUICK


def workload(folder: Path, faults: str) -> Workload:
    """The quick workload, a minute long, with these faults."""
    path = folder / "workload.yaml"
    path.write_text(QUICK.read_text() + "faults:\n  recovers_within_s: 10\n" + faults)
    return read_workload(path)


def test_what_is_planned_is_in_the_order_of_its_begin(tmp_path: Path) -> None:
    found = workload(
        tmp_path,
        "  schedule:\n"
        "    - {at_s: 20, do: kill, target: job}\n"
        "    - {at_s: 30, do: restart, target: broker, for_s: 3}\n"
        "    - {at_s: 10, do: stop, target: job, for_s: 5}\n",
    )

    assert [(it.at_s, it.text) for it in found.planned_faults] == [
        (10, "stop of the job for 5 s"),
        (20, "kill of the job"),
        (30, "restart of the broker for 3 s"),
    ]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("{at_s: 10, do: stop, target: job}", "faults.schedule[0].for_s is missing; say how long the stop lasts"),
        (
            "{at_s: 10, do: kill, target: job, for_s: 3601}",
            "faults.schedule[0].for_s=3601; use a number from 0 to 3600",
        ),
        (
            "{at_s: 10, do: burn, target: job}",
            "faults.schedule[0].do='burn'; use one of stop, kill, restart, link, partition, lose_acks",
        ),
        ("{at_s: 10, do: kill, target: me}", "faults.schedule[0].target='me'; use one of job, broker, receiver"),
        (
            "{at_s: 49, do: stop, target: job, for_s: 2}",
            "faults.schedule[0].at_s=49; let it end recovers_within_s before the load does, by 50 s",
        ),
        (
            "{at_s: 10, do: kill, between: [job, broker]}",
            "faults.schedule[0].target is missing; a kill is of a process, so name one, and no link",
        ),
        (
            "{at_s: 10, do: partition, target: job, for_s: 5}",
            "faults.schedule[0].between=[]; name one of sender, job, receiver, then broker",
        ),
        (
            "{at_s: 10, do: partition, between: [job, sender], for_s: 5}",
            "faults.schedule[0].between=['job', 'sender']; name one of sender, job, receiver, then broker",
        ),
        (
            "{at_s: 10, do: lose_acks, between: [receiver, broker], for_s: 5, share: 0.1}",
            "faults.schedule[0].between=['receiver', 'broker']; name one of sender, job, then broker",
        ),
        (
            "{at_s: 10, do: link, between: [job, broker], for_s: 5}",
            "faults.schedule[0].delay_ms, jitter_ms, bytes_per_s, reset_share; "
            "say what becomes of the link by one of them",
        ),
        (
            "{at_s: 10, do: lose_acks, between: [job, broker], for_s: 5, delay_ms: 9}",
            "faults.schedule[0].delay_ms is of link; leave it out",
        ),
        (
            "{at_s: 10, do: partition, between: [job, broker]}",
            "faults.schedule[0].for_s is missing; say how long the partition lasts",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(tmp_path: Path, fault: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        workload(tmp_path, f"  schedule:\n    - {fault}\n")

    line = len(QUICK.read_text().splitlines()) + 4
    assert str(refused.value) == f"{tmp_path}/workload.yaml:{line}: {said}"


def test_faults_that_overlap_on_a_target_are_refused_and_others_are_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        workload(
            tmp_path,
            "  schedule:\n"
            "    - {at_s: 10, do: stop, target: job, for_s: 5}\n"
            "    - {at_s: 12, do: stop, target: broker, for_s: 5}\n"
            "    - {at_s: 15, do: kill, target: job}\n"
            "    - {at_s: 17.1, do: kill, target: broker}\n",
        )

    assert str(refused.value).endswith("schedule[2].at_s=15; begin after 15 s, when schedule[0] is over")
    assert len(str(refused.value).splitlines()) == 1


def test_a_link_and_the_processes_at_its_ends_may_have_faults_at_once(tmp_path: Path) -> None:
    faults = (
        "  schedule:\n"
        "    - {at_s: 10, do: partition, between: [job, broker], for_s: 5}\n"
        "    - {at_s: 11, do: kill, target: job}\n"
        "    - {at_s: 12, do: link, between: [sender, broker], for_s: 5, delay_ms: 50, bytes_per_s: 100000}\n"
    )

    found = workload(tmp_path, faults)
    with pytest.raises(UsageError, match=r"schedule\[3\]\.at_s=14; begin after 15 s, when schedule\[0\] is over"):
        workload(tmp_path, faults + "    - {at_s: 14, do: lose_acks, between: [job, broker], for_s: 1, share: 0.1}\n")

    assert [(it.text, it.meets) for it in found.planned_faults] == [
        ("partition between job and broker for 5 s", ("job", "broker")),
        ("kill of the job", ("job",)),
        ("link (delay_ms 50, bytes_per_s 100000) between sender and broker for 5 s", ("sender", "broker")),
    ]


BOTH = "  random: {per_minute: 1, of: [kill]}\n  schedule: [{at_s: 1, do: kill, target: job}]\n"


@pytest.mark.parametrize("both", ["  schedule: []\n", BOTH])
def test_either_a_schedule_or_a_seed_is_given(tmp_path: Path, both: str) -> None:
    with pytest.raises(UsageError, match="schedule, random; give exactly one of them"):
        workload(tmp_path, both)


def test_a_seed_draws_the_same_faults_apart_from_each_other_and_from_the_end() -> None:
    keys = {"recovers_within_s": 10, "random": {"per_minute": 6, "of": ["kill", "stop"]}}
    base = yaml.safe_load(QUICK.read_text())

    first, again, other = (
        WORKLOAD.read(base | {"faults": {**keys, "seed": seed}}).planned_faults for seed in (7, 7, 8)
    )

    assert first == again != other
    assert len(first) == 5  # of 50 s
    ends = [each.at_s + each.for_s for each in first]
    assert all(end < after.at_s for end, after in zip(ends, first[1:], strict=False))
    assert ends[-1] <= 50
    assert {each.do for each in first} == {"kill", "stop"}


def test_a_load_that_has_no_room_for_a_random_fault_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"random\.per_minute=1; use more, as none comes in 60 s"):
        workload(tmp_path, "  random: {per_minute: 1, of: [kill]}\n")


@pytest.mark.parametrize(
    "faults",
    [
        "  schedule: [{at_s: 1, do: stop, target: job, for_s: 2}]\n",
        "  schedule: [{at_s: 1, do: lose_acks, between: [job, broker], for_s: 2, share: 0.05}]\n",
        "  random: {per_minute: 6, of: [kill]}\n",
    ],
)
def test_no_fault_is_lost_when_a_workload_is_written(tmp_path: Path, faults: str) -> None:
    read = workload(tmp_path, faults)

    assert WORKLOAD.read(yaml.safe_load(to_yaml(read))) == read
    assert read.planned_faults


def test_what_is_not_the_runs_own_is_left_alone() -> None:
    faults = FaultKeys(recovers_within_s=1, schedule=(Fault(at_s=1, do="kill", target="broker"),))

    assert faults.wrong(60, {"broker": "it is yours"}) == ["schedule[0].target='broker'; it is yours"]
    assert faults.wrong(60, {"job": "it is yours"}) == []

    link = Fault(at_s=1, do="partition", between=("sender", "broker"), for_s=1)
    assert FaultKeys(recovers_within_s=1, schedule=(link,)).wrong(60, {"broker": "it is yours"}) == [
        "schedule[0].between=['sender', 'broker']; it is yours"
    ]


SYSTEM = """
name: mine
seed: 1
load: {profile: constant, messages_per_s: 100, duration_s: 60}
warm_up: {duration_s: 1}
system: {attached: {group: mine}}
kafka: {bootstrap: "127.0.0.1:9092"}
input: [{topic: in, from: {file: in.txt}}]
output: [{topic: out}]
faults:
  recovers_within_s: 10
  schedule:
    - {at_s: 10, do: kill, target: job}
    - {at_s: 20, do: kill, target: broker}
    - {at_s: 30, do: kill, target: receiver}
"""


def test_what_runs_already_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(SYSTEM)

    with pytest.raises(UsageError) as refused:
        read_workload(path)

    attached, broker = str(refused.value).splitlines()
    assert attached.startswith(f"{path}:13: faults.schedule[0].target='job'; the system is attached")
    assert broker.startswith(f"{path}:14: faults.schedule[1].target='broker'; the broker of kafka.bootstrap")


def test_a_cluster_refuses_faults_by_their_line(tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    lines = len(QUICK.read_text().splitlines())
    path.write_text(
        QUICK.read_text() + "faults:\n  recovers_within_s: 10\n  schedule: [{at_s: 10, do: kill, target: job}]\n"
    )

    with pytest.raises(UsageError, match=f":{lines + 1}: faults: they are for local runs"):
        read_workload(path, refused={"faults": "they are for local runs so far"})
    assert read_workload(path).faults is not None
    assert read_workload(QUICK, refused={"faults": "they are for local runs so far"}).faults is None
