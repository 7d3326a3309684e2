"""The host's files, below a root that is `/host` in the pod and a folder of fakes in a test."""

import os
from pathlib import Path

_ANYONE_WRITES = 0o222


class HostTree:
    """Files named by their path below the root, without a leading slash. All calls raise OSError. Thread-safe."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> str:
        """The whole text of a file. Bytes that are not text survive a write of the same text."""
        return (self._root / path).read_bytes().decode(errors="surrogateescape")

    def write(self, path: str, text: str) -> None:
        """Have the file take the text, in one system call; it must be there."""
        # The kernel takes a value from one write, and says by its errno whether it will have it.
        descriptor = os.open(self._root / path, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, text.encode(errors="surrogateescape"))
        finally:
            os.close(descriptor)

    def writable(self, path: str) -> bool:
        """Whether the file's mode lets anyone write it."""
        return bool((self._root / path).stat().st_mode & _ANYONE_WRITES)

    def names(self, folder: str) -> list[str]:
        """What is in a folder, sorted; nothing if it is not there."""
        try:
            return sorted(os.listdir(self._root / folder))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def has(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return (self._root / path).exists()
