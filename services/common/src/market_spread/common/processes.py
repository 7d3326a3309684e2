"""What a process knows about itself: its CPU time, the signals that end it."""

import signal
import threading
from collections.abc import Callable

import psutil


def cpu_us(process: psutil.Process | None = None, children: bool = False) -> int:
    """CPU time, user and system, of a process (default: this one), in microseconds.

    With children, that of its living descendants and of its ended, waited-for children is added. A process that ends
    meanwhile counts as 0.
    """
    process = process or psutil.Process()
    family = [process, *(process.children(recursive=True) if children else [])]
    total_s = 0.0
    for member in family:
        try:
            times = member.cpu_times()
        except psutil.Error:
            continue
        total_s += times.user + times.system
        if children:
            total_s += times.children_user + times.children_system
    return round(total_s * 1e6)


def stop_event_on_signals() -> threading.Event:
    """An event that SIGTERM and SIGINT set. Call it from the main thread."""
    event = threading.Event()
    call_on_signals(event.set)
    return event


def call_on_signals(handler: Callable[[], object]) -> None:
    """Have SIGTERM and SIGINT call the handler, between two steps of the main thread. Call it from there."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: handler())
