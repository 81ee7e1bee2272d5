"""One connected client: what it may send, and what it is answered; bytes and sockets are elsewhere."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from .login import LoginError
from .packets import (
    LEVEL,
    PINGRESP,
    ConnectCode,
    Kind,
    PacketError,
    read_connect,
    read_nothing,
    read_packet_id,
    read_publish,
    read_subscribe,
    read_unsubscribe,
    write_ack,
    write_connack,
    write_suback,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .login import Login
    from .packets import Connect, Message
    from .router import Router
    from .session import Link, Session

TURN = 64
"""The work of one turn, in messages read or delivered: others wait for it, a millisecond or so."""
KEEP_ALIVE_FACTOR = 1.5
ACKNOWLEDGEMENTS = {Kind.PUBACK, Kind.PUBREC, Kind.PUBREL, Kind.PUBCOMP}


class Client:
    """What goes over one connection."""

    def __init__(self, connection: Link, router: Router, login: Login | None, peer: str) -> None:
        self.name = ""
        self.session: Session | None = None
        self.silence_s = 0.0  # 0 allows any silence
        self._connection = connection
        self._router = router
        self._login = login
        self._peer = peer
        self._will: Message | None = None
        self._rest: Iterator[int] | None = None  # of a packet that takes several turns

    def __str__(self) -> str:
        return f"client {self.name[:60]!r} at {self._peer}" if self.name else f"client at {self._peer}"

    @property
    def is_busy(self) -> bool:
        """Whether the last packet is not done yet."""
        return self._rest is not None

    def go_on(self) -> int:
        """Go on with the last packet; return how much work it was."""
        for work in self._rest or ():
            return work
        self._rest = None
        return 0

    def handle(self, kind: int, flags: int, body: bytes) -> int:
        """Serve one packet; return how much work it was."""
        session = self.session
        if session is None:
            if kind != Kind.CONNECT:
                raise PacketError("another packet before CONNECT")
            self._connect(read_connect(body))
            return TURN // 4
        if kind == Kind.PUBLISH:
            return self._publish(session, flags, body)
        if kind in ACKNOWLEDGEMENTS:
            self._acknowledge(session, kind, read_packet_id(body))
        elif kind == Kind.SUBSCRIBE:
            self._rest = self._subscribe(session, *read_subscribe(body))
        elif kind == Kind.UNSUBSCRIBE:
            self._rest = self._unsubscribe(session, *read_unsubscribe(body))
        elif kind == Kind.PINGREQ:
            read_nothing(body)
            self._connection.send(PINGRESP)
        elif kind == Kind.DISCONNECT:
            read_nothing(body)
            self._will = None
            self._connection.close()
        else:
            raise PacketError("a second CONNECT")
        return 1

    def _acknowledge(self, session: Session, kind: int, packet_id: int) -> None:
        if kind == Kind.PUBACK:
            session.acknowledged(packet_id)
        elif kind == Kind.PUBREC:
            session.received(packet_id)
        elif kind == Kind.PUBCOMP:
            session.completed(packet_id)
        else:
            session.release(packet_id)
            self._connection.send(write_ack(Kind.PUBCOMP, packet_id))

    def leave(self, now_s: float) -> None:
        """Note that the connection has ended; the will is published, unless a DISCONNECT came."""
        session, self.session, self._rest = self.session, None, None
        if session is not None:
            self._router.leave(session, now_s)
            self.publish_will()

    def publish_will(self) -> None:
        """Publish the will, once."""
        will, self._will = self._will, None
        if will is not None:
            self._router.publish(self.name, will)

    # -- connecting -----------------------------------------------------------------------------------------

    def _connect(self, connect: Connect) -> None:
        code, reason = self._judge(connect)
        if code == ConnectCode.ACCEPTED:
            self.name = connect.client_id or f"auto-{secrets.token_hex(8)}"
            if not self._router.make_room(self.name):
                code = ConnectCode.UNAVAILABLE
                reason = f"{self._router.limits.clients} are connected; end some of them"
        if code != ConnectCode.ACCEPTED:
            self._router.rate_limited.warning("%s: refused with code %d; %s", self, code, reason)
            self._connection.send(write_connack(code))
            self._connection.close()
            return
        self._will = connect.will
        self.silence_s = KEEP_ALIVE_FACTOR * connect.keep_alive_s
        self.session, present = self._router.begin(self.name, clean=connect.clean)
        self._connection.send(write_connack(code, present=present))
        self.session.attach(self._connection)

    def _judge(self, connect: Connect) -> tuple[ConnectCode, str]:
        """Return whether a client may connect, and if not, why."""
        if connect.level != LEVEL:
            reason = (
                f"it speaks level {connect.level} of MQTT; this broker speaks 3.1.1 (level 4); let it do so"
            )
            return ConnectCode.UNACCEPTABLE_LEVEL, reason
        most = self._router.limits.client_id_bytes
        if len(connect.client_id.encode()) > most:
            return ConnectCode.IDENTIFIER_REJECTED, f"its identifier has more than {most} bytes; shorten it"
        if not connect.client_id and not connect.clean:
            reason = "a session that is kept needs a client identifier; give it one"
            return ConnectCode.IDENTIFIER_REJECTED, reason
        if connect.will is not None:
            self._check_length(connect.will.topic)
        if self._login is None:
            return ConnectCode.ACCEPTED, ""
        try:
            code = self._login.check(connect)
        except LoginError as error:
            return ConnectCode.UNAVAILABLE, str(error)
        return code, "user name or password are wrong, or missing; log in as mqtt.username"

    # -- publishing and subscribing -------------------------------------------------------------------------

    def _publish(self, session: Session, flags: int, body: bytes) -> int:
        message, packet_id = read_publish(flags, body)
        self._check_length(message.topic)
        if message.qos == 0:
            return 1 + self._router.publish(self.name, message)
        if message.qos == 1:
            reached = self._router.publish(self.name, message)
            self._connection.send(write_ack(Kind.PUBACK, packet_id))
            return 1 + reached
        reached = self._router.publish(self.name, message) if session.is_new(packet_id) else 0
        self._connection.send(write_ack(Kind.PUBREC, packet_id))
        return 1 + reached

    def _check_length(self, topic: str) -> None:
        limits = self._router.limits
        if len(topic) > limits.topic_bytes // 4 and len(topic.encode()) > limits.topic_bytes:
            raise PacketError(f"a topic of more than {limits.topic_bytes} bytes")
        if topic.count("/") >= limits.topic_levels:
            raise PacketError(f"a topic of more than {limits.topic_levels} levels")

    def _subscribe(
        self, session: Session, packet_id: int, subscriptions: Iterator[tuple[str, int]]
    ) -> Iterator[int]:
        """Subscribe to one filter after the other; one with a wildcard is a turn's work."""
        codes = []
        for filter_, qos in subscriptions:
            codes.append(self._router.subscribe(session, filter_, qos))
            yield TURN if "+" in filter_ or "#" in filter_ else 1
        self._connection.send(write_suback(packet_id, codes))
        session.pump()

    def _unsubscribe(self, session: Session, packet_id: int, filters: Iterator[str]) -> Iterator[int]:
        for filter_ in filters:
            self._router.unsubscribe(session, filter_)
            yield 1
        self._connection.send(write_ack(Kind.UNSUBACK, packet_id))
