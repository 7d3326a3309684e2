"""The embedded broker as others meet it: its ports, why it did not start, and when its topics can be used."""

import logging
import socket
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.errors import UsageError
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka.client import KafkaBroker
from market_spread.controller.deploy.local.broker import Broker, free_port


def test_free_ports_differ_and_can_be_bound() -> None:
    ports = [free_port() for _ in range(500)]

    assert len(set(ports)) == len(ports)
    with ExitStack() as ending:
        for port in ports:
            ending.enter_context(closing(socket.create_server(("127.0.0.1", port))))  # it sets SO_REUSEADDR


def test_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    broker = Broker(folder=tmp_path / "broker", java=find_java(), jars=JarCache().paths("broker"), clock=SystemClock())
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        broker._controller_port = taken.getsockname()[1]

        broker.launch()
        with pytest.raises(UsageError) as raised:
            broker.wait()

    broker.stop()
    assert f"127.0.0.1:{broker._controller_port}: Address already in use" in str(raised.value)


def test_new_topics_take_records_at_once(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    kafka = KafkaBroker(broker.bootstrap_servers)
    # As the product sets them: a callback that waited for a core is not what is asked here.
    with caplog.at_level(logging.WARNING, logger="kafka"), caplog.at_level(logging.ERROR, logger="kafka.net.selector"):
        for number in range(10):
            topics = [f"at-once-{number}-{each}" for each in range(6)]
            kafka.create_topics(dict.fromkeys(topics, 4))
            kafka.write({topic: [b"x"] for topic in topics}, within_s=10)

    assert [record.getMessage() for record in caplog.records] == []
