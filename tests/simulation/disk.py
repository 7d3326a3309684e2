"""A simulated disk below real files: a process can die within a write, and a power cut takes what was not flushed."""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.simulation.world import World


class Disk:
    """Stands in for `write_all`. torn: by process, which share of its next write is still written before it dies."""

    def __init__(self, world: World, write_all: Callable[[int, bytes], None]) -> None:
        self.torn: dict[str, float] = {}
        self._world, self._write_all = world, write_all

    def write_all(self, descriptor: int, data: bytes) -> None:
        process = self._world.running
        share = self.torn.pop(process.name, None) if data and process else None
        if share is None or process is None:
            self._write_all(descriptor, data)
            return
        written = data[: int(len(data) * share)]
        self._write_all(descriptor, written)
        self._world.note(process.name, f"dies within a write, after {len(written)} of {len(data)} bytes")
        self._world.die()


def power_cut(folder: Path, random: Random) -> list[str]:
    """Cut each file below the folder at any byte: nothing of ours is flushed. What became of them, in words."""
    said = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = path.stat().st_size
        # Mostly the newest pages, sometimes all.
        kept = random.choice((0, random.randrange(size + 1), size - min(size, random.randrange(4096))))
        os.truncate(path, kept)
        said.append(f"{path.name}: {kept} of {size} bytes")
    return said
