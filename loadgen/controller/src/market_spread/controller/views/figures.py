"""The figures of a run besides its latencies, as the terminal and the run document show them."""

from market_spread.controller.analysis.result import Result, alerts_text


def figure_rows(result: Result) -> list[tuple[str, str]]:
    """A title and a value for each figure; a dash is one that the run did not come to."""
    flow = result.conservation
    pauses = _lengths(result.boundary_gap_ns_median, result.boundary_gap_ns_max)
    half = _or_dash(result.cpu_us_per_message_second_half, "{:.2f}")
    cpu_text = f"{{:.2f}} us a message, in the second half {half} (reference: 5.3, another machine, no Kafka)"
    flow_text = "{sent:,} sent = {processed:,} processed + {invalid:,} invalid + {in_flight:,} in flight"
    return [
        ("messages sent", f"{result.messages_sent:,} ({result.orders_sent:,} orders)"),
        ("offered", f"{result.offered_rate_per_s:,.0f} messages/s for {result.duration_s:g} s"),
        ("achieved", _or_dash(result.achieved_rate_per_s, "{:,.0f} messages/s")),
        ("messages, all phases", flow_text.format(**flow) if flow else "–"),
        ("alerts", alerts_text(result)),
        ("latency samples", f"{result.latency_samples:,}"),
        ("malformed messages", f"{result.invalid_records:,}"),
        ("frames late", f"{result.frames_late:,} of {result.frames_sent:,}"),
        ("backlog", _or_dash(result.backlog.get("messages_max"), "{:,} messages at most")),
        ("commit pause at boundaries", f"{result.boundaries}, {pauses}"),
        ("batches", _lengths(result.batch_duration_ns_median, result.batch_duration_ns_max)),
        ("CPU of the job", _or_dash(result.cpu_us_per_message, cpu_text)),
        ("CPU of the broker", _or_dash(result.broker_cpu_us_per_message, "{:.2f} us a message")),
        ("time to the first order", _or_dash(result.time_to_first_order_s, "{:.1f} s")),
        ("machine", f"{result.machine['cores']} cores, {result.machine['cpu_model']}"),
        *([("rig", str(result.self_test["text"]))] if result.self_test else []),
    ]


def milliseconds(value_ns: int | None) -> str:
    """The time in milliseconds with their unit; a dash for none."""
    return "–" if value_ns is None else f"{value_ns / 1e6:,.1f} ms"


def _lengths(median_ns: int | None, longest_ns: int | None) -> str:
    return f"median {milliseconds(median_ns)}, longest {milliseconds(longest_ns)}"


def _or_dash(value: float | None, text: str) -> str:
    return "–" if value is None else text.format(value)
