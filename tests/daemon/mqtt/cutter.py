"""A link between clients and a broker that is cut at the worst moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from tests.daemon.link import Link, Way

if TYPE_CHECKING:
    import socket
    from types import TracebackType


class Cutter(Link):
    """Passes connections on to a broker, and cuts one at a given text."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._cut_at: tuple[bytes, Way] | None = None

    def cut_at(self, text: bytes, way: Way) -> None:
        """Cut the connection that next carries a text: once the broker has it, or before the client does."""
        self._cut_at = text, way

    async def __aenter__(self) -> Self:
        await self.repair()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.cut()

    async def _pass(self, data: bytes, sink: socket.socket, way: Way) -> bool:
        if self._cut_at is not None and self._cut_at[1] == way and self._cut_at[0] in data:
            self._cut_at = None
            if way == "to broker":
                await super()._pass(data, sink, way)
            return False
        return await super()._pass(data, sink, way)
