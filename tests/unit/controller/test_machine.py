"""What a figure must be read with: the machine it was measured on."""

import os
import platform
from pathlib import Path

from market_spread.controller.host.machine import _field, stolen_cpu_s, this_machine


def test_this_machine_is_described() -> None:
    machine = this_machine()

    assert machine.cores == len(os.sched_getaffinity(0))
    assert machine.cpu_model
    assert machine.memory_bytes > 2**28
    assert (machine.kernel, machine.python) == (platform.release(), platform.python_version())


def test_stolen_time_never_goes_back() -> None:
    before = stolen_cpu_s()

    assert 0 <= before <= stolen_cpu_s()


def test_first_field_of_a_name_counts(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel\t\t: 1\nmodel name\t: A CPU: 3 GHz\n\nmodel name\t: Another\n")

    assert _field(cpuinfo, "model name") == "A CPU: 3 GHz"


def test_field_that_is_not_there_is_none(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nno colon\n")

    assert _field(cpuinfo, "model name") is None
