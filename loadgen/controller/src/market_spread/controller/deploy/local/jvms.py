"""The JVMs of broker and job on this machine: how their archives of classes are made and checked, and their settings.

Settings are as they really are, read back from the processes that have them: Spark, Kafka, and their JVMs.
"""

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from market_spread.common.config import home_folder, inherited_environment
from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.jvm.archives import LocalJvms, jars_of_spark, named_jvms
from market_spread.common.jvm.jars import JarCache, Java
from market_spread.controller.run_folder import Section

_MAKE_TIMEOUT_S, _CHECK_TIMEOUT_S = 300, 60
_PAIRS_KEPT = 3
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
_log = logging.getLogger(__name__)


def local_jvms(
    java: Java, jars: JarCache, folder: Path | None = None, make: Callable[[LocalJvms], None] | None = None, *,
    checked: bool = False,
) -> LocalJvms:  # fmt: skip
    """The JVMs of broker and job. Their archives are made if none fit these jars and this Java, in 45 s, once.

    Archives are in the folder, by default in the user's cache, where only the last ones used stay; make: how they are
    made, by default by a rehearsal; checked: make those again that a JVM refuses. JVMs do without what cannot be made.
    UsageError if a jar is missing.
    """
    jvms = named_jvms(java, jars, folder := folder or home_folder("class-archives"))
    archives = (jvms.job_archive, jvms.broker_archive)
    if checked and all(archive.exists() for archive in archives):
        try:
            check_archives(jvms)
        except UsageError as error:
            _log.warning("%s; the archives are made again", error)
            for archive in archives:
                archive.unlink(missing_ok=True)
    if not all(archive.exists() for archive in archives):
        folder.mkdir(parents=True, exist_ok=True)
        (make or _rehearse)(jvms)
    for archive in archives:
        with suppress(FileNotFoundError):  # another process made room
            os.utime(archive)
    for old in sorted(folder.glob("*.jsa"), key=lambda path: -path.stat().st_mtime)[2 * _PAIRS_KEPT :]:
        old.unlink(missing_ok=True)
    return jvms


def check_archives(jvms: LocalJvms) -> None:
    """UsageError if a JVM refuses an archive, or does not answer.

    A broker or job with such an archive would only start slower, and say nothing.
    """
    of_spark = jars_of_spark()
    logging_first = [jar for jar in of_spark if jar.name.startswith("slf4j-api-")]  # as Spark's launcher has it
    of_job = [*jvms.jars.paths("connector"), *logging_first, *of_spark]
    for archive, paths in ((jvms.job_archive, of_job), (jvms.broker_archive, jvms.jars.paths("broker"))):
        options = ("-Xshare:on", "-XX:+VerifySharedSpaces", f"-XX:SharedArchiveFile={archive}")
        command = [str(jvms.java.executable), *options, "-cp", os.pathsep.join(map(str, paths)), "-version"]
        with usage_errors(f"{archive} cannot be checked", kinds=(OSError, subprocess.SubprocessError)):
            answer = subprocess.run(
                command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=_CHECK_TIMEOUT_S,
            )  # fmt: skip
        if answer.returncode:
            said = "; ".join(line for line in answer.stdout.splitlines() if not line.startswith("NOTE"))
            raise UsageError(f"a JVM refuses {archive}, an archive of its classes: {said}")


def _rehearse(jvms: LocalJvms) -> None:
    folder = jvms.job_archive.parent
    _log.warning("a minute more, once: archives of the JVMs' classes are made in %s", folder)
    made = {archive: archive.with_suffix(f".{os.getpid()}") for archive in (jvms.job_archive, jvms.broker_archive)}
    command = [sys.executable, "-m", "market_spread.controller.deploy.local.small_stack", *map(str, made.values())]
    # Without the options that an environment gives to every JVM: they may change which classes are loaded.
    own = {"JDK_JAVA_OPTIONS": "", **jvms.job_environment}
    try:
        subprocess.run(
            command, env={**inherited_environment(), **own}, timeout=_MAKE_TIMEOUT_S, check=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        for archive, unfinished in made.items():
            unfinished.rename(archive)
    except (OSError, subprocess.SubprocessError) as error:
        said = (str(getattr(error, "output", None) or "").strip() or str(error)).splitlines()[-1]
        _log.warning("the archives of classes in %s could not be made, so JVMs start slower: %s", folder, said)
    finally:
        for unfinished in made.values():
            unfinished.unlink(missing_ok=True)


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
