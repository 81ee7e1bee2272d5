"""Control of a robot for one test, where somebody has to be in control: kept in the background."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

HOLDER = "pytest"
RENEWALS_A_TTL = 3


class Control:
    """Control of one robot.

    Parameters
    ----------
    send : callable
        Sends a request, its verb and its keys, and waits for nothing.

    Attributes
    ----------
    proof : dict
        What a request needs beside its keys; empty without control.
    """

    def __init__(self, send: Callable[[str, Mapping[str, Any]], None]) -> None:
        self.proof: dict[str, str] = {}
        self._send = send
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, lease: str, ttl_s: float) -> None:
        """Renew a lease from now on, whatever the test does meanwhile; the one before is forgotten."""
        self._end()
        self.proof = {"lease": lease}
        self._ended = threading.Event()
        arguments = (self._ended, dict(self.proof), ttl_s / RENEWALS_A_TTL)
        self._thread = threading.Thread(target=self._renew, args=arguments, name="motiond.lease", daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Return control, if there is any, without waiting for an answer; any number of times."""
        self._end()
        if self.proof:
            self._send("lease/release", self.proof)
            self.proof = {}

    def _end(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _renew(self, ended: threading.Event, proof: Mapping[str, Any], period_s: float) -> None:
        while not ended.wait(period_s):
            self._send("lease/renew", proof)
