"""Market Spread on Bytewax: `python -m bytewax.run "bytewax_flow.py:flow('SERVERS')" -r FOLDER -s 1 -b 0`.

The key is the partition, since a symbol's quotes and orders are in partitions of the same number: so a frame passes the
operators whole, where each message alone would pay for them.
"""

import time
from typing import Any

from bytewax import operators as op
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
from bytewax.dataflow import Dataflow, Stream
from bytewax.operators import StatefulBatchLogic
from judging import Judge, Quote, stamped

# What Bytewax's guide names for low latency; a record leaves when it is there.
_FETCH = {"fetch.wait.max.ms": "5", "queued.min.messages": "1000"}
_PRODUCE = {"linger.ms": "0", "enable.idempotence": "true"}


class NewestQuotes(StatefulBatchLogic[Any, KafkaSinkMessage[bytes, bytes], dict[bytes, Quote]]):
    """The state of one partition."""

    def __init__(self, restored: dict[bytes, Quote] | None) -> None:
        self._judge = Judge(restored)

    def on_batch(self, values: list[Any]) -> tuple[list[KafkaSinkMessage[bytes, bytes]], bool]:
        """The alerts of these records; the state is kept."""
        leaving = []
        for topic, frame, sent_us, read_us in values:
            if topic == "nbbo":
                self._judge.take_quotes(frame)
                continue
            for order_id, alert in self._judge.alerts_of(frame, sent_us, read_us):
                leaving.append(KafkaSinkMessage(order_id, stamped(alert, time.time_ns() // 1000)))
        return leaving, StatefulBatchLogic.RETAIN

    def snapshot(self) -> dict[bytes, Quote]:
        return dict(self._judge.newest)


def _keyed(record: Any) -> tuple[str, tuple[str, bytes, bytes, int]]:
    sent_us = dict(record.headers)["sent_us"]
    return str(record.partition), (record.topic, record.value, sent_us, time.time_ns() // 1000)


def alerts_of(records: Stream[Any]) -> Stream[Any]:
    """The alerts of Kafka's records, of both topics."""
    keyed = op.map("by_partition", records, _keyed)
    return op.key_rm("unkeyed", op.stateful_batch("newest_quotes", keyed, NewestQuotes))


def flow(servers: str) -> Dataflow:
    """Both topics to the newest quotes of their partition, and what these reject to the alerts."""
    dataflow = Dataflow("market_spread")
    source = KafkaSource([servers], ["nbbo", "orders"], add_config=_FETCH, batch_size=1000)
    alerts = alerts_of(op.input("frames", dataflow, source))
    op.output("alerts", alerts, KafkaSink([servers], "alerts", add_config=_PRODUCE))
    return dataflow
