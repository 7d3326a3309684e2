"""What the kernel counts of the machine and of processes, read so cheaply that it may be read every second.

Names ending in `_per_s` or `_share` are made of counts by `Rates`; the others are levels.
"""

import os
import re
import socket
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

_TICKS_PER_S = float(os.sysconf("SC_CLK_TCK"))
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")
# Runs are counted by sockets of this name: anyone on the machine sees them, and they end with their process.
_RUN = "@market-spread-run-"
# Threads are many, and read more rarely than processes.
_THREADS_EVERY = 5
_NUMBER = re.compile(r"^(\w+):? +(\d+)", re.MULTILINE)
# Of a thread: how often it gave way by will, and after it by force.
_SWITCHES = re.compile(r"voluntary_ctxt_switches:\t(\d+)$", re.MULTILINE)
_COMPILERS = ("Name:\tC1 CompilerThre", "Name:\tC2 CompilerThre")  # the kernel cuts names

Values = Mapping[str, float]


class Rates:
    """Makes rates of counts, by their difference from the ones before."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], tuple[float, float]] = {}

    def of(self, component: str, counts: Values, monotonic_s: float) -> dict[str, float]:
        """The rate of each count a second since it was last given; none for one that is new or has gone back."""
        rates = {}
        for name, count in counts.items():
            before = self._before.get((component, name))
            self._before[component, name] = (count, monotonic_s)
            if before is not None and monotonic_s > before[1] and count >= before[0]:
                rates[_RATE_NAMES.get(name, f"{name}_per_s")] = (count - before[0]) / (monotonic_s - before[1])
        return rates


# CPU seconds a second are CPUs in use.
_RATE_NAMES = {
    "cpu_s": "cpus", "user_s": "cpus_user", "system_s": "cpus_system", "stolen_s": "cpus_stolen", "idle_s": "cpus_idle",
    "io_wait_s": "cpus_io_wait", "run_delay_s": "cpus_waited_for", "jit_s": "cpus_jit",
    "throttled_s": "throttled_share", "pressure_cpu_s": "pressure_cpu_share", "pressure_io_s": "pressure_io_share",
    "pressure_memory_s": "pressure_memory_share",
}  # fmt: skip
_MEMORY_NAMES = {
    "MemAvailable": "memory_mem_available_bytes", "Dirty": "memory_dirty_bytes", "SwapFree": "memory_swap_free_bytes",
}  # fmt: skip
_TCP_NAMES = {
    "InSegs": "tcp_in_segs", "OutSegs": "tcp_out_segs", "RetransSegs": "tcp_retrans_segs", "InErrs": "tcp_in_errs",
    "ListenDrops": "tcp_listen_drops", "TCPTimeouts": "tcp_timeouts", "TCPBacklogDrop": "tcp_backlog_drop",
    "TCPRcvQDrop": "tcp_rcv_qdrop",
}  # fmt: skip


def sign_of_run() -> socket.socket:
    """A sign that a run goes on here, until it is closed: those on the machine count it among the `runs`."""
    sign = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sign.bind(f"{_RUN}{uuid.uuid4().hex}".replace("@", "\0"))
    return sign


class MachineCounters:
    """Counts of the machine, and of this process's cgroup."""

    def __init__(self, cgroup: Path | None = None) -> None:
        """cgroup: the folder of ours, if there is one."""
        self._proc, self._cgroup = Path(psutil.PROCFS_PATH), cgroup
        self.own_pid = os.getpid()

    def read(self) -> tuple[dict[str, float], dict[str, float]]:
        """Counts since the machine started, and levels."""
        stat, net, cpu = _text(self._proc / "stat"), psutil.net_io_counters(nowrap=False), psutil.cpu_times()
        user_s, system_s = cpu.user + cpu.nice, cpu.system + cpu.irq + cpu.softirq
        counts = {
            "cpu_s": user_s + system_s, "user_s": user_s, "system_s": system_s, "idle_s": cpu.idle,
            "io_wait_s": cpu.iowait, "stolen_s": cpu.steal,
            "net_received_bytes": net.bytes_recv, "net_sent_bytes": net.bytes_sent,
            "net_dropped": net.dropin + net.dropout,
            **_named(stat, {"ctxt": "context_switches", "processes": "forks"}),
            **_named(_text(self._proc / "vmstat"), {name: name for name in ("pswpin", "pswpout", "pgmajfault")}),
            **self._pressure(), **_netstat(self._proc / "net" / "snmp", "Tcp"),
            **_netstat(self._proc / "net" / "netstat", "TcpExt"),
        }  # fmt: skip
        if self._cgroup is not None:
            throttling = _text(self._cgroup / "cpu.stat")
            counts |= _named(throttling, {"throttled_usec": "throttled_s"}, 1e-6)
            counts |= _named(throttling, {"nr_throttled": "throttled_periods"})
        levels = _named(_text(self._proc / "meminfo"), _MEMORY_NAMES, 1024)
        levels["runs"] = _text(self._proc / "net" / "unix").count(_RUN)
        return counts, levels | _named(stat, {"procs_running": "running"})

    def _pressure(self) -> dict[str, float]:
        kinds = ("cpu", "io", "memory")
        some = {kind: line for kind in kinds for line in _text(self._proc / "pressure" / kind).splitlines()[:1]}
        return {f"pressure_{kind}_s": int(line.rpartition("total=")[2]) / 1e6 for kind, line in some.items()}


class ProcessCounters:
    """Counts of a process, and of its living descendants if they are wanted, in all."""

    def __init__(self, pid: int, proc: Path = _PROC, *, descendants: bool = True) -> None:
        self.pid, self._wants_descendants, self._proc = pid, descendants, proc
        self._looks = 0
        self._family = [pid]

    def read(self) -> tuple[dict[str, float], dict[str, float]]:
        """Counts and levels; empty ones if the process has ended.

        What threads have is read at every fifth look, and so is which descendants there are.
        """
        counts, levels = dict[str, float](), dict[str, float]()
        with_threads = self._looks % _THREADS_EVERY == 0
        self._looks += 1
        if with_threads and self._wants_descendants:
            self._family = self._descendants()
        for pid in self._family:
            folder = self._proc / str(pid)
            with suppress(OSError, ValueError, IndexError):
                fields = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()
                user_s, system_s = int(fields[11]) / _TICKS_PER_S, int(fields[12]) / _TICKS_PER_S
                _add(counts, cpu_s=user_s + system_s, user_s=user_s, system_s=system_s, major_faults=int(fields[9]))
                _add(levels, threads=int(fields[17]), memory_bytes=int(fields[21]) * _PAGE_BYTES)
                if with_threads:
                    _threads(folder, counts)
        return counts, levels

    def _descendants(self) -> list[int]:
        found = [self.pid]
        for pid in found:  # which grows by the children of each
            for task in _tasks(self._proc / str(pid)):
                found += map(int, _text(task / "children").split())
        return found


def _named(text: str, names: Mapping[str, str], unit: float = 1) -> dict[str, float]:
    """The numbers that stand behind these names at the begin of a line, by our names."""
    return {names[name]: int(number) * unit for name, number in _NUMBER.findall(text) if name in names}


def _threads(folder: Path, counts: dict[str, float]) -> None:
    """How often threads gave way, by will and by force, how long they waited for a CPU, how long JIT compilers ran."""
    for task in _tasks(folder):
        times_s, status = [int(ns) / 1e9 for ns in _text(task / "schedstat").split()[:2]], _text(task / "status")
        if len(times_s) > 1:
            _add(counts, run_delay_s=times_s[1], **({"jit_s": times_s[0]} if status.startswith(_COMPILERS) else {}))
        switches = _SWITCHES.findall(status)
        if len(switches) == 2:
            _add(counts, switches_involuntary=int(switches[1]), switches_voluntary=int(switches[0]))


def _add(totals: dict[str, float], **more: float) -> None:
    for name, value in more.items():
        totals[name] = totals.get(name, 0) + value


def _netstat(path: Path, protocol: str) -> dict[str, float]:
    """Counts of a file that has a line of names and a line of values for each protocol."""
    of_protocol = [line.split() for line in _text(path).splitlines() if line.startswith(f"{protocol}: ")]
    counted = dict(zip(*of_protocol, strict=False)) if len(of_protocol) == 2 else {}
    return {ours: int(counted[name]) for name, ours in _TCP_NAMES.items() if name in counted}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""


def _tasks(process: Path) -> list[Path]:
    """The folders of its threads."""
    try:
        return list((process / "task").iterdir())
    except OSError:
        return []
