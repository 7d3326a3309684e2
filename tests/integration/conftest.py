"""What tests of several parts share: a broker, one for each process that runs tests."""

from collections.abc import Iterator

import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.jvm.jars import JarCache
from market_spread.common.jvm.java import find_java
from market_spread.controller.deploy.local.broker import Broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real one, for all who name their topics so that no other test has them."""
    folder, jars = tmp_path_factory.mktemp("broker"), JarCache().paths("broker")
    broker = Broker(folder=folder, java=find_java(), jars=jars, clock=SystemClock())
    broker.start()
    yield broker
    broker.stop()
