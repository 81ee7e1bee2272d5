"""The exceptions with which a daemon or a robot fails a test.

- `AssertionError`
  - `MotiondFailure` fails the test, with the daemon's log in the report
    - `RequestRefused`: the daemon refused a request
    - `NotInTime`: something expected did not happen in time
    - `DaemonEnded`: the daemon's process has ended
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class MotiondFailure(AssertionError):
    """The daemon or a robot did not do as the test expected, or the test is set up wrongly."""


class RequestRefused(MotiondFailure):
    """The daemon refused a request.

    Attributes
    ----------
    code : str
        One of the codes in `docs/mqtt.md`: BUSY, UNKNOWN_MOTION and so on.
    data : dict
        The `data` of the answer.
    """

    def __init__(self, code: str, message: str, data: dict[str, Any]) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.data = data


class NotInTime(MotiondFailure):
    """Something that was waited for did not happen in time."""


class DaemonEnded(MotiondFailure):
    """The daemon's process ended unexpectedly.

    Attributes
    ----------
    exit_code : int
        The exit code of the process; if negative, the signal that killed it.
    """

    def __init__(self, config: Path, exit_code: int) -> None:
        super().__init__(f"{config}: motiond ended with exit code {exit_code}; look at its log")
        self.exit_code = exit_code
