"""Functions in files of the user's own, named `folder/file.py:function`: found, and their errors in one sentence."""

import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from market_spread.common.errors import MarketSpreadError, UsageError


def load_function(reference: str) -> Callable[..., Any]:
    """The function of a file, which is run like a script: it may import its neighbours. UsageError if there is none."""
    name, _, function = reference.rpartition(":")
    path = Path(name).resolve()
    spec = importlib.util.spec_from_file_location(path.stem, path) if path.is_file() else None
    if not function or spec is None or spec.loader is None:
        raise UsageError(f"{reference!r} names no Python file and function that are there; use folder/file.py:function")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    with user_errors(reference):
        spec.loader.exec_module(module)
    found = getattr(module, function, None)
    if not callable(found):
        raise UsageError(f"{path} has no function {function!r}; name one that it has")
    return found  # type: ignore[no-any-return]


@contextmanager
def user_errors(reference: str, raised: Callable[[UsageError], object] | None = None) -> Iterator[None]:
    """UsageError with file and line for whatever the user's function raises; or `raised` is told, and all goes on."""
    try:
        with redirect_stdout(sys.stderr):  # the other one is for results
            yield
    except MarketSpreadError:
        raise
    except (Exception, SystemExit) as error:  # a file that ends the program ends no run
        where, kind = place_of(reference, error), type(error).__name__
        told = UsageError(f"{where}: {reference} raised {kind}: {error}; mend it there")
        if raised is None:
            raise told from error
        raised(told)


def place_of(reference: str, error: BaseException) -> str:
    """`folder/file.py:line`: the last line of the function's file that led to the error, if one did."""
    file = reference.rpartition(":")[0]
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).name == Path(file).name]
    line = own[-1].lineno if own else getattr(error, "lineno", None)  # of an error in the file's syntax
    return f"{file}:{line}" if line else file
