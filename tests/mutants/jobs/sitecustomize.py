"""Makes processes of ours wrong ones: Python imports this first where this folder leads PYTHONPATH.

WRONG names what is exchanged: `variants` in the job (see `variants.py`), else a wrong rig (`tests/mutants/rig.py`) in
sender and receiver.
"""

import importlib
import os
import sys
from typing import Any


def _is(*modules: str) -> bool:
    return any(word in modules for word in sys.orig_argv)


if (name := os.environ.get("WRONG")) == "variants" and _is("market_spread.streaming.driver"):
    importlib.import_module("tests.mutants.jobs.variants").install()
elif name and name != "variants" and _is("market_spread.sender", "market_spread.receiver"):
    rig: Any = importlib.import_module("tests.mutants.rig")
    rig.named(name).install()
