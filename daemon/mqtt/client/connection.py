"""Makes MQTT clients for the configured broker: address, login, TLS, and nothing left behind by a failure."""

from __future__ import annotations

import asyncio
import logging
import select
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self
from urllib.parse import unquote, urlsplit

import aiomqtt
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from ...config.listening import place, reached_at, split_place
from ...config.mqtt import ENCRYPTED, PORTS, WEB_SOCKETS
from ...config.secrets import NoCredential, secret_file
from .attempt import Attempt
from .packet_limit import PacketLimit
from .reasons import HungUp, NotConnected, TlsFilesUnusable, not_connected
from .sending import SendingClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    import paho.mqtt.client as paho

    from ...config.mqtt import MqttSettings

log = logging.getLogger(__name__)

TIMEOUT_S = 5.0
FORGET_WITHIN_S = 1.0
PACKETS_AT_ONCE = 50
MOST_IN_FLIGHT = 64  # messages that the broker sends before it waits for acknowledgements (MQTT 5)
MOST_PACKET_BYTES = 262_144
MOST_PASSWORD_BYTES = 1024
MQTT_PATH = "/mqtt"
"""The path of a WebSocket where the URL names none, as brokers and clients have it."""
NO_DELAY = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)
# What waits for us waits in our own broker, which queues by publisher, and not in the system behind a flood.
LITTLE_READ_AHEAD = ((socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384),)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the broker is; `str()` is safe to log.

    Attributes
    ----------
    scheme, host, port : str, str, int
    path : str
        Of a WebSocket; '' for any other connection.
    """

    scheme: str
    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{place(self.host, self.port)}{self.path}"


class Client(SendingClient):
    """A client that leaves nothing behind when it cannot connect, and that acknowledges at once.

    It may be connected again and again; one with a session delivers what was cut off before, as MQTT says.

    Parameters
    ----------
    settings : MqttSettings
    receive : callable or None
        Takes each message as it arrives; None lets them wait in `messages`.
    session_s : int
        How long the broker keeps the session when the connection has broken (MQTT 5), in s; 0 keeps none.
    limit : PacketLimit, optional
        Of the broker, where several connections share it.
    **options : object
        As of aiomqtt's client.
    """

    _dialled: asyncio.Event
    _is_dialling = _is_given_up = False

    def __init__(
        self,
        settings: MqttSettings,
        receive: Callable[[aiomqtt.Message], None] | None = None,
        session_s: int = 0,
        *,
        limit: PacketLimit | None = None,
        **options: Any,
    ) -> None:
        address, v5 = address_of(settings), speaks_5(settings)
        self._attempt = Attempt()
        super().__init__(
            limit or PacketLimit(),
            v5=v5,
            hostname=address.host,
            port=address.port,
            properties=_connect_properties(session_s) if v5 else None,
            logger=self._attempt.logger(log),
            **options,
        )
        self._settings = settings
        self._loop_thread = threading.get_ident()
        self._receive = receive
        self._keeps_session = session_s > 0
        self._was_connected = False
        for step in ("_create_socket_connection", "_ssl_wrap_socket"):
            setattr(self._client, step, self._attempt.noted(getattr(self._client, step)))

    @property
    def broker_certificate(self) -> bytes | None:
        """The certificate that the broker has shown, in DER."""
        return self._attempt.certificate

    async def __aenter__(self) -> Self:
        """Connect; the login is read anew each time.

        Raises
        ------
        aiomqtt.MqttError
            If there is no connection, as `NotConnected`, which says why; or if it breaks at once.
        """
        self._client.username_pw_set(*_login(self._settings))
        first = not self._was_connected
        if self._keeps_session and first and not self.version_5:
            # MQTT 3.1.1 can only end a session that an earlier process left by beginning a clean one.
            await self._enter(clean=True)
            await self.__aexit__(None, None, None)
            self._was_connected = True
        client = await self._enter(clean=not self._keeps_session or (first and self.version_5))
        self._was_connected = True
        return client

    async def _enter(self, *, clean: bool) -> Self:
        loop = asyncio.get_running_loop()
        self._dialled, self._is_dialling, self._is_given_up = asyncio.Event(), False, False
        self._connected, self._disconnected = loop.create_future(), loop.create_future()
        disconnected = self._disconnected
        if self.version_5:
            self._clean_start = clean
        else:
            self._client._clean_session = clean  # noqa: SLF001 # paho takes it but when it is made
        self._attempt.begin()
        try:
            client = await super().__aenter__()
        except aiomqtt.MqttError as error:
            await self._hang_up()
            raise not_connected(self._attempt.reason(error), self._settings, self.identifier) from error
        except BaseException:
            await self._hang_up()
            raise
        if disconnected.done():  # it broke as soon as it was made, which aiomqtt forgets
            self._disconnected = disconnected
            self._note_loss()
            await self.__aexit__(None, None, None)
            await self.broken()
        if self._receive is not None and (connection := self._client.socket()) is not None:
            self._loop.add_reader(connection, self._read)  # in place of aiomqtt's
        return client

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave; a broker that hangs up first is no error that asyncio need print.

        After an error it is left without a word, so that the broker publishes the will.
        """
        if kind is not None and not issubclass(kind, asyncio.CancelledError):
            self._note_loss()
            self._break_off()
        try:
            await super().__aexit__(kind, error, traceback)
        finally:
            self._refusals.tell()
            if self._disconnected.done() and not self._disconnected.cancelled():
                self._disconnected.exception()

    def _break_off(self) -> None:
        """Close the connection as if it had broken."""
        if self._client.socket() is not None:
            lost = MQTTErrorCode.MQTT_ERR_CONN_LOST
            self._client._loop_rc_handle(lost)  # noqa: SLF001 # as paho does where it notices that itself

    def _client_connect(self) -> None:
        """Dial, in a thread, unless it was given up before the thread began."""
        self._is_dialling = True
        try:
            if not self._is_given_up:
                with self._attempt.dialling():
                    super()._client_connect()
        finally:
            self._loop.call_soon_threadsafe(self._dialled.set)

    def _set_tls_params(self) -> None:
        """Read certificates and keys, which may have changed since the daemon was started."""
        try:
            super()._set_tls_params()
        except OSError as error:
            raise TlsFilesUnusable(str(error)) from error
        if self._client._ssl_context is not None:  # noqa: SLF001 # paho wraps the socket by it
            self._client._ssl_context.sslsocket_class = self._attempt.socket_class()  # noqa: SLF001

    def _on_disconnect(self, client: paho.Client, *details: Any) -> None:
        """Notice also a broker that closes the connection without a word: aiomqtt would wait for one."""
        connected = self._connected  # of this attempt; by the time, there may be another
        if not connected.cancelled():  # by who gave it up: aiomqtt would fail over that
            super()._on_disconnect(client, *details)
        self._loop.call_soon_threadsafe(_give_up, connected)

    async def _hang_up(self) -> None:
        """Close a connection that was not accepted: aiomqtt leaves it open, and its thread dials on."""
        self._is_given_up = True
        if not self._is_dialling:  # nor will it: a thread that begins now finds that it is given up
            return
        with suppress(aiomqtt.MqttError, TimeoutError):
            async with asyncio.timeout(TIMEOUT_S):
                await self._dialled.wait()
                if self._client.socket() is not None:
                    self._connected = asyncio.get_running_loop().create_future()
                    self._connected.set_result(None)
                    await self.__aexit__(None, None, None)

    def _on_message(self, client: paho.Client, userdata: Any, message: paho.MQTTMessage) -> None:
        """Hand a message over as it arrives; what fails at it must not end the connection."""
        if self._receive is None:
            super()._on_message(client, userdata, message)
            return
        try:
            self._receive(aiomqtt.Message._from_paho_message(message))  # noqa: SLF001 # it makes them so itself
        except Exception:
            log.exception("a message of %d bytes was left out", len(message.payload))

    def _read(self) -> None:
        """Read what has come, as aiomqtt does, but many packets at a time.

        One in each turn of the event loop would fall behind where each turn has much to do.
        """
        connection = self._client.socket()
        try:
            for _ in range(PACKETS_AT_ONCE):
                self._client.loop_read()
                gone = connection is None or self._client.socket() is not connection
                if gone or not _has_more(connection):
                    break
        except Exception as error:  # noqa: BLE001 # whatever it is, the connection has broken
            if not self._disconnected.done():
                self._disconnected.set_exception(error)

    async def broken(self) -> NoReturn:
        """Wait until the connection breaks.

        Raises
        ------
        aiomqtt.MqttError
            Then.
        """
        await asyncio.wait((self._disconnected,))
        raise aiomqtt.MqttError("the connection broke") from self._disconnected.exception()

    def _on_socket_close(self, client: paho.Client, userdata: Any, sock: Any) -> None:
        """Let the loop forget a socket before paho closes it: in its own thread, as paho dials in another."""
        if threading.get_ident() == self._loop_thread:
            super()._on_socket_close(client, userdata, sock)
            return
        forgotten = threading.Event()

        def forget() -> None:
            super(Client, self)._on_socket_close(client, userdata, sock)
            forgotten.set()

        self._loop.call_soon_threadsafe(forget)
        forgotten.wait(FORGET_WITHIN_S)  # a loop that ends forgets all of them

    def _on_socket_register_write(self, client: paho.Client, _userdata: Any, sock: Any) -> None:
        """Have the loop write as soon as there is room."""
        self._loop.call_soon_threadsafe(self._write_soon, client, sock)

    def _write_soon(self, client: paho.Client, sock: Any) -> None:
        """Do so, as aiomqtt does, unless the socket has been closed since: paho dials in a thread."""

        def write() -> None:
            try:
                client.loop_write()
            except Exception as error:  # noqa: BLE001 # whatever it is, the connection has broken
                if not self._disconnected.done():
                    self._disconnected.set_exception(error)

        # paho may have written all by itself meanwhile, as after a CONNACK; nothing would end it then.
        if sock.fileno() >= 0 and client.want_write():
            self._loop.add_writer(sock, write)

    def _on_subscribe(self, client: paho.Client, userdata: Any, mid: int, *told: Any) -> None:
        """Take what was granted; aiomqtt would log a traceback where nobody waits for it any more."""
        if mid in self._pending_subscribes:
            super()._on_subscribe(client, userdata, mid, *told)

    def _on_unsubscribe(self, client: paho.Client, userdata: Any, mid: int, *told: Any) -> None:
        """Take the confirmation, in the same way."""
        if mid in self._pending_unsubscribes:
            super()._on_unsubscribe(client, userdata, mid, *told)


def _give_up(connected: asyncio.Future[None]) -> None:
    """Tell whoever waits for a connection, and it may be nobody, that the broker has hung up."""
    if not connected.done():
        connected.set_exception(HungUp())
        connected.exception()


def address_of(settings: MqttSettings) -> Address:
    """Return the broker's address, that of the first of several.

    The embedded one is reached on the loopback if it listens everywhere.
    """
    if settings.broker == "embedded":
        host, port = split_place(settings.listen)
        return Address("mqtt", reached_at(host), port)
    url = urlsplit(settings.url)
    path = (url.path if url.path not in {"", "/"} else MQTT_PATH) if url.scheme in WEB_SOCKETS else ""
    return Address(url.scheme, url.hostname or "", url.port or PORTS[url.scheme], path)


def make_client(
    settings: MqttSettings,
    identifier: str | None = None,
    will: aiomqtt.Will | None = None,
    *,
    receive: Callable[[aiomqtt.Message], None] | None = None,
    session_s: int = 0,
    limit: PacketLimit | None = None,
) -> Client:
    """Make a client for the configured broker, the first of several; `async with` connects it.

    Parameters
    ----------
    identifier : str, optional
        The client's name at the broker; made up where there is none.
    will : aiomqtt.Will, optional
        What the broker publishes when the connection breaks.
    receive, session_s, limit
        As of `Client`.
    """
    address = address_of(settings)
    client = Client(
        settings,
        receive,
        session_s,
        limit=limit,
        identifier=identifier,
        protocol=_protocol(settings),
        clean_session=None if speaks_5(settings) else not session_s,
        will=will,
        timeout=TIMEOUT_S,
        keepalive=settings.keepalive_s,
        tls_params=_tls(settings) if address.scheme in ENCRYPTED else None,
        transport="websockets" if address.scheme in WEB_SOCKETS else "tcp",
        websocket_path=address.path or None,
        socket_options=NO_DELAY + (LITTLE_READ_AHEAD if settings.broker == "embedded" else ()),
    )
    client.pending_calls_threshold = 1000  # many answers may wait for their acknowledgement at once
    return client


def _connect_properties(session_s: int) -> Properties:
    """Return what the broker is told of us and our session (MQTT 5)."""
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call] # paho's is untyped
    properties.ReceiveMaximum = MOST_IN_FLIGHT
    properties.MaximumPacketSize = MOST_PACKET_BYTES
    properties.SessionExpiryInterval = session_s
    return properties


def _has_more(connection: Any) -> bool:
    """Whether there is more to read, from the system or from what TLS has decoded already."""
    decoded = getattr(connection, "pending", None)
    if decoded is not None and decoded():
        return True
    poller = select.poll()  # `select` knows descriptors up to 1023 only
    poller.register(connection, select.POLLIN)
    return bool(poller.poll(0))


def speaks_5(settings: MqttSettings) -> bool:
    """Whether the connection will be MQTT 5; the embedded broker speaks 3.1.1 only."""
    return settings.protocol == "5" and settings.broker != "embedded"


def _protocol(settings: MqttSettings) -> aiomqtt.ProtocolVersion:
    return aiomqtt.ProtocolVersion.V5 if speaks_5(settings) else aiomqtt.ProtocolVersion.V311


def _login(settings: MqttSettings) -> tuple[str | None, str | None]:
    """Return the name and the password to log in with.

    Raises
    ------
    NotConnected
        If the password file cannot be read.
    """
    url = urlsplit(settings.url)
    username = unquote(url.username) if url.username else settings.username
    if settings.password_file is None:
        return username, unquote(url.password) if url.password else None
    return username, _password(settings.password_file)


def _password(path: Path) -> str:
    """Return the first line of the password file."""
    try:
        file = secret_file(path)
        if not file.is_file():  # a pipe would hold up the daemon
            raise NotConnected(f"{path}: no such file; write the password there")
        with file.open("rb") as opened:
            return opened.readline(MOST_PASSWORD_BYTES).rstrip(b"\r\n").decode()
    except NoCredential as error:
        raise NotConnected(f"{path}: {error.strerror}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NotConnected(f"{path}: cannot be read; {reason}; let motiond's user read it") from error
    except UnicodeDecodeError as error:
        raise NotConnected(f"{path}: the password is not UTF-8; save it as UTF-8") from error


def _tls(settings: MqttSettings) -> aiomqtt.TLSParameters:
    files = (settings.ca_file, settings.cert_file, settings.key_file)
    ca_certs, certfile, keyfile = (None if file is None else str(file) for file in files)
    return aiomqtt.TLSParameters(ca_certs=ca_certs, certfile=certfile, keyfile=keyfile)
