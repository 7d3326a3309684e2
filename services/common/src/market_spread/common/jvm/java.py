"""Finds the Java that Kafka and Spark run on, and Spark."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from market_spread.common.errors import UsageError, usage_errors

VERSION_MIN = 17
REMEDY = f"install Java {VERSION_MIN} or newer, on Debian: apt-get install openjdk-17-jre-headless"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that is new enough; version: the major one; build: of which build it is, whatever options it is given."""

    executable: Path
    version: int
    build: str = ""


def find_java(java_home: str | None = None, search_path: str | None = None) -> Java:
    """The Java of `java_home`, else the one on the path. UsageError if there is none, or none that serves."""
    found = Path(java_home) / "bin" / "java" if java_home else shutil.which("java", path=search_path)
    if not found or not Path(found).exists():
        raise UsageError(f"no Java at {found}; {REMEDY}" if java_home else f"no Java is on the path; {REMEDY}")
    with usage_errors(f"{found} cannot be executed", REMEDY):
        answer = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=30, check=False)
    match = re.search(r'version "(\d+)', answer.stderr)
    if match is None:
        raise UsageError(f"{found} does not say its version; {REMEDY}")
    version = int(match.group(1))
    if version < VERSION_MIN:
        raise UsageError(f"{found} is Java {version}; {REMEDY}")
    return Java(Path(found), version, ", ".join(re.findall(r"\(build ([^,)]+)", answer.stderr)))


def spark_home() -> Path:
    """Where PySpark has its Spark. UsageError without PySpark."""
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise UsageError("PySpark is not installed; install everything with: make setup")
    return Path(pyspark.origin).parent
