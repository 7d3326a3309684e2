"""Pipelines run from checkpoints to the end of their topics, one after the other in one Spark: a start takes seconds.

Started by `Jobs.run_to_the_end`, with the configuration of a job in the environment and what is to run as JSON.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from market_spread.common.config import from_environment
from market_spread.streaming.applications.registry import find
from market_spread.streaming.driver.config import JobConfig
from market_spread.streaming.driver.session import open_session
from market_spread.streaming.modes.registry import BY_NAME, every, query_of
from market_spread.streaming.pipeline import INVALID


def main() -> None:
    """Run them all; the first error ends it."""
    given = from_environment(JobConfig)
    assert given.local_folder is not None
    spark = open_session(given, Path(given.local_folder))
    for changes in json.loads(sys.argv[1]):
        config = replace(given, **changes)
        pipeline = find(config.application)
        mode = BY_NAME[config.mode]
        writer = query_of(
            spark,
            pipeline,
            mode,
            client={"bootstrap.servers": config.bootstrap_servers, **config.kafka_java_options()},
            topics=config.topic_names((*pipeline.ends, INVALID)),
            checkpoint=config.checkpoint,
        )
        query = writer.trigger(**every(mode, config.batch_s)).start()
        query.processAllAvailable()
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
