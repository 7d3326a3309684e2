"""What the Spark image runs: `driver` is the job, `executor` becomes the JVM that Spark's Kubernetes back end asks for.

Spark starts the containers of its executors with the single argument `executor` and passes the rest in variables; the
script that its own image has for that is not part of PySpark.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from market_spread.common.config import foreign_environment, java_home
from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.jvm.jars import spark_home
from market_spread.common.process.service import run_main
from market_spread.common.processes import call_on_signals

_BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTION = "SPARK_JAVA_OPT_"
_ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL", "--executor-id": "SPARK_EXECUTOR_ID", "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID", "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID", "--podName": "SPARK_EXECUTOR_POD_NAME",
}  # fmt: skip
_MEMORY = "SPARK_EXECUTOR_MEMORY"


def executor_command(variables: Mapping[str, str], *, java: str, spark_home: Path) -> list[str]:
    """The command of an executor. UsageError naming all variables that Spark did not set."""
    missing = [name for name in (*_ARGUMENTS.values(), _MEMORY) if not variables.get(name)]
    if missing:
        raise UsageError(f"{', '.join(missing)} not set; `executor` is started by Spark, the job by `driver`")
    numbered = sorted((int(name.removeprefix(_OPTION)), name) for name in variables if name.startswith(_OPTION))
    memory = variables[_MEMORY]
    return [
        java,
        *(variables[name] for _, name in numbered),
        *(f"-Xms{memory}", f"-Xmx{memory}", "-cp", f"{spark_home}/conf:{spark_home}/jars/*", _BACKEND),
        *(word for option, name in _ARGUMENTS.items() for word in (option, variables[name])),
    ]


def main(arguments: Sequence[str]) -> int:
    """Run the driver or an executor; returns the exit status, unless this process becomes the executor."""
    match arguments:
        case ["driver"]:
            # Process 1 gets no signal without a handler: until the job has its own, it exits at once.
            call_on_signals(lambda: sys.exit(0))
            from market_spread.streaming.driver.__main__ import main as run_job

            return run_job()
        case ["executor"]:
            return run_main(_become_executor)
        case _:
            print(f"the entry point takes driver or executor, not {' '.join(arguments)!r}")
            return UsageError.exit_status


def _become_executor() -> None:
    home = java_home()
    java = f"{home}/bin/java" if home else "java"
    command = executor_command(foreign_environment("SPARK_"), java=java, spark_home=spark_home())
    with usage_errors(f"{java} cannot be started", "set JAVA_HOME"):
        os.execvp(java, command)  # as process 1 it gets the container's signals


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
