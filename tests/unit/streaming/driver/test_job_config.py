"""The driver's environment, checked as a whole."""

from pathlib import Path

import pytest

from market_spread.common.config import from_environment, to_environment
from market_spread.common.errors import UsageError
from market_spread.common.job_contract import slots_needed
from market_spread.streaming.driver.config import JobConfig

REQUIRED = {"MARKET_SPREAD_BOOTSTRAP_SERVERS": "127.0.0.1:9092", "MARKET_SPREAD_CHECKPOINT": "/data/checkpoint"}


def test_defaults_need_only_broker_and_checkpoint() -> None:
    config = from_environment(JobConfig, REQUIRED)

    assert (config.source, config.mode, config.batch_s, config.shuffle_partitions) == ("job", "real-time", 60.0, 1)
    assert config.topic_names(["orders", "invalid"]) == {"orders": "orders", "invalid": "invalid"}
    assert config.aggregator_address is None


def test_every_setting_travels_through_the_environment() -> None:
    config = JobConfig(
        bootstrap_servers="broker:9092",
        checkpoint="/checkpoint",
        batch_s=10.5,
        shuffle_partitions=4,
        application="word_count",
        topics="lines=lines-7,counts=totals",
        ports_file=Path("/tmp/ports.json"),
        java_options="-XX:+UseZGC",
        restarts_max=1,
    )

    assert from_environment(JobConfig, to_environment(config)) == config


def test_missing_and_malformed_variables_are_named_at_once() -> None:
    environment = {"MARKET_SPREAD_BATCH_S": "soon", "MARKET_SPREAD_RESTARTS_MAX": "1.5"}

    with pytest.raises(UsageError) as raised:
        from_environment(JobConfig, environment)

    assert sorted(str(raised.value).split("; ")) == [
        "MARKET_SPREAD_BATCH_S='soon' is not a number",
        "MARKET_SPREAD_BOOTSTRAP_SERVERS is not set",
        "MARKET_SPREAD_CHECKPOINT is not set",
        "MARKET_SPREAD_RESTARTS_MAX='1.5' is not a whole number",
    ]


def test_values_that_the_job_cannot_use_are_refused_at_once() -> None:
    environment = {
        **REQUIRED,
        "MARKET_SPREAD_MODE": "turbo",
        "MARKET_SPREAD_BATCH_S": "4.9",
        "MARKET_SPREAD_SHUFFLE_PARTITIONS": "0",
        "MARKET_SPREAD_WARM_UP_BATCHES": "-1",
        "MARKET_SPREAD_TOPICS": "orders=orders-7,invalid",
    }

    with pytest.raises(UsageError) as raised:
        from_environment(JobConfig, environment)

    assert str(raised.value) == (
        "mode='turbo'; use one of real-time, micro-batch; "
        "shuffle_partitions=0; use at least 1; warm_up_batches=-1; use 0 or more; "
        "topics='orders=orders-7,invalid'; use name=topic, joined by commas"
    )


def test_refused_values_are_named_with_missing_and_malformed_ones() -> None:
    environment = {
        "MARKET_SPREAD_CHECKPOINT": "/data/checkpoint",
        "MARKET_SPREAD_RESTARTS_MAX": "often",
        "MARKET_SPREAD_BATCH_S": "4.9",
    }

    with pytest.raises(UsageError) as raised:
        from_environment(JobConfig, environment)

    assert sorted(str(raised.value).split("; ")) == [
        "MARKET_SPREAD_BOOTSTRAP_SERVERS is not set",
        "MARKET_SPREAD_RESTARTS_MAX='often' is not a whole number",
        "batch_s=4.9",
        "real-time takes 5 seconds or more",
    ]


def test_shortest_batch_of_real_time_mode_is_taken() -> None:
    config = from_environment(JobConfig, {**REQUIRED, "MARKET_SPREAD_BATCH_S": "5"})

    assert config.batch_s == 5


def test_real_time_mode_needs_a_slot_for_each_partition_of_topics_and_state() -> None:
    assert slots_needed("real-time", 4, 1) == 5


def test_tasks_of_micro_batch_mode_wait_for_each_other() -> None:
    assert slots_needed("micro-batch", 4, 1) == 1


def test_topics_that_have_other_names_are_named() -> None:
    config = JobConfig(bootstrap_servers="broker:9092", checkpoint="/checkpoint", topics="orders=orders-7")

    assert config.topic_names(["nbbo", "orders"]) == {"nbbo": "nbbo", "orders": "orders-7"}


def test_a_prefix_goes_before_all_topics_that_have_no_name_of_their_own() -> None:
    config = JobConfig(bootstrap_servers="b:9092", checkpoint="/c", topics="orders=orders-7", topic_prefix="trial.")

    assert config.topic_names(["nbbo", "orders", "invalid"]) == {
        "nbbo": "trial.nbbo",
        "orders": "orders-7",
        "invalid": "trial.invalid",
    }


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"REPLICAS": "2"}, "standby with replicas=2; use one of the two"),
        (
            {"MASTER": "k8s://https://10.0.0.1"},
            "standby with master='k8s://https://10.0.0.1'; a driver stands by under",
        ),
    ],
)
def test_a_standby_is_refused_where_it_cannot_work(more: dict[str, str], sentence: str) -> None:
    environment = {**REQUIRED, **{f"MARKET_SPREAD_{name}": value for name, value in more.items()}}

    with pytest.raises(UsageError) as raised:
        from_environment(JobConfig, environment | {"MARKET_SPREAD_STANDBY": "true"})

    assert sentence in str(raised.value)
