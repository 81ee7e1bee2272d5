"""motiond is one import package, which leaves other people's names alone."""

from __future__ import annotations

import subprocess
import sys

TIMEOUT_S = 60.0
IMPORT_ALL = """
import importlib, pkgutil, sys
from pathlib import Path

import motiond
for module in pkgutil.walk_packages(motiond.__path__, "motiond."):
    if not module.name.endswith("__main__") and not module.name.startswith("motiond.drivers.testing"):
        importlib.import_module(module.name)
files = {}
for name, module in sys.modules.items():
    if getattr(module, "__file__", None) and name != "__main__":
        files.setdefault(Path(module.__file__).resolve(), []).append(name)
assert len([name for name in sys.modules if name.startswith("motiond.")]) > 100
print(*(name for names in files.values() if len(names) > 1 for name in names if "motiond" in str(names)))
print(*({"daemon", "drivers", "formats"} & set(sys.modules)))
"""


def test_no_module_is_loaded_under_two_names() -> None:
    command = [sys.executable, "-c", IMPORT_ALL]
    run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (run.returncode, run.stderr, run.stdout.split()) == (0, "", [])
