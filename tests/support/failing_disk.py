"""A disk that fails at its n-th step below real files: a process is killed in the middle of it, or told of an error."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

# What changes a file or a folder. `Path` goes through these, too, but for what it writes by itself.
_STEPS = ("write", "ftruncate", "replace", "rename", "link", "unlink", "mkdir", "fsync", "open")
_CREATES = os.O_CREAT | os.O_TRUNC


class Killed(BaseException):
    """The process has ended here: nobody catches it, and what its `finally` writes is not written."""


@dataclass(eq=False)
class FailingDisk:
    """at: the step, from 1 on, that fails; error: how, or None for a kill; share: how much of a write is written then.

    An error is told once, and the disk is well again.
    """

    at: int
    error: int | None = None
    share: float = 0.0
    steps: int = 0
    is_dead: bool = False
    _open: list[int] = field(default_factory=list)

    @contextmanager
    def under(self) -> Iterator[None]:
        """Have it below all that this thread does. A kill ends the body; its files are closed, as the kernel would."""
        really = {name: getattr(os, name) for name in _STEPS}

        def step(name: str) -> Callable[..., Any]:
            def stepped(*arguments: Any, **more: Any) -> Any:
                call = really[name]
                if name == "open" and not arguments[1] & _CREATES:
                    return self._noted(call(*arguments, **more))
                if self._fails():
                    if name == "write":
                        call(arguments[0], bytes(arguments[1])[: int(len(arguments[1]) * self.share)])
                    self._fail()
                found = call(*arguments, **more)
                return self._noted(found) if name == "open" else found

            return stepped

        def write_bytes(path: Any, data: bytes) -> int:
            """As `Path` does it: the file is made and emptied, then written."""
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            try:
                return int(os.write(descriptor, data))
            finally:
                with suppress(OSError):
                    os.close(descriptor)

        patches = [patch.object(os, name, step(name)) for name in _STEPS]
        patches.append(patch("pathlib.Path.write_bytes", write_bytes))
        for each in patches:
            each.start()
        try:
            with suppress(Killed):
                yield
        finally:
            for each in patches:
                each.stop()
            if self.is_dead:
                for descriptor in self._open:
                    with suppress(OSError):
                        os.close(descriptor)

    def _noted(self, descriptor: int) -> int:
        self._open.append(descriptor)
        return descriptor

    def _fails(self) -> bool:
        self.steps += 1
        return self.is_dead or self.steps == self.at

    def _fail(self) -> None:
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error))
        self.is_dead = True
        raise Killed


Failure = tuple[int | None, float]
KILLED: list[Failure] = [(None, share) for share in (0.0, 0.5, 1.0)]
ERRORS: list[Failure] = [(number, share) for number in (errno.ENOSPC, errno.EIO) for share in (0.0, 0.5)]


def at_every_step(
    once: Callable[[FailingDisk], None], *, error: int | None = None, share: float = 0.0, most: int = 500
) -> int:
    """Try it on a disk that fails at the first step, then at the second, and so on, until none is left; how many."""
    for at in range(1, most):
        disk = FailingDisk(at, error, share)
        once(disk)
        if disk.steps < at:
            return at - 1
    raise AssertionError(f"it takes more than {most} steps")
