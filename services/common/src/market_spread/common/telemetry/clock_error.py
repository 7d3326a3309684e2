"""Which host a process runs on, and what that host says about the error of its clock."""

import ctypes
import sys
from functools import cache
from pathlib import Path

_UNSYNCHRONISED = 0x40  # STA_UNSYNC
_UNKNOWN = -1, False
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


def read_clock_error() -> tuple[int, bool]:
    """The bound of the clock's error, microseconds (-1: unknown), and whether the host keeps it synchronised.

    The kernel's, by adjtimex in read mode, which needs no privilege; unknown where there is no such call.
    """
    if sys.platform != "linux":
        return _UNKNOWN
    timex = _Timex(modes=0)
    if ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex)) < 0:
        return _UNKNOWN
    return timex.maxerror, not timex.status & _UNSYNCHRONISED


@cache
def host_id() -> str:
    """The boot id of the host's kernel, empty where there is none.

    Unlike the hostname it is the same in all containers of a host, which have one clock.
    """
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
