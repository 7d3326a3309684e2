"""The host's word on its clock."""

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from market_spread.common.telemetry.pusher import read_clock_error


def host_that_says(monkeypatch: pytest.MonkeyPatch, *, result: int, maxerror: int, status: int) -> None:
    def adjtimex(pointer: Any) -> int:
        timex = pointer._obj
        assert timex.modes == 0
        timex.maxerror, timex.status = maxerror, status
        return result

    monkeypatch.setattr(ctypes, "CDLL", lambda *_args, **_kwargs: SimpleNamespace(adjtimex=adjtimex))


def test_a_synchronised_clock_has_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    host_that_says(monkeypatch, result=0, maxerror=250, status=0x2001)

    assert read_clock_error() == (250, True)


def test_an_unsynchronised_clock_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    host_that_says(monkeypatch, result=5, maxerror=16_000_000, status=0x40)

    assert read_clock_error() == (16_000_000, False)


def test_a_refused_call_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    host_that_says(monkeypatch, result=-1, maxerror=0, status=0)

    assert read_clock_error() == (-1, False)


def test_another_platform_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert read_clock_error() == (-1, False)
