"""What tests of several parts share: a broker, one for each process that runs tests."""

from collections.abc import Iterator

import pyspark.errors.utils
import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.jvms import local_jvms

# PySpark passes the caller's line to the JVM with every function, for a log entry that no test reads. That takes a
# third of the time in which a warm session plans a query. PySpark keeps the setting here once a session has read it.
pyspark.errors.utils._enable_debugging_cache = False  # type: ignore[assignment]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real one, for all who name their topics so that no other test has them."""
    folder, jars = tmp_path_factory.mktemp("broker"), JarCache().paths("broker")
    option = local_jvms(find_java(), JarCache()).broker_option
    broker = Broker(folder=folder, java=find_java(), jars=jars, clock=SystemClock(), archive_option=option)
    broker.launch()
    broker.wait()
    yield broker
    broker.stop()
