"""The system under test, Structured Streaming of PySpark with state; put yours in its place. It counts each word."""

import os
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def counted(_word: Any, batches: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """The words of a batch, all of them one, with their counts; the state is how many came before."""
    before = state.get[0] if state.exists else 0
    rows = pd.concat(batches).sort_values("id", ignore_index=True)  # a shuffle has no order
    state.update((before + len(rows),))
    yield rows.assign(count=before + 1 + rows.index)


broker = {"kafka.bootstrap.servers": os.environ["MARKET_SPREAD_BOOTSTRAP_SERVERS"], "startingOffsets": "earliest"}
reader = SparkSession.builder.getOrCreate().readStream.format("kafka").options(**broker)
said = F.from_json(F.col("value").cast("string"), "id bigint, word string").alias("said")
words = reader.option("subscribe", os.environ["MARKET_SPREAD_INPUT"]).load().select(said).select("said.*")
output, state = "id bigint, word string, count bigint", "before bigint"
counts = words.groupBy("word").applyInPandasWithState(counted, output, state, "append", "NoTimeout")
writer = counts.select(F.to_json(F.struct("*")).alias("value")).writeStream.format("kafka").options(**broker)
# Where checkpoints are is set already. It works until it is ended.
writer.option("topic", os.environ["MARKET_SPREAD_OUTPUT"]).start().awaitTermination()
