"""The Bytewax flow on recorded frames, without a broker: `python bytewax_recorded.py FILE` prints the alerts.

A line of the file is a record: its topic, when it was sent, and the frame, a blank between them.
"""

import sys
from pathlib import Path

from bytewax import operators as op
from bytewax.connectors.kafka import KafkaSourceMessage
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main
from bytewax_flow import alerts_of


def main(recorded: Path) -> None:
    """Run it to its end."""
    records = []
    for line in recorded.read_bytes().splitlines():
        topic, sent_us, frame = line.split(b" ", 2)
        records.append(KafkaSourceMessage(None, frame, topic.decode(), [("sent_us", sent_us)], partition=0))
    alerts: list[object] = []
    dataflow = Dataflow("recorded")
    op.output("alerts", alerts_of(op.input("frames", dataflow, TestingSource(records))), TestingSink(alerts))
    run_main(dataflow)
    for alert in alerts:
        print(alert.value.decode())  # type: ignore[attr-defined]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
