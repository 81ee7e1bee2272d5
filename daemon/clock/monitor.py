"""The state of the machine's clock, kept fresh: chrony is asked now and then, the kernel each time."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, NoReturn

from . import chrony, kernel
from .state import ClockState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .chrony import Tracking
    from .kernel import KernelClock

log = logging.getLogger(__name__)

ASK_PERIOD_S = 10.0
"""How long to wait after each answer of chrony's."""


class ClockMonitor:
    """Knows the state of the machine's clock.

    `max_error_s`: of the configuration: how far it may be off where a start is appointed; None for no limit.
    `read_kernel`: reads the kernel's clock; raises OSError where it may not.
    `ask_chrony`: asks chronyd; returns None where it does not synchronise the clock.
    """

    def __init__(
        self,
        max_error_s: float | None = None,
        *,
        read_kernel: Callable[[], KernelClock] = kernel.read,
        ask_chrony: Callable[[], Awaitable[Tracking | None]] = chrony.ask_chrony,
    ) -> None:
        self.max_error_s = max_error_s
        self._read_kernel = read_kernel
        self._ask_chrony = ask_chrony
        self._tracking: Tracking | None = None

    async def run(self) -> NoReturn:
        """Ask chrony from time to time until cancelled; what fails is tried again."""
        while True:
            try:
                await self.ask()
            except Exception:
                log.exception("chrony could not be asked; it is tried again")
            await asyncio.sleep(ASK_PERIOD_S)

    async def ask(self) -> None:
        """Ask chrony once."""
        self._tracking = None
        self._tracking = await self._ask_chrony()

    def payload(self) -> dict[str, Any]:
        """Return the clock's state now as published, JSON-ready."""
        return self.state.payload()

    @property
    def state(self) -> ClockState:
        """The clock's state now: chrony's word where it synchronises the clock, else the kernel's.

        Chrony comes first, as it updates the kernel's state only with `rtcsync`.
        """
        if (tracking := self._tracking) is not None:
            return ClockState(
                synchronised=True,
                estimated_error_s=tracking.estimated_error_s,
                max_error_s=tracking.max_error_s,
                source=f"chrony: {tracking.source}",
            )
        try:
            reading = self._read_kernel()
        except OSError:
            reading = None
        # The errors of a clock that is not synchronised are limits of the kernel and mean nothing.
        if reading is None or not reading.synchronised:
            return ClockState(synchronised=False)
        return ClockState(*reading, source="kernel")
