"""What a figure must be read with: the machine it was measured on."""

import os
import platform

from market_spread.controller.host.facts import this_machine


def test_this_machine_is_described() -> None:
    machine = this_machine()

    assert machine["cores"] == len(os.sched_getaffinity(0))
    assert machine["cpu_model"]
    assert machine["memory_bytes"] > 2**28
    assert (machine["kernel"], machine["python"]) == (platform.release(), platform.python_version())
