"""What must hold of the repository as a whole: locks without addresses, layers, and versions that are pinned."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import files, packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.support.paths import ROOT

PEERS = ROOT / "tests" / "benchmarks" / "peers" / "requirements"
REQUIREMENTS = sorted([*(ROOT / "requirements").iterdir(), *PEERS.iterdir()])
LOCKS = [path for path in REQUIREMENTS if path.suffix == ".txt"]
PROJECTS = sorted(
    path
    for path in ROOT.glob("*/**/pyproject.toml")
    if "node_modules" not in path.parts and not any(part.startswith(".") for part in path.parts)
)
PRODUCT = [
    path
    for top in ("services", "spark", "loadgen", "systems", "charts")
    for path in (ROOT / top).rglob("*.py")
    if "node_modules" not in path.parts
]
PAGE = ROOT / "services" / "metrics_ui"
VENDORED = sorted([*ROOT.glob("docs/vendor/*/vendor.lock"), *ROOT.glob("services/**/static/vendor/vendor.lock")])
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^\s;]+)", re.MULTILINE)


def project(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        return tomllib.load(file)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def pins() -> dict[str, str]:
    return {
        canonicalize_name(name): version
        for name, version in PIN.findall((ROOT / "requirements" / "dev.txt").read_text())
    }


def required_by(path: Path) -> list[Requirement]:
    """What a distribution needs to run, with all its extras, and to be built; ours left out."""
    document = project(path)
    metadata = document["project"]
    assert isinstance(metadata, dict)
    build = document["build-system"]
    assert isinstance(build, dict)
    extras = [text for texts in metadata.get("optional-dependencies", {}).values() for text in texts]
    texts = [*metadata["dependencies"], *extras, *build["requires"]]
    found = [Requirement(text) for text in texts]
    return [requirement for requirement in found if not requirement.name.startswith("market-spread")]


def test_all_requirements_and_projects_are_looked_at() -> None:
    images = ("host-tuner", "metrics-aggregator", "receiver", "run-controller", "sender", "spark")
    tools = ("bytewax", "build", "cfn-lint", "checkov", "dev", "docs", "flink", "helm", "run", "uv")
    assert {path.stem for path in LOCKS} == {*tools, *images}
    assert {name_of(path) for path in PROJECTS} >= {
        "loadgen/controller/pyproject.toml",
        "loadgen/data/pyproject.toml",
        "proto/pyproject.toml",
        "services/common/pyproject.toml",
        "services/metrics_aggregator/pyproject.toml",
        "services/receiver/pyproject.toml",
        "services/sender/pyproject.toml",
        "spark/pyproject.toml",
        "systems/pyproject.toml",
    }


@pytest.mark.parametrize("path", REQUIREMENTS, ids=name_of)
def test_requirements_name_no_address_and_no_index(path: Path) -> None:
    lines = path.read_text().splitlines()

    assert [line for line in lines if "://" in line or line.startswith(("--", "-e", "-i", "-f"))] == []


@pytest.mark.parametrize("path", LOCKS, ids=name_of)
def test_every_locked_version_has_a_hash(path: Path) -> None:
    entries = re.split(r"^(?=\S)", path.read_text(), flags=re.MULTILINE)[1:]

    assert entries
    for entry in entries:
        assert PIN.match(entry), entry
        assert re.search(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$", entry, re.MULTILINE), entry


def test_javascript_packages_are_pinned_and_locked_with_a_hash_and_no_address() -> None:
    asked = json.loads((PAGE / "package.json").read_text())["devDependencies"]
    locked = json.loads((PAGE / "package-lock.json").read_text())["packages"]

    assert {name: locked[f"node_modules/{name}"]["version"] for name in asked} == asked
    assert locked.pop("")["devDependencies"] == asked
    for name, package in locked.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name


def test_lock_of_the_installer_is_the_one_of_the_checkout() -> None:
    uv = (ROOT / "requirements" / "uv.txt").read_text()

    assert re.findall(PIN, uv) == [("uv", pins()["uv"])]
    assert uv in (ROOT / "requirements" / "dev.txt").read_text()


def test_what_running_needs_has_the_versions_that_are_tested_and_no_tool_of_ours() -> None:
    running = dict(PIN.findall((ROOT / "requirements" / "run.txt").read_text()))

    assert running == {name: version for name, version in pins().items() if name in running}
    assert {"pyspark", "kafka-python", "grpcio"} <= set(running)
    assert {"pytest", "mypy", "ruff", "playwright", "matplotlib", "grpcio-tools"} & set(running) == set()


def test_everything_asked_for_is_locked_as_it_was_asked_for() -> None:
    asked = [
        Requirement(line.partition("#")[0].strip())
        for line in (ROOT / "requirements" / "dev.in").read_text().splitlines()
        if line.partition("#")[0].strip()
    ]

    locked = pins()
    assert len(asked) > 20
    assert [
        str(requirement)
        for requirement in asked
        if not requirement.specifier.contains(locked.get(canonicalize_name(requirement.name), "0"), prereleases=True)
    ] == []


@pytest.mark.parametrize("path", PROJECTS, ids=name_of)
def test_what_a_distribution_needs_is_locked_at_a_version_that_it_takes(path: Path) -> None:
    locked = pins()

    missing = [
        str(requirement)
        for requirement in required_by(path)
        if canonicalize_name(requirement.name) not in locked
        or not requirement.specifier.contains(locked[canonicalize_name(requirement.name)], prereleases=True)
    ]

    assert missing == []


@pytest.mark.parametrize("path", PROJECTS, ids=name_of)
def test_distributions_agree_on_their_version_and_python(path: Path) -> None:
    metadata = project(path)["project"]
    assert isinstance(metadata, dict)

    assert metadata["version"] == "0.1.0"
    assert SpecifierSet(metadata["requires-python"]) == SpecifierSet(">=3.11")


def having(module: str, distributions: Iterable[str]) -> set[str]:
    """Those of the distributions of a namespace package that have the module."""
    start = module.replace(".", "/")
    return {each for each in distributions if any(str(file).startswith(start) for file in files(each) or ())}


def imported_by(path: Path) -> set[str]:
    """The distributions, ours and others, whose modules those of a distribution's folder import."""
    modules = {
        "market_spread.v1": "market-spread-proto",
        **{name: f"market-spread-{name.rpartition('.')[2].replace('_', '-')}" for name in OURS},
    }
    installed = packages_distributions()
    found: set[str] = set()
    for module in (path.parent / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in names:
                top = name.partition(".")[0]
                if top == "market_spread":
                    found.add(modules[".".join(name.split(".")[:2])])
                elif top not in sys.stdlib_module_names:
                    whose = installed[top] if len(installed[top]) == 1 else having(name, installed[top])
                    found |= {canonicalize_name(each) for each in whose}
    return found


OURS = (
    "market_spread.common", "market_spread.sender", "market_spread.receiver", "market_spread.metrics_aggregator",
    "market_spread.host_tuner", "market_spread.streaming", "market_spread.loadgen", "market_spread.systems",
    "market_spread.controller",
)  # fmt: skip


# The programs of systems are copied to a user, and run with what is there.
IMPORTING = [path for path in PROJECTS if (path.parent / "src").is_dir() and path.parent.name != "systems"]


@pytest.mark.parametrize("path", IMPORTING, ids=name_of)
def test_a_distribution_declares_what_it_imports(path: Path) -> None:
    metadata = project(path)["project"]
    assert isinstance(metadata, dict)
    extras = [text for texts in metadata.get("optional-dependencies", {}).values() for text in texts]
    declared = {canonicalize_name(Requirement(text).name) for text in [*metadata["dependencies"], *extras]}

    imported = imported_by(path) - {metadata["name"]}

    assert imported, path
    assert imported - declared == set()
    assert {name for name in declared if name.startswith("market-spread")} <= imported


@pytest.mark.parametrize("lock", VENDORED, ids=name_of)
def test_vendored_files_are_those_of_their_lock(lock: Path) -> None:
    text = lock.read_text()
    locked = {
        path.rpartition("/")[2]: digest for digest, path in re.findall(r"^file ([0-9a-f]{64}) (\S+)$", text, re.M)
    }

    assert re.search(r"^package \S+@\d+\.\d+\.\d+ sha512-[A-Za-z0-9+/]{86}==$", text, re.MULTILINE)
    assert locked == {
        path.name: sha256(path.read_bytes()).hexdigest() for path in lock.parent.iterdir() if path.name != lock.name
    }


def test_imports_point_one_way() -> None:
    command = Path(sys.executable).parent / "lint-imports"

    ended = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)

    assert ended.returncode == 0, ended.stdout
    assert "0 broken" in ended.stdout


def modules() -> dict[str, Path]:
    """Our modules and packages by their dotted names."""
    found = {}
    for pattern in ("services/*/src", "spark/src", "loadgen/*/src", "systems/src"):
        for folder in ROOT.glob(pattern):
            for path in folder.rglob("*.py"):
                *parents, name = path.relative_to(folder).with_suffix("").parts
                found[".".join(parents if name == "__init__" else (*parents, name))] = path
    return found


MODULES = modules()
FACES = sorted(name for name, path in MODULES.items() if path.name == "__init__.py")


def imports_of(path: Path) -> set[str]:
    """The modules of ours, and names in them, that a file imports: dotted."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("market_spread.") and not name.startswith("market_spread.v1")}


def face_of(package: str) -> set[str]:
    """What a package shows: its modules and names that `__all__` lists."""
    found = re.search(r"^__all__.* = (\[[^]]*\])(?:  # fmt: skip)?$", MODULES[package].read_text(), re.MULTILINE)
    return set(ast.literal_eval(found[1])) if found else set()


def hidden_parts(name: str, package: str) -> list[str]:
    """The parts of an imported name that are not for a module of this package: each as `part of parent`."""
    parts = name.split(".")
    hidden = []
    for place in range(2, len(parts)):
        parent, part = ".".join(parts[:place]), parts[place]
        shown = part in face_of(parent) or f"{package}.".startswith(f"{parent}.") if parent in FACES else part[0] != "_"
        if not shown:
            hidden.append(f"{part} of {parent}")
    return hidden


IMPORTS = {path: imports_of(path) for path in [*PRODUCT, *sorted((ROOT / "tests").rglob("*.py"))]}


@pytest.mark.parametrize("path", PRODUCT, ids=name_of)
def test_a_module_imports_from_other_packages_what_these_show(path: Path) -> None:
    """A package shows the modules and names of its `__all__`; a module shows its names without an underscore."""
    package = next((name for name, file in MODULES.items() if file.parent == path.parent and name in FACES), "")

    assert {part for name in IMPORTS[path] for part in hidden_parts(name, package)} == set()


@pytest.mark.parametrize("package", FACES)
def test_a_package_shows_modules_that_others_take_and_names_that_it_has(package: str) -> None:
    shown = {f"{package}.{name}" for name in face_of(package)}
    outside = [path for path in IMPORTS if MODULES[package].parent not in path.parents]
    own = {f"{package}.{name.rpartition('.')[2]}" for name in imports_of(MODULES[package])}

    assert "__all__" in MODULES[package].read_text()
    taken = "\n".join(f"{name}." for path in outside for name in IMPORTS[path])
    assert {name for name in shown if not (f"{name}." in taken if name in MODULES else name in own)} == set()


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").iterdir()), ids=name_of)
def test_a_workflow_only_calls_what_the_project_has(path: Path) -> None:
    """Nothing is decided there: pinned actions, and commands that a contributor has too."""
    (job,) = yaml.safe_load(path.read_text())["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    if "container" in job:
        assert re.fullmatch(r"debian:12@sha256:[0-9a-f]{64}", job["container"]["image"])
        # Without git there, the checkout would be files alone, without a history.
        assert commands[:2] == [
            "apt-get update && apt-get install -y --no-install-recommends ca-certificates git",
            "git config --system --add safe.directory '*'",
        ]
        del commands[:2]
    assert commands

    for action in (step["uses"] for step in job["steps"] if "uses" in step):
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", action)
    for command in commands:
        called = re.fullmatch(r"bash \.ci/run(?P<named> [a-z-]+)?|make(?P<target> [a-z-]+)", command)
        assert called, command
        target = called["target"] or called["named"] or "test"
        subprocess.run(["make", target.strip(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize("name", ["ci", "nightly"])
def test_continuous_integration_keeps_how_long_each_test_took(name: str) -> None:
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yaml").read_text())["jobs"].values()
    (kept,) = [step for step in job["steps"] if "upload-artifact" in step.get("uses", "")]

    assert (kept["with"]["path"], kept["if"]) == ("build/tests", "always()")
    scripts = [(ROOT / name).read_text() for name in ("Makefile", ".ci/test")]
    assert all(re.findall(r"--junitxml=\W?(\w+/\w+)/", script) == ["build/tests"] for script in scripts)


def test_a_release_has_wheels_charts_and_images_and_says_what_they_are() -> None:
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yaml").read_text())["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make release"]
    assert [step["with"]["path"] for step in job["steps"] if "upload-artifact" in step.get("uses", "")] == ["dist"]
    script = (ROOT / ".ci" / "release").read_text()
    (targets,) = re.findall(r"^make --no-print-directory (.*)$", script, re.MULTILINE)
    dry = subprocess.run(
        ["make", "--dry-run", *targets.split()], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout

    assert all(part in dry for part in ("--out-dir dist", "--destination dist", "supply sbom dist/sbom"))
    assert "ARCHIVES=dist/images .ci/images" in dry
    steps = ["images --refuse", "supply advisories", "rm -rf dist", "make --no", "supply attest dist", "verify dist"]
    places = [script.index(step) for step in steps]
    assert places == sorted(places)


def test_unit_tests_are_in_folders_of_the_packages_that_they_test() -> None:
    packages = {name.partition(".")[2].replace(".", "/") for name in FACES}
    tested = {path.parent.relative_to(ROOT / "tests" / "unit") for path in (ROOT / "tests" / "unit").rglob("test_*.py")}

    assert {path.as_posix() for path in tested} - packages == {".", "examples", "monitoring", "peers"}


def encoding_left_to_the_locale(call: ast.Call) -> bool:
    """Whether a call reads or writes text in whatever encoding the machine's locale has."""
    if not isinstance(call.func, ast.Attribute) or any(keyword.arg == "encoding" for keyword in call.keywords):
        return False
    mode = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
    texts = {"read_text": len(call.args) < 1, "write_text": len(call.args) < 2}
    return texts.get(call.func.attr, call.func.attr == "open" and mode in ("r", "w", "a", "x"))


def test_text_is_utf_8_whatever_the_locale_is() -> None:
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in PRODUCT
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and encoding_left_to_the_locale(node)
    ]

    assert found == []


def test_no_class_name_means_two_things() -> None:
    found: dict[str, list[str]] = {}
    for path in PRODUCT:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(name_of(path))

    assert len(found) > 300
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_clean_removes_all_that_git_ignores_and_says_what_stays(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    ignored = [line.strip("/").replace("*", "some") for line in (ROOT / ".gitignore").read_text().splitlines()]
    for name in (*ignored, "a/b/__pycache__", "services/metrics_ui/node_modules"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)

    told = {"PATH": os.environ["PATH"], "HOME": "/home/someone"}
    ended = subprocess.run(["make", "clean"], cwd=tmp_path, env=told, capture_output=True, text=True, check=True)

    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {"Makefile", "a", "a/b", "node_modules", "services", "services/metrics_ui"}
    assert [line.rpartition("/")[2] for line in ended.stdout.splitlines()[1:]] == ["market-spread", "uv", "pip", ".npm"]
