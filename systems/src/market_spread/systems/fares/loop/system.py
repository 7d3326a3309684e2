"""The system under test; put yours in its place. It reads trips and writes fares."""

import json
import os

from kafka import KafkaConsumer, KafkaProducer

_SERVERS = os.environ["MARKET_SPREAD_BOOTSTRAP_SERVERS"]


def main() -> None:
    """Work until it is ended."""
    consumer = KafkaConsumer(
        os.environ["MARKET_SPREAD_INPUT"],
        bootstrap_servers=_SERVERS,
        group_id=os.environ["MARKET_SPREAD_GROUP"],
        auto_offset_reset="earliest",
        auto_commit_interval_ms=500,
    )
    producer = KafkaProducer(bootstrap_servers=_SERVERS)
    for record in consumer:
        trip = json.loads(record.value)
        fare = {"trip_id": trip["trip_id"], "cents": 300 + 180 * trip["km"]}
        producer.send(os.environ["MARKET_SPREAD_OUTPUT"], json.dumps(fare).encode())


if __name__ == "__main__":
    main()
