"""Images for the test cluster: ours by the Dockerfiles that ship, the others from what the package registries have.

Each is kept as an archive that is named by what went into it, so that nothing is built twice.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from market_spread.common.config import home_folder
from market_spread.common.jvm.jars import JarCache
from tests.cluster.ground import binaries
from tests.cluster.ground.errors import GroundError, run

ROOT = Path(__file__).parents[3]
PREFIX = "localhost/market-spread"
TAG = "dev"
RECIPES = ROOT / "tests" / "cluster" / "images"
_SCRIPT = ROOT / ".ci" / "images"
_BUILD_S = 1200

# The Python of the official slim image, and what a build with it needs, from Debian.
_BASE_PACKAGES = "python3,python3-pip,python-is-python3,ca-certificates"
# Whoever reaches registries only through authorities of the machine's own does so in a build too.
_AUTHORITIES = Path("/usr/local/share/ca-certificates")

# Debian's, which reads its templates from a folder.
_ALERTMANAGER = Path("/usr/bin/prometheus-alertmanager")
_ALERTMANAGER_TEMPLATES = Path("/usr/share/prometheus/alertmanager")


@dataclass(frozen=True, slots=True)
class Image:
    """An image: how it is built, and what it is made of.

    parts: the files and folders that go into it; built_on: the image it begins with.
    """

    name: str
    build: Callable[["Image"], None]
    parts: tuple[Path, ...]
    built_on: "Image | None" = None
    words: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """Its name in the cluster."""
        return f"{PREFIX}/{self.name}:{TAG}"

    @property
    def key(self) -> str:
        """A digest of all that it is made of."""
        digest = hashlib.sha256(" ".join(self.words).encode())
        for path in (path for part in self.parts for path in _files(part)):
            digest.update(str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name).encode())
            digest.update(path.read_bytes())
        if self.built_on:
            digest.update(self.built_on.key.encode())
        return digest.hexdigest()[:16]

    @property
    def archive(self) -> Path:
        """Where it is kept."""
        return home_folder("images") / f"{self.name}-{self.key}.tar"


def ensure(image: Image) -> Path:
    """The image's archive, which is made if it is not there."""
    archive = image.archive
    if archive.exists():
        return archive
    require_in_store(image.built_on)
    # One at a time, since builds share the builder's tags.
    with binaries.alone("images"):
        if not archive.exists():
            print(f"building image {image.name}", file=sys.stderr, flush=True)
            image.build(image)
            _save(image, archive)
    return archive


def product_images() -> dict[str, Image]:
    """The images that ship, by name, as `make images` builds them."""
    base = base_image()
    listed = run([_SCRIPT, "--list"]).splitlines()
    found = {}
    for name, dockerfile in (line.split() for line in listed):
        recipe = ROOT / dockerfile
        found[name] = Image(name, _build_ours, (recipe, *copied_by(recipe)), base)
    return found


def kafka_image() -> Image:
    """A Kafka of the pinned jars, with the paths of the official image."""
    folder = RECIPES / "kafka"
    return Image(
        "kafka", _build_kafka, (folder, ROOT / "services/common/src/market_spread/common/jvm/jars.lock"), base_image()
    )


def base_image() -> Image:
    """What stands for the official slim image of Python: the same Python, from Debian."""
    parts = (RECIPES / "base", *([_AUTHORITIES] if _AUTHORITIES.exists() else []))
    return Image("base", _build_base, parts, words=(_BASE_PACKAGES,))


def ground_images() -> tuple[Image, Image]:
    """The images that the cluster itself needs: the sandbox of pods, and DNS."""
    return _of_program(binaries.PAUSE), _of_program(binaries.COREDNS)


def monitoring_images() -> dict[str, Image]:
    """What the operator of Prometheus puts into pods, by name. GroundError if Debian's Alertmanager is missing."""
    binaries.build_missing((binaries.PROMETHEUS, binaries.CONFIG_RELOADER))
    if not _ALERTMANAGER.exists():
        raise GroundError(f"{_ALERTMANAGER} is missing; on Debian: apt-get install prometheus-alertmanager")
    programs = {
        binaries.PROMETHEUS.name: (binaries.PROMETHEUS.path,),
        binaries.CONFIG_RELOADER.name: (binaries.CONFIG_RELOADER.path,),
        "alertmanager": (_ALERTMANAGER, _ALERTMANAGER_TEMPLATES),
    }
    recipe = RECIPES / "monitoring" / "Dockerfile"
    return {name: Image(name, _build_of_monitoring, (recipe, *parts), base_image()) for name, parts in programs.items()}


def copied_by(dockerfile: Path) -> tuple[Path, ...]:
    """What a Dockerfile copies from the repository."""
    lines = dockerfile.read_text().replace("\\\n", " ").splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ")]
    return tuple(ROOT / word for words in copies for word in words if not any(w.startswith("--from") for w in words))


def _of_program(program: binaries.Program) -> Image:
    return Image(program.name, _build_of_program, (RECIPES / program.name / "Dockerfile", program.folder / "key"))


def _build_ours(image: Image) -> None:
    assert image.built_on is not None
    environment = {
        "BASE_IMAGE": image.built_on.reference,
        "IMAGE_PREFIX": PREFIX,
        "IMAGE_TAG": TAG,
        "REVISION": image.key,
        "BUILDER": "buildah",
    }
    _buildah_run([str(_SCRIPT), image.name], environment)


def _build_base(image: Image) -> None:
    with _scratch() as folder:
        hooks = ['mkdir -p "$1/usr/local/share/ca-certificates"']
        if _AUTHORITIES.exists():
            hooks.append(f'cp -r {_AUTHORITIES}/. "$1/usr/local/share/ca-certificates/"')
        hooks.append('chroot "$1" update-ca-certificates')
        # pip would ask its own list of authorities.
        hooks.append('printf "[global]\\ncert = /etc/ssl/certs/ca-certificates.crt\\n" > "$1/etc/pip.conf"')
        run(
            ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={_BASE_PACKAGES}",
             *(f"--customize-hook={hook}" for hook in hooks), "bookworm", folder / "base.tar"],
            timeout_s=_BUILD_S,
        )  # fmt: skip
        _buildah_build(image, RECIPES / "base" / "Dockerfile", folder)


def _build_kafka(image: Image) -> None:
    with _scratch() as folder:
        (folder / "libs").mkdir()
        for jar in JarCache().paths("broker"):
            shutil.copy2(jar, folder / "libs")
        (folder / "agents").mkdir()
        (agent,) = JarCache().paths("metrics")
        shutil.copy2(agent, folder / "agents" / "jmx_prometheus_javaagent.jar")
        shutil.copytree(RECIPES / "kafka" / "bin", folder / "bin")
        assert image.built_on is not None
        _buildah_build(
            image, RECIPES / "kafka" / "Dockerfile", folder, f"--build-arg=BASE_IMAGE={image.built_on.reference}"
        )


def _build_of_program(image: Image) -> None:
    program = next(program for program in (binaries.PAUSE, binaries.COREDNS) if program.name == image.name)
    with _scratch() as folder:
        shutil.copy2(program.path, folder)
        _buildah_build(image, RECIPES / image.name / "Dockerfile", folder)


def _build_of_monitoring(image: Image) -> None:
    dockerfile, program, *templates = image.parts
    assert image.built_on is not None
    with _scratch() as folder:
        shutil.copy2(program, folder / "program")
        (folder / "templates").mkdir()
        for template in templates:
            shutil.copytree(template, folder / "templates", dirs_exist_ok=True)
        base = f"--build-arg=BASE_IMAGE={image.built_on.reference}"
        _buildah_build(image, dockerfile, folder, base, f"--build-arg=PROGRAM={image.name}")


def _buildah_build(image: Image, dockerfile: Path, context: Path, *options: str) -> None:
    _buildah_run(
        [
            "buildah",
            "bud",
            "--quiet",
            "--layers",
            *options,
            f"--file={dockerfile}",
            f"--tag={image.reference}",
            str(context),
        ]
    )


def require_in_store(image: Image | None) -> None:
    """Have the image that others are built on where builds find it."""
    if image is None:
        return
    marker = f"{PREFIX}/{image.name}:{image.key}"
    stored = subprocess.run(["buildah", "inspect", "--type=image", marker], capture_output=True, check=False)
    if stored.returncode:
        archive = ensure(image)
        run(["buildah", "pull", "--quiet", f"docker-archive:{archive}"], timeout_s=_BUILD_S)
    run(["buildah", "tag", image.reference if stored.returncode else marker, marker, image.reference])


def _save(image: Image, archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_suffix(f".{os.getpid()}")
    run(
        ["buildah", "push", "--quiet", image.reference, f"docker-archive:{unfinished}:{image.reference}"],
        timeout_s=_BUILD_S,
    )
    for older in archive.parent.glob(f"{image.name}-{'?' * 16}.tar"):
        older.unlink()
    unfinished.rename(archive)


def _buildah_run(command: list[str], environment: dict[str, str] | None = None) -> None:
    # In a chroot: builds work then where containers cannot be nested.
    variables = {**os.environ, "BUILDAH_ISOLATION": "chroot", **(environment or {})}
    ended = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=_BUILD_S, check=False
    )
    if ended.returncode:
        last = (ended.stderr or ended.stdout).strip().splitlines()[-15:]
        raise GroundError(f"{' '.join(command)} ended with status {ended.returncode}:\n" + "\n".join(last))


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="market-spread-image-") as folder:
        yield Path(folder)


def _files(part: Path) -> Iterator[Path]:
    if part.is_file():
        yield part
        return
    for path in sorted(part.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path
