"""The hosts, by node_exporter: what takes time from a latency-critical process, and how good the clock is."""

from board import Board, Query, Row, Variable, series, stacked, stat

_INSTANCE = Variable("instance", "Host", "node_uname_info", "instance", many=True)
_HOST = 'instance=~"$instance"'
_DISKS = f'{_HOST}, device!~"loop.*|ram.*|zram.*"'
_IDLE = 'mode="idle"'
_LINKS = f'{_HOST}, device!~"lo|veth.*|cali.*"'


def _rate(metric: str, matchers: str = _HOST) -> str:
    return f"rate({metric}{{{matchers}}}[$__rate_interval])"


def _cpu(mode: str, by: str = "instance") -> str:
    """The mean share of the CPUs in the modes that fit, as a matcher of the label."""
    return f"avg by ({by}) ({_rate('node_cpu_seconds_total', f'{_HOST}, {mode}')})"


_NOW = Row(
    "Now",
    (
        stat(
            "Latest metrics received",
            "How long ago Prometheus read the hosts.",
            "s",
            Query(f"time() - max(timestamp(node_uname_info{{{_HOST}}}))"),
            bad=30,
        ),
        stat("CPU busy", "Share of all CPUs.", "percentunit", Query(f"1 - {_cpu(_IDLE)}", "{{instance}}"), bad=0.9),
        stat(
            "CPU stolen",
            "Given to other guests by the hypervisor. What a run may lose is its workload's `void.stolen_share`.",
            "percentunit",
            Query(_cpu('mode="steal"'), "{{instance}}"),
        ),
        stat(
            "Memory free",
            "What could be had without swapping.",
            "bytes",
            Query(f"node_memory_MemAvailable_bytes{{{_HOST}}}", "{{instance}}"),
        ),
        stat(
            "Clock error",
            "The kernel's bound.",
            "s",
            Query(f"node_timex_maxerror_seconds{{{_HOST}}}", "{{instance}}"),
        ),
        stat(
            "Clock synchronised",
            "1 where a time service keeps it.",
            "short",
            Query(f"node_timex_sync_status{{{_HOST}}}", "{{instance}}"),
        ),
    ),
)

_CPU = Row(
    "CPU",
    (
        stacked(
            "CPU time by use",
            "Share of all CPUs; idle is left out.",
            "percentunit",
            Query(_cpu('mode!="idle"', by="instance, mode"), "{{instance}} {{mode}}"),
        ),
        series(
            "Each CPU busy",
            "A CPU at 100% beside idle ones: a thread that is the bottleneck, or a pinned one.",
            "percentunit",
            Query(f"1 - {_rate('node_cpu_seconds_total', f'{_HOST}, {_IDLE}')}", "{{instance}} {{cpu}}"),
        ),
        series(
            "Processes that want the CPU",
            "Running or ready now, and the share of the time in which some process waited for one.",
            "short",
            Query(f"node_procs_running{{{_HOST}}}", "{{instance}} running or ready"),
            Query(_rate("node_pressure_cpu_waiting_seconds_total"), "{{instance}} share of time waiting"),
        ),
        series(
            "Context switches and interrupts",
            "A second. Both interrupt a latency-critical thread that is not alone on its core.",
            "cps",
            Query(_rate("node_context_switches_total"), "{{instance}} context switches"),
            Query(_rate("node_intr_total"), "{{instance}} interrupts"),
        ),
    ),
)

_MEMORY = Row(
    "Memory and disks",
    (
        series(
            "Memory",
            "Available to processes, and all.",
            "bytes",
            Query(f"node_memory_MemAvailable_bytes{{{_HOST}}}", "{{instance}} available"),
            Query(f"node_memory_MemTotal_bytes{{{_HOST}}}", "{{instance}} all"),
        ),
        series(
            "Swapping and major faults",
            "Pages a second. Anything above 0 stops a process for milliseconds.",
            "cps",
            Query(_rate("node_vmstat_pswpin"), "{{instance}} in"),
            Query(_rate("node_vmstat_pswpout"), "{{instance}} out"),
            Query(_rate("node_vmstat_pgmajfault"), "{{instance}} major faults"),
        ),
        series(
            "Disks busy",
            "Share of the time in which a request was under way.",
            "percentunit",
            Query(_rate("node_disk_io_time_seconds_total", _DISKS), "{{instance}} {{device}}"),
        ),
        series(
            "Written to disks",
            "Bytes a second; the broker's log is most of it.",
            "Bps",
            Query(_rate("node_disk_written_bytes_total", _DISKS), "{{instance}} {{device}}"),
        ),
    ),
)

_NETWORK = Row(
    "Network",
    (
        series(
            "Received and sent",
            "Bytes a second by device.",
            "Bps",
            Query(_rate("node_network_receive_bytes_total", _LINKS), "{{instance}} {{device}} received"),
            Query(_rate("node_network_transmit_bytes_total", _LINKS), "{{instance}} {{device}} sent"),
        ),
        series(
            "Lost, sent again, held up",
            "A second: packets dropped by a device, TCP segments sent again, turns of the kernel that ended too early.",
            "cps",
            Query(_rate("node_network_receive_drop_total", _LINKS), "{{instance}} {{device}} dropped"),
            Query(_rate("node_netstat_Tcp_RetransSegs"), "{{instance}} sent again"),
            Query(f"sum by (instance) ({_rate('node_softnet_times_squeezed_total')})", "{{instance}} held up"),
        ),
    ),
)

_CLOCK = Row(
    "Clock",
    (
        series(
            "Offset and error of the clock",
            "Offset to the reference, and the kernel's bound of the error.",
            "s",
            Query(f"abs(node_timex_offset_seconds{{{_HOST}}})", "{{instance}} offset"),
            Query(f"node_timex_maxerror_seconds{{{_HOST}}}", "{{instance}} bound"),
        ),
        series(
            "Correction of the clock's frequency",
            "How far the kernel turns it from 1; jumps are steps of the time service.",
            "none",
            Query(f"abs(node_timex_frequency_adjustment_ratio{{{_HOST}}} - 1)", "{{instance}}"),
        ),
    ),
)

BOARD = Board(
    "hosts",
    "Market Spread: hosts",
    "What takes time from a latency-critical process, and how good the clock is. Needs node_exporter.",
    (_INSTANCE,),
    (_NOW, _CPU, _MEMORY, _NETWORK, _CLOCK),
)
