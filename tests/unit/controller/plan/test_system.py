"""A workload that names its system: names that become whole, and a Kafka of the user's own."""

from pathlib import Path
from typing import Any

import pytest

from market_spread.common.errors import UsageError
from market_spread.common.kafka.security import PLAINTEXT, KafkaSecurity
from market_spread.controller.plan.reading import Overrides, overridden, read_workload, to_yaml
from market_spread.controller.plan.system import SYSTEM_WORKLOAD, SystemWorkload
from market_spread.controller.plan.workload import Workload
from market_spread.loadgen.recorded import Recorded

WORKLOAD: dict[str, Any] = {
    "name": "fares",
    "seed": 7,
    "load": {"profile": "constant", "messages_per_s": 10, "duration_s": 10},
    "warm_up": {"duration_s": 4, "settle_s": 2},
    "system": {"command": ["python", "system.py"]},
    "input": [{"topic": "trips", "from": {"file": "trips.txt"}}],
    "output": [{"topic": "fares"}],
}
LOGIN = {"protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "username": "me", "password_file": "secret/password"}


def resolved(folder: Path, **keys: Any) -> SystemWorkload:
    """As a run reads it from a file, and as the next one reads what that has written."""
    path = folder / "workload.yaml"
    path.write_text(to_yaml(SYSTEM_WORKLOAD.read(WORKLOAD | keys)))
    workload = read_workload(path)
    assert isinstance(workload, SystemWorkload)
    kept = folder / "runs" / "workload.yaml"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(to_yaml(workload))
    assert read_workload(kept) == workload
    return workload


def test_a_prefix_is_before_every_topic_and_the_group(tmp_path: Path) -> None:
    workload = resolved(tmp_path, kafka={"bootstrap": "localhost:1", "prefix": "mine."})

    assert workload.topics == {"mine.trips": 1, "mine.fares": 1}
    assert workload.group == "mine.market-spread-system"
    assert workload.plain("mine.trips") == "trips"


def test_without_one_names_stay_and_a_group_that_is_there_keeps_its_name(tmp_path: Path) -> None:
    assert resolved(tmp_path).group == "market-spread-system"
    attached = {"system": {"attached": {"group": "own-app"}}, "kafka": {"bootstrap": "localhost:1", "prefix": "mine."}}

    assert resolved(tmp_path, **attached).group == "own-app"


def test_the_invalid_topic_of_a_pipeline_has_the_prefix_once(tmp_path: Path) -> None:
    keys = {"system": {"pipeline": "p.py:p"}, "kafka": {"bootstrap": "localhost:1", "prefix": "mine."}}

    assert resolved(tmp_path, **keys).invalid_topic == "mine.fares-invalid"


OWN = {"bootstrap": "localhost:1", "prefix": "again."}


def test_a_recorded_topic_is_told_from_those_that_are_written_to_by_its_whole_name(tmp_path: Path) -> None:
    def replayed(**source: Any) -> SystemWorkload:
        return resolved(tmp_path, kafka=OWN, input=[{"topic": "trips", "from": source}])

    (source,) = (each.source for each in replayed(topic="trips").input)
    assert source.kafka is not None
    assert (source.name, source.kafka.bootstrap) == ("trips", "localhost:1")
    for written in ("again.trips", "again.fares"):
        with pytest.raises(UsageError, match=rf"^input: {written} is read for what it holds, and written to"):
            replayed(topic=written)
        assert replayed(topic=written, kafka={"bootstrap": "localhost:2"}).input[0].source.name == written


def test_the_prefix_must_end_so_that_no_name_begins_with_it_by_chance() -> None:
    with pytest.raises(UsageError, match=r"kafka.prefix='t'; use letters and digits, and one of . - _ at its end"):
        SYSTEM_WORKLOAD.read(WORKLOAD | {"kafka": OWN | {"prefix": "t"}})


def test_security_is_that_of_every_process_with_whole_paths(tmp_path: Path) -> None:
    workload = resolved(tmp_path, kafka={"bootstrap": "localhost:1", "security": LOGIN})

    assert workload.kafka.read_security == KafkaSecurity(
        kafka_security_protocol="SASL_SSL",
        kafka_sasl_mechanism="PLAIN",
        kafka_username="me",
        kafka_password_file=tmp_path / "secret" / "password",
    )
    assert resolved(tmp_path).kafka.read_security == PLAINTEXT


@pytest.mark.parametrize(
    ("kafka", "sentence"),
    [
        ({"security": LOGIN}, "kafka.security is of a broker of yours; name that in kafka.bootstrap"),
        ({"bootstrap": "b:1", "security": {"protocol": "TLS"}}, "protocol='TLS'; use one of PLAINTEXT, SSL"),
        (
            {"bootstrap": "b:1", "security": {"protocol": "SASL_SSL"}},
            "sasl_mechanism is not set; protocol=SASL_SSL needs it; username is not set",
        ),
        (
            {"bootstrap": "b:1", "security": LOGIN | {"protocol": "SSL"}},
            "password_file is set, but protocol=SSL does not use it",
        ),
        (
            {"bootstrap": "b:1", "security": LOGIN | {"sasl_mechanism": "GSSAPI"}},
            "sasl_mechanism='GSSAPI'; use one of PLAIN, SCRAM-SHA-256",
        ),
        ({"bootstrap": "b:1", "security": LOGIN | {"password": "x"}}, "password"),
    ],
)
def test_a_security_that_cannot_be_is_told_by_its_keys(kafka: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        SYSTEM_WORKLOAD.read(WORKLOAD | {"kafka": kafka})

    assert sentence in str(raised.value)
    assert "kafka_" not in str(raised.value)


def test_a_rate_sets_the_speed_of_a_recorded_load(tmp_path: Path) -> None:
    """An hour of a message each second: 4 s warm it up, so that 3,600 messages a second end after some 3 s in all."""
    (tmp_path / "day.txt").write_text("".join(f'{{"at": {second}}}\n' for second in range(3600)))
    source = {"file": "day.txt", "time": "at", "time_unit": "s"}
    workload = resolved(
        tmp_path,
        load={"profile": "recorded", "speed": 10.0},
        input=[{"topic": "trips", "from": source}],
        warm_up={"duration_s": 4},
    )

    faster = overridden(workload, Overrides(rate_per_s=100))

    assert isinstance(faster, SystemWorkload)
    assert isinstance(faster.load, Recorded)
    assert faster.load.speed == pytest.approx(100, rel=0.01)
    assert faster.load.total() / (faster.load.duration_ns / 1e9) == pytest.approx(100, rel=0.01)
    assert workload.load.total() == 3560
    assert read_workload_again(tmp_path, faster) == faster
    with pytest.raises(UsageError, match="the recording has no message from 4 s to"):
        overridden(workload, Overrides(rate_per_s=3600))
    with pytest.raises(UsageError, match="--rate 0; use a whole number from 1 to 10000000"):
        overridden(workload, Overrides(rate_per_s=0))
    with pytest.raises(UsageError, match="--rate and --duration need a constant profile, or --rate a recorded one"):
        overridden(workload, Overrides(duration_s=3))


def read_workload_again(folder: Path, workload: Workload) -> Workload:
    """As the run's folder keeps it."""
    path = folder / "kept.yaml"
    path.write_text(to_yaml(workload))
    return read_workload(path)
