"""Results that could not be told before the daemon ended, kept in a file until the next one has told them."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from ..api.reports import Report

if TYPE_CHECKING:
    from collections.abc import Iterable

log = logging.getLogger(__name__)

MOST_KEPT = 1000
MOST_BYTES = 10_000_000


def default_folder() -> Path:
    """Return where the daemon keeps its state: systemd's StateDirectory, or the user's own (XDG)."""
    if given := os.environ.get("STATE_DIRECTORY", "").partition(":")[0]:
        return Path(given)
    home = os.environ.get("XDG_STATE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state") / "motiond"


class UntoldResults:
    """The file of one daemon; trouble with it is logged, as nothing depends on it but these results.

    Parameters
    ----------
    folder : Path or None
        None keeps nothing.
    name : str
        Of the daemon and its broker: results go nowhere else.
    """

    def __init__(self, folder: Path | None, name: str) -> None:
        self._file = None if folder is None else folder / f"results-{name}.jsonl"

    def load(self) -> list[Report]:
        """Return what an earlier daemon left; lines that cannot be read are left out with a warning."""
        if self._file is None:
            return []
        try:
            with self._file.open("rb") as file:
                data = file.read(MOST_BYTES)
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("%s: results of an earlier run cannot be told; %s", self._file, error.strerror)
            return []
        reports = [report for line in data.splitlines()[:MOST_KEPT] if (report := self._read(line))]
        if reports:
            log.info("%s: %d results of an earlier run are told now", self._file, len(reports))
        return reports

    def _read(self, line: bytes) -> Report | None:
        try:
            match orjson.loads(line):
                case [str(robot), dict(result)]:
                    return Report(robot, "result", result)
        except orjson.JSONDecodeError:
            pass  # it was cut off, perhaps
        log.warning("%s: a line is no result and was left out", self._file)
        return None

    def keep(self, results: Iterable[Report]) -> None:
        """Keep these and no others."""
        kept = list(results)[-MOST_KEPT:]
        if self._file is None:
            return
        try:
            if not kept:
                self._file.unlink(missing_ok=True)
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            lines = [orjson.dumps([one.robot, one.data], option=orjson.OPT_SERIALIZE_NUMPY) for one in kept]
            new = self._file.with_suffix(".new")
            new.write_bytes(b"\n".join(lines) + b"\n")
            new.replace(self._file)
            log.warning("%s: %d results are kept until the broker is back", self._file, len(kept))
        except (OSError, TypeError) as error:
            log.warning("%s: %d results are lost; %s", self._file, len(kept), error)
