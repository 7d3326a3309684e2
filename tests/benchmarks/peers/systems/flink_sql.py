"""Market Spread on Flink, in SQL, on the mini cluster that PyFlink starts; from its newest checkpoint if it has one.

`python flink_sql.py BOOTSTRAP_SERVERS PARTITIONS CHECKPOINTS GROUP COMMIT_MS JARS`, the jars joined by semicolons.
Python only hands the statements over: nothing of it is on the path of messages.
"""

import sys
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

STATEMENTS = Path(__file__).with_name("flink") / "market_spread.sql"


def settings(partitions: int, checkpoints: Path, commit_ms: int, jars: str) -> dict[str, str]:
    """What is not as Flink has it by default, each as its guide to low latency or to fault tolerance says."""
    found = {
        "pipeline.jars": jars,
        "parallelism.default": str(partitions),
        "pipeline.object-reuse": "true",
        "execution.buffer-timeout.interval": "1 ms",  # by default 100 ms
        "execution.checkpointing.interval": f"{commit_ms} ms",
        "execution.checkpointing.mode": "AT_LEAST_ONCE",  # barriers wait for nobody; alerts are idempotent
        "execution.checkpointing.dir": checkpoints.as_uri(),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "state.backend.type": "hashmap",
        "restart-strategy.type": "none",
    }
    if (newest := newest_checkpoint(checkpoints)) is not None:
        found["execution.state-recovery.path"] = newest.as_uri()
    return found


def newest_checkpoint(checkpoints: Path) -> Path | None:
    """The newest whole checkpoint of the folder."""
    complete = sorted(checkpoints.glob("*/chk-*/_metadata"), key=lambda path: path.stat().st_mtime_ns)
    return complete[-1].parent if complete else None


def main(servers: str, partitions: int, checkpoints: Path, group: str, commit_ms: int, jars: str) -> None:
    """Run the statements, the last of which does not end."""
    checkpoints.mkdir(parents=True, exist_ok=True)
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in settings(partitions, checkpoints, commit_ms, jars).items():
        tables.get_config().set(name, value)
    text = STATEMENTS.read_text().replace("{servers}", servers).replace("{group}", group)
    result = None
    for statement in text.split(";\n"):
        if statement.strip():
            result = tables.execute_sql(statement)
    if result is not None:
        result.wait()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]), sys.argv[6])
