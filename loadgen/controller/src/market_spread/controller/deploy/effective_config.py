"""Settings as they really are, read back from the processes that have them: Spark, Kafka, and their JVMs."""

import re
import subprocess
from collections.abc import Iterable, Mapping

from market_spread.common.jvm.java import Java
from market_spread.controller.run_folder.manifest import Section

_JAVA_TIMEOUT_S = 30
# Of a run and not of its configuration: identities, times, ports, places.
_VOLATILE = re.compile(
    r"spark\.app\.(id|startTime|submitTime|initial.*)|spark\.driver\.(port|host|bindAddress)|spark\.executor\.id"
    r"|spark\.ui\.port|spark\.local\.dir|spark\.python\.unix\.domain\.socket\.dir|spark\.sql\.warehouse\.dir|spark\.(repl\.local\.jars|submit\.pyFiles|driver\.extraClassPath)"
    r"|spark\.(driver|executor)\.extraJavaOptions|spark\.kubernetes\..*(pod\.name|namespace)"
    r"|(advertised\.)?listeners|log\.dirs?|controller\.quorum\..*|node\.id|broker\.id|cluster\.id"
)
_PLACES = ("-Xlog", "-XX:SharedArchiveFile")
_FLAG = re.compile(r"^\s*\S+\s+(\w+)\s*:?=\s*(.*?)\s+\{.*?\}\s*\{(.*?)\}\s*$")


def stable(settings: Mapping[str, str]) -> Section:
    """The settings without those that differ from run to run."""
    return {name: value for name, value in settings.items() if not _VOLATILE.fullmatch(name)}


def jvm_options(arguments: Iterable[str]) -> list[str]:
    """Of a JVM's arguments those that change how it runs: not where it logs, or has its archive of classes."""
    return [word for word in arguments if word.startswith("-X") and not word.startswith(_PLACES)]


def jvm_section(java: Java, options: list[str]) -> Section:
    """A JVM with these options on this machine: its version, and every flag that is not left to its default."""
    command = [str(java.executable), *options, "-XX:+PrintFlagsFinal", "-version"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {"options": " ".join(options)}
    found = (_FLAG.match(line) for line in ended.stdout.splitlines())
    flags = {match[1]: match[2] for match in found if match and match[3] != "default"}
    return {
        "version": " ".join(ended.stderr.split("\n", 1)[0].split()) or None,
        "options": " ".join(options),
        **{f"flag.{name}": value for name, value in sorted(flags.items()) if name != "PrintFlagsFinal"},
    }
