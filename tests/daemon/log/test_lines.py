"""Lines on stderr: one an event, of the same form from the daemon and its stream processes."""

from __future__ import annotations

import asyncio
import logging
import re
import warnings
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.log.lines import _Journal, _Lines, start_logging
from tests.daemon.programs import logging_as_before
from tests.daemon.rig import Rig
from tests.daemon.virtual_forks import VirtualForks, VirtualMachine
from tests.tables import table

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from motiond.daemon.ipc.forks import ForkRequest
    from motiond.daemon.stream.timing.clocks import Clock

TIME = r"[0-9-]{10} [0-9:]{8},[0-9]{3}"


def formatted(formatter: logging.Formatter, message: str, *values: object, **more: Any) -> str:
    return formatter.format(
        logging.LogRecord("motiond", logging.WARNING, "here.py", 1, message, values, more.get("error"))
    )


@table("quoted, line", ("x" * 10**6, "arm: " + "x" * 3994 + "…"))
def test_nothing_that_a_record_quotes_passes_for_another_record(quoted: str, line: str) -> None:
    assert formatted(_Lines("%(message)s"), "%s: %s", "arm", quoted) == line
    in_journal = formatted(_Journal("%(message)s"), "%s: %s", "arm", quoted)
    assert in_journal == "\n".join(f"<4>{one}" for one in line.split("\n"))


def refuse(text: str) -> None:
    raise ValueError(text)


def test_a_traceback_keeps_its_lines_whatever_the_error_quotes() -> None:
    with pytest.raises(ValueError, match="forged") as caught:
        refuse("x\n<3>forged\x1b[0m")
    error = (caught.type, caught.value, caught.tb)
    first, second, *others = formatted(_Journal("%(message)s"), "failed", error=error).split("\n")
    assert (first, second) == ("<4>failed", "<4>    | Traceback (most recent call last):")
    assert others[-2:] == ["<4>    | ValueError: x", r"<4>    | <3>forged\x1b[0m"]


def test_of_a_record_without_end_the_last_lines_are_kept() -> None:
    lines = formatted(_Lines("%(message)s"), "%s", "\n".join(map(str, range(10_000)))).split("\n")
    assert lines[:3] == ["0", "    | 9799 lines are left out", "    | 9800"]
    assert (len(lines), lines[-1]) == (202, "    | 9999")


class Defective(VirtualForks):
    """Forks processes that fail inside motiond, over what somebody else has written."""

    def fork(self, request: ForkRequest, channel: socket.socket, told: socket.socket) -> None:
        super().fork(request, channel, told)
        for process in self.processes.values():
            process._machine = WithoutClock(process, 0.0)


class WithoutClock(VirtualMachine):
    def clock(self, kind: str) -> Clock:
        raise ValueError(f"{kind}\n<3>forged\x1b[0m")


async def test_a_defect_in_a_stream_process_forges_no_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = Rig(tmp_path)
    with logging_as_before(), Defective() as forks:
        start_logging(logging.INFO)
        async with rig.running(forks):
            await asyncio.sleep(1.0)
    lines = capsys.readouterr().err.splitlines()
    failed = re.compile(f"{TIME} ERROR   arm: the stream process failed inside motiond")
    began = next(number for number, line in enumerate(lines) if failed.fullmatch(line))
    others = [*takewhile(lambda line: line.startswith("    | "), lines[began + 1 :])]
    assert others[-2:] == ["    | ValueError: real", r"    | <3>forged\x1b[0m"]


def test_a_warning_of_python_is_a_line_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(), logging_as_before():
        warnings.simplefilter("always")
        start_logging(logging.INFO)
        warnings.warn("old", stacklevel=1)
    first, *others = capsys.readouterr().err.splitlines()
    assert re.fullmatch(rf"{TIME} WARNING {__file__}:\d+: UserWarning: old", first)
    assert all(line.startswith("    | ") for line in others)
