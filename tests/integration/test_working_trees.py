"""The state of a working tree, as git says it."""

import subprocess
from pathlib import Path

from market_spread.controller.archive.provenance import tree_of


def git(folder: Path, *words: str) -> None:
    user = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    subprocess.run(["git", "-C", folder, *user, *words], check=True, capture_output=True)


def test_each_state_of_a_working_tree_is_told_from_the_others(tmp_path: Path) -> None:
    assert tree_of(tmp_path) == ""
    (tmp_path / "system.py").write_text("one")
    (tmp_path / "model.bin").write_bytes(b"\0one")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    states = [tree_of(tmp_path)]
    for content in (b"\0two", b"\0three"):
        (tmp_path / "model.bin").write_bytes(content)
        states.append(tree_of(tmp_path))
    git(tmp_path, "commit", "-qam", "three")
    states.append(tree_of(tmp_path))

    assert len({*states}) == 4
    assert tree_of(tmp_path) == states[-1]
    assert states[1].startswith(f"{states[0]}+")
