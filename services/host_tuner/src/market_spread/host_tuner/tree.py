"""The host's files, below a root that is `/host` in the pod and a folder of fakes in a test; and their originals.

How the host was before the first write is kept on its disk until everything is put back.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from market_spread.common.errors import UsageError
from market_spread.host_tuner.values import to_restore

BOOT_ID = "proc/sys/kernel/random/boot_id"
_ANYONE_WRITES = 0o222
# Below these files come and go, with interrupts, CPUs and queues.
_CHANGING = ("proc/irq", "sys/devices/system/cpu", "sys/devices/virtual/workqueue")


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


class RecordFile:
    """One text that outlives the process, as a file. Its folder must be there. All calls raise OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lock(self) -> None:
        """Have it alone until the process ends: others would take what this one wrote for how the host was. OSError."""
        self._lock = os.open(self._path.parent, os.O_RDONLY)  # the folder, so that nothing stays on the host
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def read(self) -> str:
        """The text. FileNotFoundError if there is none."""
        return self._path.read_text("utf-8")

    def replace(self, text: str) -> None:
        """Have this text in place of the old one: all of it or, after a crash, all of the old one."""
        unfinished = self._path.with_name(f".{self._path.name}.new")
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._path)
        self._sync_folder()

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
        self._sync_folder()

    def _sync_folder(self) -> None:
        descriptor = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Originals:
    """The texts of all files that the tuner manages, as they were before it wrote any of them, of this boot.

    A reboot undoes all settings, so what was noted before it is forgotten.
    """

    def __init__(self, record: RecordFile, boot_id: str) -> None:
        """UsageError if there is a record that cannot be understood: nothing may be written then."""
        self._record, self._boot_id = record, boot_id
        self._texts = _read(record, boot_id)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(self._texts)

    def note(self, found: Mapping[str, str]) -> None:
        """Keep these texts of files that are not noted yet, on disk when it returns. OSError if that fails."""
        new = {path: text for path, text in found.items() if path not in self._texts}
        if new:
            self._replace({**self._texts, **new})

    def forget(self, paths: Iterable[str]) -> None:
        """Keep these no longer: they are put back, or were never ours to write. OSError if that fails."""
        gone = set(paths)
        left = {path: text for path, text in self._texts.items() if path not in gone}
        if left != self._texts:
            self._replace(left)

    def put_back(self, tree: HostTree, paths: Iterable[str] | None = None) -> tuple[int, tuple[str, ...]]:
        """Write the texts of these files (default: of all), and forget them if every one of them reads as it did.

        Returns how many were written, and a sentence for each problem; without any, the host is as it was. A file that
        the kernel has taken away has nothing to be put back; one that is only not mounted is kept. A crash in between
        is mended by doing it again.
        """
        problems: list[str] = []
        written = 0
        done: set[str] = set()
        for path in sorted(self._texts if paths is None else self._texts.keys() & set(paths)):
            original = self._texts[path]
            try:
                if is_written := tree.read(path) != original:
                    tree.write(path, to_restore(original))
                    if (found := tree.read(path)) != original:  # the kernel may have changed it
                        problems.append(f"{path} cannot be put back: it reads {found!r} after {original!r}")
                        continue
                written += is_written
                done.add(path)
            except FileNotFoundError:
                if any(path.startswith(f"{folder}/") and tree.names(folder) for folder in _CHANGING):
                    done.add(path)
                else:
                    problems.append(f"{path} cannot be put back: it is not here; mount it, or reboot the host")
            except OSError as error:
                problems.append(f"{path} cannot be put back: {error.strerror}")
        self.forget(done)
        return written, tuple(problems)

    def _replace(self, texts: dict[str, str]) -> None:
        if texts:
            self._record.replace(json.dumps({"boot_id": self._boot_id, "files": texts}, indent=1))
        else:
            self._record.remove()
        self._texts = texts


def _read(record: RecordFile, boot_id: str) -> dict[str, str]:
    try:
        kept = json.loads(record.read())
        texts: dict[str, str] = {str(path): str(found) for path, found in kept["files"].items()}
        return texts if kept["boot_id"] == boot_id else {}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"the host's original settings cannot be read: {error.strerror}; mend the disk") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            "the host's original settings are damaged; reboot the host, or move them away to take those of now for them"
        ) from error
