"""What a process knows about itself: its CPUs and their time, the signals that end it."""

import _thread
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import groupby

import psutil


def family(process: psutil.Process | None = None) -> list[psutil.Process]:
    """A process (default: this one) and its living descendants. It reads the whole process table: 1.5 ms."""
    process = process or psutil.Process()
    return [process, *process.children(recursive=True)]


def cpu_us(process: psutil.Process | None = None) -> int:
    """CPU time, user and system, of a process alone (default: this one), in microseconds; 0 of one that has ended."""
    return round(sum(_seconds(process or psutil.Process())[:2]) * 1e6)


def cpu_us_of(processes: Iterable[psutil.Process]) -> int:
    """CPU time, user and system, of these and of what they have waited for, in microseconds; see `family`."""
    return round(sum(sum(_seconds(process)) for process in processes) * 1e6)


def memory_bytes_of(processes: Iterable[psutil.Process]) -> int:
    """Resident memory of these. One that ends meanwhile counts as 0."""
    total = 0
    for process in processes:
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def _seconds(process: psutil.Process) -> tuple[float, ...]:
    """User, system, and the same of ended children; none of a process that has ended."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return ()
    return times.user, times.system, times.children_user, times.children_system


def format_cpus(cpus: Iterable[int]) -> str:
    """CPUs as the kernel lists them: `0-3,8`."""
    # CPUs in a row are all as far from their places in the order.
    rows = groupby(enumerate(sorted(cpus)), key=lambda placed: placed[1] - placed[0])
    ranges = [[cpu for _, cpu in row] for _, row in rows]
    return ",".join(f"{row[0]}-{row[-1]}" if len(row) > 1 else str(row[0]) for row in ranges)


def stop_event_on_signals() -> threading.Event:
    """An event that SIGTERM and SIGINT set. Call it from the main thread.

    Python runs a handler on the main thread alone, which does not wake for a signal that another thread took, or that
    came just before it began to wait. So a thread hears of signals by Python's wake-up descriptor, and sets the event.
    """
    event = threading.Event()
    reading, writing = socket.socketpair()
    writing.setblocking(False)

    def hear() -> None:
        with reading, writing:  # open as long as the process runs
            while reading.recv(1):
                event.set()

    call_on_signals(lambda: None)
    signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=hear, name="signals", daemon=True).start()
    return event


def call_on_signals(handler: Callable[[], object]) -> None:
    """Have SIGTERM and SIGINT call the handler, between two steps of the main thread. Call it from there.

    The handler may take no lock that the main thread can hold at that moment.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: handler())


def set_in_handler(event: threading.Event) -> None:
    """Set an event that the main thread may be about to wait for, and then holds the lock of, for ever if it is to set
    it itself. A thread of `threading` takes locks of its own to start; one of `_thread` takes none.
    """
    _thread.start_new_thread(event.set, ())
