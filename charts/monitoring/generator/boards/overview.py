"""The board that is looked at first: how the run goes, and what is out of the ordinary."""

from board import RUN, Board, Query, Row, alert_list, buckets, heatmap, name, series, stacked, stat

_MEASURED = 'run_id="$run", phase="measured"'
_RUN = '{run_id="$run"}'
_SOME = '{q=~"0.5|0.99|1"}'
_SENT = 'sum(market_spread_sender_messages_sent_total{run_id="$run"})'
# Replicas of the job do the same work: the one that is ahead counts.
_DONE = 'max(market_spread_job_messages_processed_total{run_id="$run"})'
_SENT_RATE = 'sum(rate(market_spread_sender_messages_sent_total{run_id="$run"}[$__rate_interval]))'
_DONE_RATE = 'max(rate(market_spread_job_messages_processed_total{run_id="$run"}[$__rate_interval]))'


def _total(metric: str) -> str:
    """A counter of the run; 0 as long as nothing was counted."""
    return f"sum({metric}{_RUN}) or vector(0)"


def _own(metric: str) -> str:
    return f"market_spread_aggregator_{metric}"


_NOW = Row(
    "Now",
    (
        name(
            "Phase, and verdict",
            "What the run controller says that the run does, and in the end came to.",
            Query('market_spread_run_info{run_id="$run"}', "{{phase}} {{verdict}}"),
        ),
        stat(
            "Latest metrics received",
            "How long ago the newest interval ended that any process has pushed for the run.",
            "s",
            Query('time() - max(market_spread_aggregator_last_push_timestamp_seconds{run_id="$run"})'),
            bad=15,
        ),
        stat("Sent", "Messages that the sender hands to Kafka a second.", "mps", Query(_SENT_RATE)),
        stat("Processed", "Messages that the job processes a second; live.", "mps", Query(_DONE_RATE)),
        stat(
            "Alerts received",
            "Orders whose alert has come, a second; warm-up included.",
            "cps",
            Query('sum(rate(market_spread_receiver_alerts_total{run_id="$run"}[$__rate_interval]))'),
        ),
        stat("Lag", "Messages sent that the job has not processed yet.", "short", Query(f"{_SENT} - {_DONE}")),
        stat(
            "Latency of the run so far",
            "Exact quantiles from the intended send of an order to the receipt of its alert; 1 is the maximum.",
            "s",
            Query(f'market_spread_receiver_end_to_end_quantile_seconds{{{_MEASURED}, q=~"0.5|0.99|0.999|1"}}', "{{q}}"),
            width=8,
        ),
        stat(
            "Frames late, of what is allowed",
            "Share of the measured load's frames that were late, over the share that the workload allows: above 100% "
            "the run is void.",
            "percentunit",
            Query(
                'market_spread_run_frames_late_share{run_id="$run"} / on (run_id) market_spread_limit_frames_late_share'
            ),
            bad=1,
        ),
        stat(
            "Alerts that fire",
            "Alerts of Prometheus that fire now, of all runs.",
            "short",
            Query('count(ALERTS{alertname=~"MarketSpread.+", alertstate="firing"}) or vector(0)'),
            bad=1,
        ),
        alert_list("What is out of the ordinary", "Alerts that fire or are about to; each names its runbook entry."),
    ),
)

_RED = Row(
    "Rate, errors, duration",
    (
        series(
            "Messages due, sent, processed and committed",
            "Due is the schedule. Sent below due: the sender is late. Processed below sent: lag grows. Committed comes "
            "in steps, at the end of each batch.",
            "mps",
            Query('sum(rate(market_spread_sender_messages_due_total{run_id="$run"}[$__rate_interval]))', "due"),
            Query(_SENT_RATE, "sent"),
            Query(_DONE_RATE, "processed"),
            Query(
                'max(rate(market_spread_job_messages_committed_total{run_id="$run"}[$__rate_interval]))', "committed"
            ),
        ),
        series(
            "Faults of the run so far",
            "Each should stay at 0, but for duplicates after a restart or with two replicas.",
            "short",
            Query(_total("market_spread_sender_messages_failed_total"), "not taken by the broker"),
            Query(_total("market_spread_receiver_invalid_total"), "malformed"),
            Query(_total("market_spread_receiver_alerts_unreadable_total"), "unreadable alerts"),
            Query(_total("market_spread_receiver_alerts_duplicated_total"), "duplicated alerts"),
            Query(_total("market_spread_job_restarts_total"), "restarts of the query"),
            Query(_total("market_spread_clock_skew_negative_total"), "latencies below zero"),
        ),
        heatmap(
            "Alerts by latency",
            "From the intended send to the receipt, by bucket; counts are exact.",
            buckets("market_spread_receiver_end_to_end_seconds", _MEASURED),
        ),
        series(
            "Latency of the last 10 s, exact",
            "Exact quantiles; one stands when at least ten values lie above it. 1 is the maximum.",
            "s",
            Query(f"market_spread_receiver_end_to_end_recent_quantile_seconds{{{_MEASURED}}}", "{{q}}"),
        ),
    ),
)

_SATURATION = Row(
    "Saturation",
    (
        series(
            "Lag",
            "Messages sent that the job has not processed yet. The job's count is up to two seconds old, so a steady "
            "run has up to two seconds of its load here.",
            "short",
            Query(f"{_SENT} - {_DONE}", "lag"),
        ),
        series(
            "Bytes that the broker has not acknowledged",
            "What the sender holds; at 64 MiB it waits, and is late.",
            "bytes",
            Query('market_spread_sender_unacknowledged_bytes{run_id="$run"}', "{{source}}"),
        ),
        stacked(
            "CPU by process",
            "Cores that each process and its children use; 100% is one core. The broker is on the board Kafka.",
            "percentunit",
            Query(
                'sum by (source) (rate(market_spread_process_cpu_seconds_total{run_id="$run"}[$__rate_interval]))',
                "{{source}}",
            ),
        ),
        stacked(
            "Memory by process",
            "Resident memory of each process and its children.",
            "bytes",
            Query('market_spread_process_memory_bytes{run_id="$run"}', "{{source}}"),
        ),
    ),
)

_INSTANCES = Row(
    "Each process",
    (
        series(
            "Sent by topic and partition",
            "Uneven partitions make one task of the job the slowest.",
            "mps",
            Query(
                "sum by (topic, partition) "
                '(rate(market_spread_sender_messages_sent_total{run_id="$run"}[$__rate_interval]))',
                "{{topic}} {{partition}}",
            ),
            width=8,
        ),
        series(
            "CPU of the job a message",
            "CPU time of the job's processes, all replicas, over messages processed.",
            "s",
            Query(
                "sum(rate(market_spread_process_cpu_seconds_total"
                '{run_id="$run", source=~"job.*"}[$__rate_interval]))'
                f" / ({_DONE_RATE} > 0)",
                "job",
            ),
            width=8,
        ),
        series(
            "Age of the newest push",
            "A process that works pushes every second.",
            "s",
            Query(
                'time() - market_spread_aggregator_last_push_timestamp_seconds{run_id="$run"}',
                "{{source}}",
            ),
            width=8,
        ),
    ),
)

_AGGREGATOR = Row(
    "The metrics-aggregator itself",
    (
        series(
            "Pushes merged",
            "Pushes a second, by source.",
            "cps",
            Query(
                f"sum by (source) (rate({_own('pushes_total')}{_RUN}[$__rate_interval]))",
                "{{source}}",
            ),
            width=8,
        ),
        series(
            "Pushes lost, repeated or refused",
            "Since the aggregator's start. Repeated ones do no harm: each is merged once.",
            "short",
            Query(_total(_own("missing_total")), "never came"),
            Query(_total(_own("dropped_total")), "dropped by their source"),
            Query(_total(_own("duplicates_total")), "repeated"),
            Query(f"sum({_own('refused_total')})", "refused as wrong"),
            Query(f"sum({_own('unwritten_total')})", "not written down"),
            width=8,
        ),
        series(
            "Time to take a push, exact",
            "From its arrival to its acknowledgement, and the merging in it: exact, since the aggregator's start.",
            "s",
            Query(_own("push_quantile_seconds") + _SOME, "push {{q}}"),
            Query(_own("merge_quantile_seconds") + _SOME, "merge {{q}}"),
            width=8,
        ),
        series(
            "Lag of the aggregator",
            "From the end of an interval to its merging, newest push.",
            "s",
            Query(_own("lag_seconds"), "lag"),
            width=8,
        ),
        series(
            "Memory and history",
            "Resident memory; what the intervals take of their bound. Older ones are merged when it is reached.",
            "bytes",
            Query(_own("memory_bytes"), "resident"),
            Query(_own("history_bytes"), "history"),
            Query(_own("history_limit_bytes"), "its bound"),
            width=8,
        ),
        series(
            "Series held, pages open",
            "Series of all runs, of 2,000 at most; browsers that the aggregator sends live data to.",
            "short",
            Query(_own("series"), "series"),
            Query(_own("clients"), "pages"),
            width=8,
        ),
        series(
            "Time to scrape",
            "How long Prometheus waits for what it reads.",
            "s",
            Query('scrape_duration_seconds{job=~".*market-spread-.+"}', "{{job}} {{instance}}"),
            width=8,
        ),
        series(
            "Bound of the clock's error",
            "What the kernel of each process's host says. Stages between two hosts are uncertain by the sum of theirs.",
            "s",
            Query('market_spread_clock_error_bound_seconds{run_id="$run"}', "{{source}}"),
            width=8,
        ),
        series(
            "Clock synchronised",
            "1 where something keeps the host's clock. On a single machine all times are of one clock.",
            "short",
            Query('market_spread_clock_synchronised{run_id="$run"}', "{{source}}"),
            width=8,
        ),
    ),
)

BOARD = Board(
    "overview",
    "Market Spread: overview",
    "How a run goes: rates, faults, latency, saturation, and the path of the metrics itself.",
    (RUN,),
    (_NOW, _RED, _SATURATION, _INSTANCES, _AGGREGATOR),
)
