"""Which host a process runs on, and what that host says about the error of its clock."""

import ctypes
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_UNSYNCHRONISED = 0x40  # STA_UNSYNC


@dataclass(frozen=True, slots=True)
class ClockError:
    """Bound of the clock's error, microseconds (-1: unknown), and whether the host keeps it synchronised."""

    bound_us: int
    synchronised: bool


UNKNOWN = ClockError(bound_us=-1, synchronised=False)
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class _Timex(ctypes.Structure):
    """Linux's struct timex: the fields that are read, and room for the others."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_long * 32),
    )


def read_clock_error() -> ClockError:
    """The kernel's bound, by adjtimex in read mode, which needs no privilege. UNKNOWN where there is no such call."""
    if sys.platform != "linux":
        return UNKNOWN
    timex = _Timex(modes=0)
    if ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex)) < 0:
        return UNKNOWN
    return ClockError(bound_us=timex.maxerror, synchronised=not timex.status & _UNSYNCHRONISED)


@cache
def host_id() -> str:
    """The boot id of the host's kernel, empty where there is none.

    Unlike the hostname it is the same in all containers of a host, which have one clock.
    """
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
