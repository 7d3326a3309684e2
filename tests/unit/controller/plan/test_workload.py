"""Workload files: read whole, and every error in them named with its line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.common.load.schedule import Burst, Constant, Ramp, Steps
from market_spread.controller.host.facts import MachineKeys
from market_spread.controller.plan.objectives import Limits, Objectives, VoidLimits
from market_spread.controller.plan.reading import Overrides, overridden, read_workload
from market_spread.controller.plan.workload import (
    FrameKeys,
    JobKeys,
    MarketKeys,
    WarmUpKeys,
    Workload,
    in_words,
    run_limits,
)
from market_spread.v1.limits_pb2 import RunLimits
from tests.support.paths import QUICK, ROOT

WORKLOADS = sorted([*ROOT.glob("loadgen/workloads/*.yaml"), *ROOT.glob("tests/*/workloads/*.yaml")])

VALID = """\
name: small
seed: 3
load:
  profile: constant
  messages_per_s: 1000
  duration_s: 30
market:
  symbols: 350
  partitions: 4
frames:
  messages: 100
  linger_ms: 0.5
job:
  batch_s: 5
warm_up:
  duration_s: 2
"""


@pytest.fixture
def errors_of(tmp_path: Path) -> Callable[[str], list[str]]:
    """The errors of a workload, each without the file's name."""
    path = tmp_path / "w.yaml"

    def errors(text: str) -> list[str]:
        path.write_text(text)
        with pytest.raises(UsageError) as raised:
            read_workload(path)
        return [line.removeprefix(f"{path}:") for line in str(raised.value).splitlines()]

    return errors


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Workload]:
    def read(text: str) -> Workload:
        path = tmp_path / "w.yaml"
        path.write_text(text)
        return read_workload(path)

    return read


def test_quick_workload_is_a_minute_at_20_000_messages_a_second() -> None:
    workload = read_workload(QUICK)

    assert workload.name == "quick"
    assert workload.load == Constant(20_000, 60)
    assert (workload.market.symbols, workload.job.mode, workload.job.batch_s) == (350, "real-time", 60)
    assert workload.market.rejected_orders == 1 / 70_000


def test_what_is_left_out_has_its_default(read: Callable[[str], Workload]) -> None:
    workload = read(VALID)

    assert workload == Workload(
        name="small",
        purpose="",
        seed=3,
        load=Constant(1_000, 30),
        market=MarketKeys(
            symbols=350, changing_symbols=0, rejected_orders=1 / 70_000, order_share=0.5, probes_per_s=200, partitions=4
        ),
        decisions="rejected",
        frames=FrameKeys(messages=100, linger_ms=0.5),
        job=JobKeys(mode="real-time", batch_s=5, shuffle_partitions=None, memory="2g", replicas=1),
        warm_up=WarmUpKeys(batches=30, duration_s=2, settle_s=0),
        limits=Limits(late_ms=10, late_share=0.001, stall_ms=2000, p99_ms=None),
        slo=Objectives(),
        void=VoidLimits(),
        preflight="warn",
        machine=MachineKeys(cores=1, memory_gb=0, without=()),
    )


def test_decisions_are_the_rejected_or_all(
    read: Callable[[str], Workload], errors_of: Callable[[str], list[str]]
) -> None:
    assert read(VALID).decisions == "rejected"
    assert read(VALID + "decisions: all\n").decisions == "all"
    assert errors_of(VALID + "decisions: some\n") == ["17: decisions='some'; use one of rejected, all"]


def test_limits_are_read(read: Callable[[str], Workload]) -> None:
    workload = read(VALID + "limits:\n  late_ms: 20\n  late_share: 0.5\n  p99_ms: 30\n")

    assert (workload.limits.late_ms, workload.limits.late_share, workload.limits.p99_ms) == (20, 0.5, 30)
    assert (workload.limits.stall_ms, read(VALID + "limits: {stall_ms: 1500}\n").limits.stall_ms) == (2000, 1500)


def test_run_is_told_all_that_it_is_judged_by(read: Callable[[str], Workload]) -> None:
    text = VALID + "limits: {late_ms: 20, late_share: 0.5, p99_ms: 98.303, stall_ms: 1500}\n"
    limits = run_limits(read(text + "slo: {p50_ms: 1.0009, rate_share: 0.9, loss: 0}\nvoid: {stolen_share: 0.2}\n"))

    assert limits == RunLimits(
        late_us=20_000, late_share_max=0.5, settle_us=0, stall_us=1_500_000, rate_share_min=0.9, loss_max=0,
        latency_us_max={"p50": 1_000, "p99": 98_303}, stolen_share_max=0.2, acknowledge_p99_us_max=100_000,
        unacknowledged_us_max=1_500_000, clusters_min=10, missing_share_max=0.05, negative_share_max=0.001,
    )  # fmt: skip
    assert in_words(limits) == (
        "at most 50.00% of the frames more than 20 ms late; no alert for at most 1.5 s; p50 at most 1 ms; "
        "p99 at most 98.303 ms; at least 90.0% of the rate; at most 0 lost"
    )


def test_what_is_not_asked_for_is_not_told(read: Callable[[str], Workload]) -> None:
    limits = run_limits(read(VALID))

    assert [limits.HasField("rate_share_min"), limits.HasField("loss_max"), len(limits.latency_us_max)] == [
        False, False, 0,
    ]  # fmt: skip


def test_alerts_of_micro_batches_may_stall_for_a_batch(read: Callable[[str], Workload]) -> None:
    workload = read(VALID)

    micro = workload.changed(job={"mode": "micro-batch", "batch_s": 10})

    assert (run_limits(workload).stall_us, run_limits(micro).stall_us) == (2_000_000, 12_000_000)
    assert run_limits(micro).unacknowledged_us_max == 12_000_000


def test_the_generator_may_queue_for_as_long_as_frames_may_be_late(read: Callable[[str], Workload]) -> None:
    limits = run_limits(read(VALID).changed(limits={"late_ms": 250}))

    assert (limits.acknowledge_p99_us_max, limits.unacknowledged_us_max) == (250_000, 2_000_000)
    all_may_be_late = run_limits(read_workload(QUICK).changed(limits={"late_share": 1}))
    assert all_may_be_late.acknowledge_p99_us_max == all_may_be_late.stall_us == 2_000_000


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("slo: {p50_ms: 20, p95_ms: 10}\n", "17: slo.p95_ms=10; use 20 or more, the limit of p50"),
        ("slo: {p99_ms: 20, max_ms: 19}\n", "17: slo.max_ms=19; use 20 or more, the limit of p99"),
        (
            "slo: {p99.9_ms: 20}\nlimits: {p99_ms: 30}\n",
            "17: slo.p99.9_ms=20; use 30 or more, the limit of p99",
        ),
        ("slo: {p50_ms: 30}\nlimits: {p99_ms: 20}\n", "18: limits.p99_ms=20; use 30 or more, the limit of p50"),
        (
            "slo: {p99_ms: 20}\nlimits: {p99_ms: 30}\n",
            "17: slo.p99_ms=20; limits.p99_ms is 30, so leave one of them out",
        ),
    ],
)
def test_objectives_that_contradict_each_other_are_refused(
    errors_of: Callable[[str], list[str]], text: str, error: str
) -> None:
    assert errors_of(VALID + text) == [error]


@pytest.mark.parametrize("text", ["slo: {p50_ms: 20, p99_ms: 20}\n", "slo: {p99_ms: 20}\nlimits: {p99_ms: 20}\n"])
def test_objectives_that_agree_are_taken(read: Callable[[str], Workload], text: str) -> None:
    assert read(VALID + text).slo.latency_ms["p99"] == 20


def test_stall_that_is_shorter_than_probes_are_apart_is_refused(errors_of: Callable[[str], list[str]]) -> None:
    text = VALID.replace("market:\n", "market:\n  probes_per_s: 1\n") + "limits: {stall_ms: 1000}\n"

    assert errors_of(text) == ["18: limits.stall_ms=1000; use more than 1000, the time between two probes"]


@pytest.mark.parametrize(
    ("replaced", "added", "errors"),
    [
        ("", "limits: {stall_ms: 999}\n", ["17: limits.stall_ms=999; use a number from 1000 to 3.6e+06"]),
        (
            "", "limits: {stall_ms: 30001}\n",
            ["17: limits.stall_ms=30001; use at most 30000, since the load ends before"],
        ),
        ("linger_ms: 2001", "", ["12: frames.linger_ms=2001; use at most 2000, what limits.stall_ms is"]),
        (
            "linger_ms: 3000", "limits: {stall_ms: 2500}\n",
            ["12: frames.linger_ms=3000; use at most 2500, what limits.stall_ms is"],
        ),
        (
            "linger_ms: 5", "slo: {p50_ms: 1, p99_ms: 5}\n",
            ["17: slo.p50_ms=1; use 5 or more, since frames.linger_ms lets a message wait so long"],
        ),
        (
            "linger_ms: 5", "limits: {p99_ms: 4}\n",
            ["17: limits.p99_ms=4; use 5 or more, since frames.linger_ms lets a message wait so long"],
        ),
        (
            "", "slo: {rate_share: 1}\n",
            ["17: slo.rate_share=1; use less than 1, since the last alert comes after the last message was sent"],
        ),
    ],
)  # fmt: skip
def test_what_no_system_can_meet_or_no_watch_can_see_is_refused(
    errors_of: Callable[[str], list[str]], replaced: str, added: str, errors: list[str]
) -> None:
    assert errors_of(VALID.replace("linger_ms: 0.5", replaced or "linger_ms: 0.5") + added) == errors


def test_a_load_that_is_made_shorter_shortens_the_stall_that_is_allowed(read: Callable[[str], Workload]) -> None:
    workload = read(VALID + "limits: {stall_ms: 20000}\n")

    stalls_ms = [overridden(workload, Overrides(duration_s=each)).limits.stall_ms for each in (60, 10, 1)]

    assert stalls_ms == [20_000, 10_000, 2_000]


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_every_workload_of_the_repository_is_read(path: Path) -> None:
    assert read_workload(path).name


@pytest.mark.parametrize(("text", "share"), [("1 in 10", 0.1), ("0.25", 0.25), ("0", 0), ("1 in 1", 1)])
def test_rejected_share_is_a_number_or_one_in_many(read: Callable[[str], Workload], text: str, share: float) -> None:
    workload = read(VALID.replace("market:\n", f"market:\n  rejected_orders: {text}\n"))

    assert workload.market.rejected_orders == share


@pytest.mark.parametrize(
    ("load", "profile"),
    [
        (
            "load: {profile: steps, steps: [{messages_per_s: 10, duration_s: 1}, {messages_per_s: 20, duration_s: 2}]}",
            Steps((Constant(10, 1), Constant(20, 2))),
        ),
        (
            "load: {profile: ramp, from_messages_per_s: 0, to_messages_per_s: 100, duration_s: 10}",
            Ramp(0, 100, 10),
        ),
        (
            "load: {profile: burst, messages_per_s: 5, burst_messages_per_s: 50, period_s: 4, "
            "burst_s: 1, duration_s: 9}",
            Burst(5, 50, 4, 1, 9),
        ),
    ],
    ids=["steps", "ramp", "burst"],
)
def test_every_profile_can_be_a_load(read: Callable[[str], Workload], load: str, profile: object) -> None:
    before, after = VALID.split("load:\n")
    rest = after[after.index("market:") :]

    assert read(f"{before}{load}\n{rest}").load == profile


def test_all_errors_are_named_each_with_its_line(errors_of: Callable[[str], list[str]]) -> None:
    text = """\
name: ""
seed: -1
load:
  profile: constant
  messages_per_s: fast
  duration_s: 0
market:
  symbols: 349
  partitions: 0
  rejected_orders: 1 of 10
  colour: blue
frames:
  messages: 0
  linger_ms: -1
job:
  mode: mega-batch
  batch_s: -4
  memory: 5g
warm_up:
  duration_s: yes
limits:
  late_share: 2
  p99_ms: 0
speed: 3
"""

    assert sorted(errors_of(text)) == sorted(
        [
            "1: name=''; use at most 100 small letters, digits and hyphens, and no hyphen first",
            "2: seed=-1; use a whole number from 0 to 9223372036854775807",
            "5: load.messages_per_s='fast'; use a whole number from 0 to 10000000",
            "6: load.duration_s=0; use a number from 0.001 to 604800",
            "8: market.symbols=349; use a whole number from 350 to 100000",
            "9: market.partitions=0; use a whole number from 1 to 1024",
            "10: market.rejected_orders='1 of 10'; use a number from 0 to 1",
            "11: market.colour is unknown; leave it out",
            "13: frames.messages=0; use a whole number from 1 to 100000",
            "14: frames.linger_ms=-1; use a number from 0 to 10000",
            "16: job.mode='mega-batch'; use one of real-time, micro-batch",
            "17: job.batch_s=-4; use a number from 0 to 3600",
            "18: job.memory='5g'; use one of 1g, 2g, 3g, 4g, 8g, 16g",
            "20: warm_up.duration_s=True; use a number from 1 to 3600",
            "22: limits.late_share=2; use a number from 0 to 1",
            "23: limits.p99_ms=0; use a number from 0.001 to 3.6e+06",
            "24: speed is unknown; leave it out",
        ]
    )


def test_what_is_missing_is_named_at_the_part_that_lacks_it(errors_of: Callable[[str], list[str]]) -> None:
    text = "seed: 1\nload:\n  profile: constant\n  messages_per_s: 5\nmarket:\n  symbols: 350\nframes: 7\njob: {}\n"

    assert sorted(errors_of(text)) == [
        "1: name is missing; use at most 100 small letters, digits and hyphens, and no hyphen first",
        "1: warm_up is missing; use an object",
        "2: load.duration_s is missing; use a number from 0.001 to 604800",
        "5: market.partitions is missing; use a whole number from 1 to 1024",
        "7: frames=7; use an object",
    ]


def test_keys_that_are_no_text_are_unknown_too(errors_of: Callable[[str], list[str]]) -> None:
    found = errors_of(VALID + "on: 1\n7: 2\nspeed: 3\n")

    assert sorted(line.partition(": ")[2] for line in found) == [
        "7 is unknown; leave it out",
        "True is unknown; leave it out",
        "speed is unknown; leave it out",
    ]


def test_error_in_a_step_has_the_line_of_the_step(errors_of: Callable[[str], list[str]]) -> None:
    steps = """\
load:
  profile: steps
  steps:
    - messages_per_s: 10
      duration_s: 1
    - messages_per_s: 10
      duration_s: -3
"""
    before, after = VALID.split("load:\n")

    found = errors_of(before + steps + after[after.index("market:") :])

    assert found == ["9: load.steps[1].duration_s=-3; use a number from 0.001 to 604800"]


def test_load_without_any_message_is_refused(errors_of: Callable[[str], list[str]]) -> None:
    load = "load: {profile: ramp, from_messages_per_s: 0, to_messages_per_s: 0, duration_s: 10}\n"
    before, after = VALID.split("load:\n")

    assert errors_of(before + load + after[after.index("market:") :]) == ["3: load.profile='ramp'; give a rate above 0"]


def test_settling_as_long_as_the_load_is_refused(errors_of: Callable[[str], list[str]]) -> None:
    assert errors_of(VALID + "  settle_s: 30\n") == ["17: warm_up.settle_s=30; use less than the load's 30 s"]


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just words\n", "42\n"])
def test_file_that_is_no_mapping_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(text)

    with pytest.raises(UsageError) as raised:
        read_workload(path)

    assert str(raised.value) == f"the workload {path} is no mapping; start with name:"


@pytest.mark.parametrize("name", ["Quick", "../up", "a b", "-a", "a_b", "a\\n"])
def test_name_that_is_no_part_of_a_run_id_is_refused(errors_of: Callable[[str], list[str]], name: str) -> None:
    found = errors_of(VALID.replace("name: small", f'name: "{name}"'))

    assert len(found) == 1
    assert found[0].startswith("1: name=")
    assert found[0].endswith("; use at most 100 small letters, digits and hyphens, and no hyphen first")


def test_more_changing_symbols_than_accepting_ones_are_refused(
    errors_of: Callable[[str], list[str]], read: Callable[[str], Workload]
) -> None:
    text = VALID.replace("symbols: 350", "symbols: 350\n  changing_symbols: 335")

    assert read(text).market.changing_symbols == 335
    assert errors_of(text.replace("335", "336")) == [
        "9: market.changing_symbols=336; use at most 335, the accepting ones of 350 symbols"
    ]


def test_fewer_symbols_than_change_are_refused(read: Callable[[str], Workload]) -> None:
    workload = read(VALID.replace("symbols: 350", "symbols: 1000\n  changing_symbols: 400"))

    with pytest.raises(UsageError) as raised:
        overridden(workload, Overrides(symbols=360))

    assert str(raised.value) == ("market.changing_symbols=400; use at most 345, the accepting ones of 360 symbols")


@pytest.mark.parametrize(
    ("text", "line"),
    [("name: a\nmarket: &m\n  symbols: *m\n", 3), ("name: a\nload:\n  - &l\n    - *l\n", 4), ("&w\nname: *w\n", 2)],
)
def test_part_that_contains_itself_is_one_sentence(errors_of: Callable[[str], list[str]], text: str, line: int) -> None:
    found = errors_of(text)

    assert len(found) == 1
    assert found[0].partition(": ")[2] == "this part contains itself; write it out without the alias"
    assert line - 1 <= int(found[0].partition(":")[0]) <= line


def test_aliases_of_aliases_are_read_in_no_time(errors_of: Callable[[str], list[str]]) -> None:
    levels = "".join(f"  l{i}: &l{i} {{a: *l{i - 1}, b: *l{i - 1}}}\n" for i in range(1, 60))

    assert "1: name is missing; use at most 100 small letters, digits and hyphens, and no hyphen first" in errors_of(
        "seed: 1\nspeed:\n  l0: &l0 {a: 1}\n" + levels
    )


def test_part_may_be_an_alias_of_another(read: Callable[[str], Workload]) -> None:
    text = VALID.replace("job:\n  batch_s: 5\n", "job: &job\n  batch_s: 5\n").replace("limits:", "limits:")

    assert read(text + "limits: &none {}\n").job.batch_s == 5


def test_file_that_is_no_yaml_is_refused_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("name: small\nload: {profile: constant\nmarket:\n")

    with pytest.raises(UsageError, match=r"^the workload .*w\.yaml is no YAML: .*line 3") as raised:
        read_workload(path)

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"], ids=["missing", "binary"])
def test_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "w.yaml"
    if content is not None:
        path.write_bytes(content)
    reason = "No such file or directory" if content is None else "it is no text"

    with pytest.raises(UsageError) as raised:
        read_workload(path)

    assert str(raised.value) == f"the workload {path} cannot be read: {reason}; name a YAML file"


def test_folder_is_no_workload(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: Is a directory; name a YAML file"):
        read_workload(tmp_path)


# What the command line changes


def test_nothing_given_changes_nothing() -> None:
    workload = read_workload(QUICK)

    assert overridden(workload, Overrides()) == workload


def test_options_replace_what_the_file_says() -> None:
    overrides = Overrides(rate_per_s=500, duration_s=90, mode="real-time", symbols=1_000, frame_messages=1)

    workload = read_workload(QUICK, overrides)

    assert workload.load == Constant(500, 90)
    assert (workload.job.mode, workload.market.symbols, workload.frames.messages) == ("real-time", 1_000, 1)
    assert (workload.name, workload.seed) == ("quick", 1)


def test_another_mode_brings_its_own_batch_time() -> None:
    workload = read_workload(QUICK, Overrides(mode="micro-batch"))

    assert (workload.job.mode, workload.job.batch_s) == ("micro-batch", 0.5)


@pytest.mark.parametrize(
    ("job", "rate_per_s", "duration_s", "starts_fast"),
    [
        ({}, 50_000, 180, True),
        ({}, 50_001, 180, False),
        ({}, 50_000, 181, False),
        ({"mode": "micro-batch"}, 1_000, 20, False),
        ({"jit": "fast-start"}, 1_000_000, 600, True),
        ({"jit": "peak"}, 1_000, 20, False),
    ],
)
def test_compilers_are_by_mode_and_load_unless_told(
    job: dict[str, str], rate_per_s: int, duration_s: float, starts_fast: bool
) -> None:
    workload = read_workload(QUICK, Overrides(rate_per_s=rate_per_s, duration_s=duration_s)).changed(job=job)

    assert workload.starts_fast is starts_fast


@pytest.mark.parametrize(
    ("symbols", "job", "partitions"),
    [
        (900, {}, 1),
        (901, {}, 2),
        (3_500, {}, 4),
        (100_000, {}, 16),
        (100_000, {"mode": "micro-batch"}, 1),
        (100_000, {"shuffle_partitions": 3}, 3),
        (350, {"mode": "micro-batch", "shuffle_partitions": 2}, 2),
    ],
)
def test_state_has_as_many_partitions_as_its_symbols_take_unless_told(
    symbols: int, job: dict[str, object], partitions: int
) -> None:
    assert read_workload(QUICK, Overrides(symbols=symbols)).changed(job=job).state_partitions == partitions


def test_rate_alone_keeps_the_duration_and_duration_alone_the_rate() -> None:
    assert read_workload(QUICK, Overrides(rate_per_s=7)).load == Constant(7, 60)
    assert read_workload(QUICK, Overrides(duration_s=7)).load == Constant(20_000, 7)


def test_short_load_settles_for_a_quarter_of_it_at_most() -> None:
    assert read_workload(QUICK, Overrides(duration_s=8)).warm_up.settle_s == 2
    assert read_workload(QUICK, Overrides(duration_s=600)).warm_up.settle_s == 5


def test_settling_time_is_left_as_it_is_while_the_duration_is(read: Callable[[str], Workload]) -> None:
    workload = read(VALID + "  settle_s: 20\n")

    assert workload.warm_up.settle_s == 20
    assert overridden(workload, Overrides(rate_per_s=7)).warm_up.settle_s == 20
    assert overridden(workload, Overrides(duration_s=40)).warm_up.settle_s == 10


@pytest.mark.parametrize(
    ("overrides", "error"),
    [
        (Overrides(rate_per_s=0), "--rate 0; use a whole number from 1 to 10000000"),
        (Overrides(rate_per_s=-5), "--rate -5; use a whole number from 0 to 10000000"),
        (Overrides(duration_s=0), "--duration 0; use a number from 0.001 to 604800"),
        (Overrides(mode="turbo"), "--mode 'turbo'; use one of real-time, micro-batch"),
        (Overrides(symbols=3), "--symbols 3; use a whole number from 350 to 100000"),
        (Overrides(symbols=100_001), "--symbols 100001; use a whole number from 350 to 100000"),
        (Overrides(frame_messages=0), "--frame-size 0; use a whole number from 1 to 100000"),
        (
            Overrides(mode="turbo", symbols=3, frame_messages=0),
            "--symbols 3; use a whole number from 350 to 100000; --frame-size 0; use a whole number from 1 to 100000; "
            "--mode 'turbo'; use one of real-time, micro-batch",
        ),
    ],
)
def test_option_out_of_its_range_is_refused(overrides: Overrides, error: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_workload(QUICK, overrides)

    assert str(raised.value) == error


def test_rate_of_a_load_that_is_not_constant_is_refused(read: Callable[[str], Workload]) -> None:
    before, after = VALID.split("load:\n")
    ramp = "load: {profile: ramp, from_messages_per_s: 0, to_messages_per_s: 100, duration_s: 10}\n"
    workload = read(before + ramp + after[after.index("market:") :])

    with pytest.raises(UsageError, match="--rate and --duration need a constant profile, or --rate a recorded one"):
        overridden(workload, Overrides(rate_per_s=10))


def test_replicas_need_long_batches(read: Callable[[str], Workload]) -> None:
    text = VALID.replace("job:\n", "job:\n  replicas: 2\n")
    assert text != VALID

    with pytest.raises(UsageError, match=r"batch_s=5; with replicas use 20 s or more"):
        read(text)
    assert read(text.replace("batch_s: 5", "batch_s: 20")).job.replicas == 2


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ("standby: 2", r"w\.yaml:\d+: job.standby=2; use a whole number from 0 to 1"),
        ("standby: 1\n  replicas: 2", r"w\.yaml:\d+: .*standby=1; with replicas use 0, as each is the other's"),
    ],
)
def test_a_standby_is_one_and_for_one_job(read: Callable[[str], Workload], keys: str, sentence: str) -> None:
    text = VALID.replace("batch_s: 5", "batch_s: 20")

    with pytest.raises(UsageError, match=sentence):
        read(text.replace("job:\n", f"job:\n  {keys}\n"))
    assert read(text.replace("job:\n", "job:\n  standby: 1\n")).job.drivers == 2
