"""The real program, started as a user or systemd starts it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 60.0
MOTIOND = Path(sys.executable).with_name("motiond")


def motiond(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run motiond to its end."""
    command = [str(MOTIOND), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@contextmanager
def background(*arguments: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run motiond beside the test; what still runs at the end is terminated."""
    command = [str(MOTIOND), *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **(pipes | options)) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=PATIENCE_S)
