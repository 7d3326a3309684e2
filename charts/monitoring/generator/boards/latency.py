"""Where the time goes: end to end, its stages, the sender, and the objective."""

from board import RUN, Board, Panel, Query, Row, buckets, heatmap, series, stacked, stat

_MEASURED = 'run_id="$run", phase="measured"'
_END_TO_END = "market_spread_receiver_end_to_end_seconds"
_STAGE = "market_spread_receiver_stage_seconds"
_SOME = 'q=~"0.5|0.99"'
_STAGES = {
    "send_lag": "Send lag: from intended to actual send",
    "ingest": "Ingest: from the send to Spark's reading",
    "compute": "Compute: from reading to emission",
    "delivery": "Delivery: from emission to receipt",
}


def _so_far(histogram: str, matchers: str, legend: str) -> Query:
    """Exact quantiles since the begin of the run."""
    return Query(f"{histogram}_quantile_seconds{{{matchers}}}", legend)


def _recent(histogram: str, matchers: str, legend: str) -> Query:
    """Exact quantiles of the last 10 s."""
    return Query(f"{histogram}_recent_quantile_seconds{{{matchers}}}", legend)


def _stage_heatmap(stage: str, title: str) -> Panel:
    return heatmap(
        title, "Alerts by the time in this stage; counts are exact.", buckets(_STAGE, f'{_MEASURED}, stage="{stage}"')
    )


_OBJECTIVE = Row(
    "What the workload asks for",
    (
        stat(
            "Latest metrics received",
            "How long ago the newest interval ended that the receiver has pushed for the run.",
            "s",
            Query(
                "time() - max(market_spread_aggregator_last_push_timestamp_seconds"
                '{run_id="$run", source=~"receiver.*"})'
            ),
            bad=15,
        ),
        stat(
            "Latency, of what is allowed",
            "Quantiles of the settled load so far over the limits that the workload sets: above 100% the run "
            "fails. Nothing where it sets none.",
            "percentunit",
            Query(
                'market_spread_run_latency_seconds{run_id="$run"} / on (run_id, q) market_spread_limit_latency_seconds',
                "{{q}}",
            ),
            bad=1,
        ),
        stat(
            "Latency samples",
            "Alerts that were measured. p99.9 needs 10,000 of them, p99.99 100,000.",
            "short",
            Query(f"sum({_END_TO_END}_count{{{_MEASURED}}})"),
        ),
        series(
            "Latency and its limits",
            "The same quantiles and limits over time.",
            "s",
            Query('market_spread_run_latency_seconds{run_id="$run"}', "{{q}}"),
            Query('market_spread_limit_latency_seconds{run_id="$run"}', "limit of {{q}}"),
        ),
    ),
)

_WHOLE = Row(
    "Intended send to receipt",
    (
        heatmap("Alerts by latency", "By bucket; counts are exact.", buckets(_END_TO_END, _MEASURED)),
        series(
            "Latency of the last 10 s, exact",
            "Exact quantiles; one stands when at least ten values lie above it. 1 is the maximum.",
            "s",
            _recent("market_spread_receiver_end_to_end", _MEASURED, "{{q}}"),
        ),
        series(
            "Latency of the run so far, exact",
            "Exact quantiles over all of the run up to each moment; 1 is the maximum.",
            "s",
            _so_far("market_spread_receiver_end_to_end", _MEASURED, "{{q}}"),
        ),
        series(
            "The three latencies of the last 10 s, exact",
            "End to end counts from the plan, service from the actual send; send lag, of all messages, is what the "
            "sender adds.",
            "s",
            _recent("market_spread_receiver_end_to_end", f"{_MEASURED}, {_SOME}", "end to end {{q}}"),
            _recent("market_spread_receiver_service", f"{_MEASURED}, {_SOME}", "service {{q}}"),
            _recent("market_spread_sender_send_lag", f'run_id="$run", {_SOME}', "send lag {{q}}"),
        ),
    ),
)

_BY_STAGE = Row(
    "Stages",
    (
        stacked(
            "Mean latency by stage",
            "The stages add up to the mean latency exactly. Quantiles of stages do not add up.",
            "s",
            Query(
                f"sum by (stage) (rate({_STAGE}_sum{{{_MEASURED}}}[$__rate_interval]))"
                f" / (sum by (stage) (rate({_STAGE}_count{{{_MEASURED}}}[$__rate_interval])) > 0)",
                "{{stage}}",
            ),
            width=8,
        ),
        series(
            "Stages of the last 10 s, exact",
            "Median and 99% quantile of each stage.",
            "s",
            _recent("market_spread_receiver_stage", f"{_MEASURED}, {_SOME}", "{{stage}} {{q}}"),
            width=8,
        ),
        series(
            "Stages of the run so far, exact",
            "Median and 99% quantile of each stage.",
            "s",
            _so_far("market_spread_receiver_stage", f"{_MEASURED}, {_SOME}", "{{stage}} {{q}}"),
            width=8,
        ),
        *(_stage_heatmap(stage, title) for stage, title in _STAGES.items()),
    ),
)

_SENDER = Row(
    "The sender",
    (
        heatmap(
            "Frames by delay",
            "Actual send minus plan. This is the generator's own lateness.",
            buckets("market_spread_sender_frame_delay_seconds", 'run_id="$run"'),
        ),
        series(
            "Frame delay of the last 10 s, exact",
            "Exact quantiles; 1 is the maximum.",
            "s",
            _recent("market_spread_sender_frame_delay", 'run_id="$run"', "{{q}}"),
        ),
        heatmap(
            "Frames by time to acknowledge",
            "From the send to the broker's acknowledgement.",
            buckets("market_spread_sender_acknowledge_seconds", 'run_id="$run"'),
        ),
        series(
            "Time to acknowledge in the last 10 s, exact",
            "Exact quantiles; 1 is the maximum.",
            "s",
            _recent("market_spread_sender_acknowledge", 'run_id="$run"', "{{q}}"),
        ),
        series(
            "Frames late",
            "Frames a second that left later after their plan than the workload allows.",
            "cps",
            Query(
                'sum by (source) (rate(market_spread_sender_frames_late_total{run_id="$run"}[$__rate_interval]))',
                "{{source}}",
            ),
        ),
        series(
            "Values that do not fit",
            "Of the run so far: below zero, which two clocks or a stepped one make; above an hour.",
            "short",
            Query('sum by (source) (market_spread_clock_skew_negative_total{run_id="$run"})', "{{source}} below zero"),
            Query(
                'sum by (source) (market_spread_aggregator_overflow_total{run_id="$run"})', "{{source}} above an hour"
            ),
        ),
    ),
)

BOARD = Board(
    "latency",
    "Market Spread: latency",
    "Where the time goes, from the intended send of an order to the receipt of its alert.",
    (RUN,),
    (_OBJECTIVE, _WHOLE, _BY_STAGE, _SENDER),
)
