"""A world with one clock: processes whose threads take turns, in an order that a seed alone decides.

A thread is a greenlet. It runs until it waits; then the next event in order of time runs, so nothing depends on the
machine or on who was faster. `Threads` stands for the module `threading`, so that the product's own loops run here.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any

from greenlet import getcurrent, greenlet

START_UNIX_NS = 1_800_000_000_000_000_000
MS = 1_000_000
S = 1_000_000_000
# A run that is over takes some 20 s; what comes to nothing is found then.
_LONGEST_NS = 900 * S


class Killed(BaseException):
    """The process is dead: whatever its threads were about to do, they do no more."""


class StuckError(Exception):
    """Nothing more can happen, or it takes far too long, and who was waited for has not ended."""


class Process:
    """One life of a process. service: what answers its calls; a process that is started again is another one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.service: Any = None
        self.tasks: dict[Task, None] = {}
        self.at_death: list[Callable[[], object]] = []


class Task:
    """A thread of a process, as a greenlet."""

    def __init__(self, world: "World", process: Process, run: Callable[[], object]) -> None:
        self.process = process
        self.done = False
        self._world, self._run = world, run
        self.let = greenlet(self._main, world.hub)
        process.tasks[self] = None

    def _main(self) -> None:
        try:
            self._run()
        except Killed:
            pass
        except Exception as error:
            self._world.failed(self, error)
        finally:
            self.done = True
            self.process.tasks.pop(self, None)


class _Waiter:
    """A task that waits, until it is so or the time is over."""

    __slots__ = ("happened", "is_so", "task")

    def __init__(self, task: Task, is_so: Callable[[], object]) -> None:
        self.task, self.is_so, self.happened = task, is_so, False


class World:
    """Time, events and what happened. Use once."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.now_ns = START_UNIX_NS
        self.hub = getcurrent()
        self.processes: dict[str, Process] = {}
        self.history: list[str] = []
        self.problems: list[str] = []
        self.events = 0
        self._due: list[tuple[int, int, Callable[[], object]]] = []
        self._numbers = count()
        self._waiters: dict[_Waiter, None] = {}
        self._current: Task | None = None

    def random(self, name: str) -> Random:
        """Chance for one purpose, which that of another does not change."""
        return Random(f"{self.seed}/{name}")

    def note(self, who: str, what: str) -> None:
        """Write into the history what happened."""
        self.history.append(f"{(self.now_ns - START_UNIX_NS) / 1e9:8.3f} {who:<10} {what}")

    def failed(self, task: Task, error: Exception) -> None:
        """A thread has ended by an error that nobody took."""
        self.problems.append(f"a thread of the {task.process.name} ended by {type(error).__name__}: {error}")

    @property
    def task(self) -> Task:
        """The thread that runs."""
        assert self._current is not None
        return self._current

    @property
    def process(self) -> Process:
        """Whose thread runs."""
        return self.task.process

    @property
    def running(self) -> Process | None:
        """The same; None outside of any thread."""
        return self._current.process if self._current else None

    def at(self, when_ns: int, action: Callable[[], object]) -> None:
        """Have something happen then, outside of any thread."""
        heappush(self._due, (max(when_ns, self.now_ns), next(self._numbers), action))

    def after(self, delay_ns: int, action: Callable[[], object]) -> None:
        self.at(self.now_ns + delay_ns, action)

    def spawn(self, process: Process, run: Callable[[], object]) -> Task:
        """A new thread of the process, which begins at once."""
        task = Task(self, process, run)
        self.at(self.now_ns, lambda: self._resume(task))
        return task

    def sleep(self, duration_ns: int) -> None:
        """Wait so long in the thread that runs."""
        self.wait_until(lambda: False, max(duration_ns, 0))

    def wait_until(self, is_so: Callable[[], object], timeout_ns: int | None = None) -> bool:
        """Wait in the thread that runs until it is so; False if the time is over before."""
        task = self.task
        if not task.process.alive:
            raise Killed
        if is_so():
            return True
        waiter = _Waiter(task, is_so)
        self._waiters[waiter] = None
        if timeout_ns is not None:
            self.after(timeout_ns, lambda: self._end_wait(waiter, happened=False))
        self.hub.switch()
        return waiter.happened

    def run(self, until: Callable[[], object]) -> None:
        """Have everything happen in order of time, until it is so. StuckError if it never is."""
        end_ns = self.now_ns + _LONGEST_NS
        while not until():
            if not self._due or self.now_ns > end_ns:
                raise StuckError(f"at {(self.now_ns - START_UNIX_NS) / 1e9:.1f} s nothing more can happen")
            self.now_ns, _, action = heappop(self._due)
            self.events += 1
            action()
            self._wake()

    def start(self, name: str, main: Callable[[Process], object]) -> Process:
        """Start a process."""
        process = self.processes[name] = Process(name)
        self.note(name, "starts")
        self.spawn(process, lambda: main(process))
        return process

    def kill(self, process: Process, said: str = "is killed") -> None:
        """End a process at once, wherever its threads are; one that runs now ends with its next step."""
        if not process.alive:
            return
        process.alive = False
        if said:
            self.note(process.name, said)
        self.at(self.now_ns, lambda: self._bury(process))

    def die(self) -> None:
        """Kill the process whose thread runs."""
        self.kill(self.process)
        raise Killed

    def _bury(self, process: Process) -> None:
        for task in list(process.tasks):
            for waiter in [each for each in self._waiters if each.task is task]:
                del self._waiters[waiter]
            self._switch(task, lambda of: of.let.throw(Killed))
        for action in process.at_death:
            action()

    def _resume(self, task: Task) -> None:
        if task.process.alive and not task.done:
            self._switch(task, lambda of: of.let.switch())

    def _switch(self, task: Task, how: Callable[[Task], object]) -> None:
        before, self._current = self._current, task
        try:
            how(task)
        finally:
            self._current = before

    def _end_wait(self, waiter: _Waiter, *, happened: bool) -> None:
        if waiter in self._waiters:
            del self._waiters[waiter]
            waiter.happened = happened
            self._resume(waiter.task)

    def _wake(self) -> None:
        woken = True
        while woken:
            woken = False
            for waiter in list(self._waiters):
                if waiter in self._waiters and waiter.is_so():
                    self._end_wait(waiter, happened=True)
                    woken = True


class VirtualClock:
    """The world's time, as a process's clock."""

    def __init__(self, world: World) -> None:
        self._world = world

    def unix_ns(self) -> int:
        return self._world.now_ns

    def monotonic_ns(self) -> int:
        return self._world.now_ns - START_UNIX_NS + S

    def sleep_ns(self, duration_ns: int) -> None:
        if duration_ns > 0:
            self._world.sleep(duration_ns)


class _Thread:
    def __init__(
        self, world: World, *, target: Callable[[], object], name: str = "", daemon: bool | None = None
    ) -> None:
        self._world, self._target = world, target
        self._task: Task | None = None

    def start(self) -> None:
        self._task = self._world.spawn(self._world.process, self._target)

    def join(self, timeout: float | None = None) -> None:
        self._world.wait_until(lambda: not self.is_alive(), None if timeout is None else round(timeout * S))

    def is_alive(self) -> bool:
        return self._task is not None and not self._task.done


class _Event:
    def __init__(self, world: World) -> None:
        self._world, self._set = world, False

    def set(self) -> None:
        self._set = True

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        self._world.wait_until(self.is_set, None if timeout is None else round(timeout * S))
        return self._set


class _Condition:
    """Lets go of its lock while it waits, as others that run then may want it."""

    def __init__(self, world: World, lock: threading.Lock) -> None:
        self._world, self._lock = world, lock

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def notify_all(self) -> None:
        """Who waits looks for itself."""

    def wait_for(self, is_so: Callable[[], object], timeout: float) -> bool:
        self._lock.release()
        try:
            return self._world.wait_until(is_so, round(timeout * S))
        finally:
            self._lock.acquire()


def threads_of(world: World) -> SimpleNamespace:
    """What stands for the module `threading`."""
    return SimpleNamespace(
        Thread=partial(_Thread, world),
        Event=partial(_Event, world),
        Condition=partial(_Condition, world),
        Lock=threading.Lock,
    )


class Later(Future[Any]):
    """A future whose result is waited for in the world's time."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def result(self, timeout: float | None = None) -> Any:
        return wait_for(self._world, self, timeout).result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        return wait_for(self._world, self, timeout).exception(0)


def wait_for(world: World, future: Future[Any], timeout: float | None) -> Future[Any]:
    """Wait for a future. TimeoutError if it takes longer. What comes back is a plain one with the same end."""
    if not world.wait_until(future.done, None if timeout is None else round(timeout * S)):
        raise TimeoutError
    plain: Future[Any] = Future()
    if (error := Future.exception(future, 0)) is not None:
        plain.set_exception(error)
    else:
        plain.set_result(Future.result(future, 0))
    return plain


class Pool:
    """Stands for `ThreadPoolExecutor`: each piece of work is a thread of the process that hands it over."""

    def __init__(self, world: World, *_: object) -> None:
        self._world = world

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Later:
        future = Later(self._world)

        def run() -> None:
            try:
                future.set_result(work(*arguments))
            except Exception as error:
                future.set_exception(error)

        self._world.spawn(self._world.process, run)
        return future

    def map(self, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        return [future.result() for future in [self.submit(work, *each) for each in zip(*arguments, strict=False)]]

    def shutdown(self, **_: object) -> None:
        """Threads end with their work."""

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()


class AtOnce:
    """Stands for a pool whose work needs no time: what is handed over is done at once."""

    def __init__(self, *_: object) -> None: ...

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, **_: object) -> None:
        """There is nothing to end."""

    def __enter__(self) -> "AtOnce":
        return self

    def __exit__(self, *_: object) -> None: ...


def waited(world: World, futures: list[Future[Any]], timeout: float) -> SimpleNamespace:
    """Stands for `concurrent.futures.wait` of a list."""
    world.wait_until(lambda: all(each.done() for each in futures), round(timeout * S))
    return SimpleNamespace(not_done={each for each in futures if not each.done()})
