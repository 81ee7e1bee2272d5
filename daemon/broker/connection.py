"""One connection: bytes in and out, in turns so short that no client holds up another.

What has come is served a turn at a time, and more is read only when it has been served. What is sent is
gathered and written once in each round of the event loop; a client that does not read is sent nothing more.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from ..config.types import place
from .client import TURN, Client
from .limits import KIB
from .packets import Kind, PacketError, frame_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from .limits import Limits
    from .login import Login
    from .router import Router

log = logging.getLogger(__name__)

READ_BYTES = 64 * KIB
WRITE_BYTES = 32 * KIB
"""What a connection may have unsent before messages wait in the session, where they take turns."""
ANSWER_BYTES = 128 * KIB
"""With so much unsent, answers among it, nothing more is read."""
SEND_BUFFER_BYTES = 64 * KIB
"""Asked of the system: nothing that lies there can be overtaken."""
SOCKET_OPTIONS = (
    (socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),  # a vanished client without MQTT's keep-alive is noticed
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)

_scratch = memoryview(bytearray(READ_BYTES))  # of whichever connection reads now


class ConnectionRegistry:
    """All connections."""

    def __init__(self, limits: Limits, login: Login | None) -> None:
        self.login = login
        self._limits = limits
        self._connections: dict[Connection, None] = {}  # the oldest first
        self._incoming = 0

    @property
    def connections(self) -> list[Connection]:
        """All that are open now."""
        return list(self._connections)

    def opened(self, connection: Connection) -> None:
        """Note a connection; where too many have sent no CONNECT, the oldest of those is closed."""
        self._connections[connection] = None
        if len(self._connections) > self._limits.waiting:
            strangers = [one for one in self._connections if one.is_unknown]
            if len(strangers) > self._limits.waiting:
                strangers[0].refuse(f"{self._limits.waiting} others have not sent a CONNECT; let it send one")
                strangers[0].abort()

    def make_room(self) -> bool:
        """Close the oldest connection without a CONNECT; return whether there was one."""
        stranger = next((one for one in self._connections if one.is_unknown), None)
        if stranger is None:
            return False
        stranger.abort()
        return True

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.pop(connection, None)

    def has_come(self, size: int) -> None:
        """Count bytes that wait to be served; beyond the limit, the connection with most is closed."""
        self._incoming += size
        if self._incoming > self._limits.incoming_bytes:
            most = max(self._connections, key=lambda one: one.incoming)
            most.refuse(f"{most.incoming} bytes of a packet are too many beside others'; send less at a time")
            most.abort()


class Connection(asyncio.BufferedProtocol):
    """The connection of one client, from the first byte to the last."""

    client: Client

    def __init__(self, router: Router, registry: ConnectionRegistry) -> None:
        self._router = router
        self._registry = registry
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._inbox = bytearray()
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._counted_bytes = 0  # of the transport's, in the memory of all
        self._serve_is_due = self._flush_is_due = False
        self._has_more = False  # to be served: in another turn, or once the client reads its answers
        self._paused = False  # by the transport: the client does not read
        self._reads = True
        self._has_left = False
        self._lost = False
        self._closing_s: float | None = None
        self._received_s = self._progress_s = 0.0
        self._unread_bytes = 0
        self._counted_inbox = 0  # of the inbox, to the registry

    # -- called by asyncio ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(WRITE_BYTES)
        connection: socket.socket = transport.get_extra_info("socket")
        with suppress(OSError):  # it may be gone already
            for level, option, value in SOCKET_OPTIONS:
                connection.setsockopt(level, option, value)
        peer = transport.get_extra_info("peername")
        self.client = Client(self, self._router, self._registry.login, place(*peer[:2]) if peer else "?")
        self._received_s = self._progress_s = self._loop.time()
        self._registry.opened(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 # one size serves all
        """Give room for what comes."""
        return _scratch

    def buffer_updated(self, nbytes: int) -> None:
        """Take what has come."""
        if self._closing_s is not None:
            return
        self._inbox += _scratch[:nbytes]
        self._serve()

    def eof_received(self) -> bool:
        """Close; nothing is read, its end neither, until all that came before is served."""
        self.close()
        return True  # the transport is closed there

    def pause_writing(self) -> None:
        """Stop sending messages, as the client does not read."""
        self._paused = True
        self._progress_s = self._loop.time()

    def resume_writing(self) -> None:
        """Send what has waited."""
        self._paused = False
        self._count_memory()
        if self._has_more:
            self._serve_soon()
        self._read_or_not()
        self._pump()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 # the same, whatever the reason
        """End; what came before is still served."""
        self._lost = True
        self._unsent.clear()
        self._unsent_bytes = 0
        self._count_memory()
        if self._has_more:
            self._serve_soon()
        else:
            self._leave()
        self._registry.closed(self)

    # -- called by the client and its session ---------------------------------------------------------------

    @property
    def writable(self) -> bool:
        """Whether the client reads what it is sent."""
        return not self._paused and self._unsent_bytes < WRITE_BYTES

    def send(self, packet: bytes) -> None:
        """Send a packet, together with others of this round."""
        if self._lost:
            return
        self._unsent.append(packet)
        self._unsent_bytes += len(packet)
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)

    def call_soon(self, action: Callable[[], None]) -> None:
        """Go on in the next round."""
        self._loop.call_soon(action)

    def close(self) -> None:
        """Send what is still to be sent, and close; nothing more is read."""
        if self._closing_s is None:
            self._closing_s = self._loop.time()
            self._leave()
            self._flush()
            self._transport.close()

    def make_way(self) -> None:
        """Close, as another connection has taken the client's name."""
        what = "%s: disconnected; another client has connected by its name; give each its own"
        self._router.rate_limited.warning(what, self.client)
        self.close()

    # -- called by the registry ------------------------------------------------------------------------------

    @property
    def incoming(self) -> int:
        """Bytes that have come and were not served."""
        return len(self._inbox)

    @property
    def is_unknown(self) -> bool:
        """Whether its CONNECT has not come yet."""
        return self.client.session is None and self._closing_s is None

    @property
    def is_busy(self) -> bool:
        """Whether something is still to be served or sent."""
        unsent = self._unsent_bytes or self._transport.get_write_buffer_size()
        return bool(unsent) or self._has_more

    def refuse(self, reason: str) -> None:
        """Disconnect the client, and log why."""
        if self._closing_s is None and not self._has_left:
            self._router.rate_limited.warning("%s: disconnected; %s", self.client, reason)
        self.close()

    def abort(self) -> None:
        """Close without sending anything more."""
        self.close()
        self._transport.abort()

    def check(self, now_s: float) -> None:
        """Look whether the client has been silent, or has not read, for too long.

        If the daemon stood still, what came meanwhile has been read before this is called.
        """
        limits = self._router.limits
        if self._closing_s is not None:
            if now_s - self._closing_s > limits.close_s:
                self._transport.abort()
            return
        if not self._reads:
            self._received_s = now_s
        unread = self._transport.get_write_buffer_size()
        if unread == 0 or unread != self._unread_bytes:
            self._progress_s, self._unread_bytes = now_s, unread
        silence_s = self.client.silence_s
        if self.client.session is None:
            if now_s - self._received_s > limits.connect_s:
                self.refuse(f"no CONNECT in {limits.connect_s:g} s; let it send one")
        elif silence_s and now_s - self._received_s > silence_s:
            self.refuse(
                f"nothing came in {silence_s:g} s, one and a half times its keep-alive; it has vanished"
            )
        elif now_s - self._progress_s > limits.stalled_s:
            self.refuse(f"it has read nothing for {limits.stalled_s:g} s; let it read")
            self._transport.abort()

    # -- serving --------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Serve one turn of what has come; whatever is wrong with it ends this connection alone."""
        self._serve_is_due = False
        try:
            self._has_more = self._serve_turn()
        except PacketError as error:
            self.refuse(f"it sent {error}; correct the client")
        except Exception:
            log.exception("%s: disconnected; serving it failed inside motiond", self.client)
            self.close()
        if self._closing_s is not None:
            self._has_more = False
        if self._has_more:
            if not self._is_choked:
                self._serve_soon()
        elif self._lost:
            self._leave()
        self._read_or_not()
        self._count_inbox()

    def _serve_soon(self) -> None:
        if not self._serve_is_due:
            self._serve_is_due = True
            self._loop.call_soon(self._serve)

    def _serve_turn(self) -> bool:
        """Serve packets until the turn's work is done; return whether there are more."""
        inbox, client, at, work = self._inbox, self.client, 0, 0
        more = True
        while work < TURN and self._closing_s is None:
            if client.is_busy:
                work += client.go_on()
                continue
            frame = frame_at(inbox, at)
            if frame is not None:
                self._check_size(frame.kind, frame.end - frame.begin)
            if frame is None or frame.end > len(inbox):
                more = False
                break
            with memoryview(inbox) as view:
                body = bytes(view[frame.begin : frame.end])
            at = frame.end
            work += client.handle(frame.kind, frame.flags, body)
            self._received_s = self._loop.time()
        del inbox[:at]
        return more

    def _check_size(self, kind: int, size: int) -> None:
        limits = self._router.limits
        most = limits.packet_bytes if kind == Kind.PUBLISH and self.client.session else limits.control_bytes
        if size > most:
            raise PacketError(f"a packet of {size} bytes; {most} are the most")

    def _read_or_not(self) -> None:
        """Read on only where all that came is served, and its answers are read."""
        reads = not self._has_more and not self._is_choked
        if reads != self._reads and not self._lost:
            self._reads = reads
            if reads:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    # -- sending --------------------------------------------------------------------------------------------

    @property
    def _is_choked(self) -> bool:
        """Whether the client does not read what it is answered."""
        return (
            not self._lost
            and self._paused
            and self._unsent_bytes + self._transport.get_write_buffer_size() > ANSWER_BYTES
        )

    def _flush(self) -> None:
        self._flush_is_due = False
        if self._unsent:
            data = b"".join(self._unsent)
            self._unsent.clear()
            self._unsent_bytes = 0
            self._transport.write(data)
            self._count_memory()
            self._pump()

    def _pump(self) -> None:
        if self.client.session is not None and self.writable:
            self.client.session.pump()

    def _count_memory(self) -> None:
        unsent = 0 if self._lost else self._transport.get_write_buffer_size()
        self._router.memory.held += unsent - self._counted_bytes
        self._counted_bytes = unsent

    def _count_inbox(self) -> None:
        grown, self._counted_inbox = len(self._inbox) - self._counted_inbox, len(self._inbox)
        self._registry.has_come(grown)

    def _leave(self) -> None:
        if not self._has_left:
            self._has_left = True
            self._inbox.clear()
            self._count_inbox()
            self.client.leave(self._loop.time())
