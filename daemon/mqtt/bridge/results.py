"""Results that could not be published before the daemon ended, kept in a file for the next one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import orjson

from ...api import Report

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

log = logging.getLogger(__name__)

MOST_KEPT = 1000
MOST_BYTES = 10_000_000


class KeptResults:
    """The files of one daemon; trouble with it is logged, as nothing depends on it but these results."""

    def __init__(self, folder: Path | None, *names: str) -> None:
        self._files = [] if folder is None else [folder / f"results-{name}.jsonl" for name in names]

    def load(self) -> list[Report]:
        """Return what an earlier daemon left; lines that cannot be read are left out with a warning."""
        return [report for file in self._files for report in _load(file)]

    def keep(self, results: Iterable[Report]) -> None:
        """Keep these and no others."""
        kept = list(results)[-MOST_KEPT:]
        if not self._files:
            if kept:
                log.warning("%d results are lost; there is no folder for them; set XDG_STATE_HOME", len(kept))
            return
        first, others = self._files[0], self._files[1:]
        try:
            if kept:
                _store(first, kept)
                log.warning("%s: %d results are kept until the broker is back", first, len(kept))
            for file in others if kept else self._files:
                file.unlink(missing_ok=True)
        except (OSError, TypeError) as error:
            log.warning("%s: %d results are lost; %s", first, len(kept), error)


def _load(file: Path) -> list[Report]:
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES)
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("%s: results of an earlier run cannot be published; %s", file, error.strerror)
        return []
    reports = [report for line in data.splitlines()[:MOST_KEPT] if (report := _read(file, line))]
    if reports:
        log.info("%s: %d results of an earlier run are published now", file, len(reports))
    return reports


def _read(file: Path, line: bytes) -> Report | None:
    try:
        match orjson.loads(line):
            case [str(robot), dict(result)]:
                return Report(robot, "result", result)
    except orjson.JSONDecodeError:
        pass  # it was cut off, perhaps
    log.warning("%s: a line is no result and was left out", file)
    return None


def _store(file: Path, results: list[Report]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [orjson.dumps([one.robot, one.data], option=orjson.OPT_SERIALIZE_NUMPY) for one in results]
    new = file.with_suffix(".new")
    new.write_bytes(b"\n".join(lines) + b"\n")
    new.replace(file)
