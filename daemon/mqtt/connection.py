"""Makes MQTT clients for the configured broker: address, login, TLS, and nothing left behind by a failure."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

import aiomqtt

if TYPE_CHECKING:
    from types import TracebackType

    import paho.mqtt.client as paho

    from ..config.mqtt import MqttSettings

TIMEOUT_S = 5.0
PORTS = {"mqtt": 1883, "mqtts": 8883}
QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)  # Linux has it
NO_DELAY = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the broker is; `str()` is safe to log."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


class Client(aiomqtt.Client):
    """An aiomqtt client that leaves nothing behind when it cannot connect, and that acknowledges at once."""

    _dialled: asyncio.Event

    async def __aenter__(self) -> Self:
        self._dialled = asyncio.Event()
        try:
            return await super().__aenter__()
        except BaseException:
            await self._hang_up()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave; a broker that hangs up first is no error that asyncio need print."""
        try:
            await super().__aexit__(kind, error, traceback)
        finally:
            if self._disconnected.done() and not self._disconnected.cancelled():
                self._disconnected.exception()

    def _client_connect(self) -> None:
        """Dial, in a thread."""
        try:
            super()._client_connect()
        finally:
            self._loop.call_soon_threadsafe(self._dialled.set)

    async def _hang_up(self) -> None:
        """Close a connection that was not accepted: aiomqtt leaves it open, and its thread dials on."""
        with suppress(aiomqtt.MqttError, TimeoutError):
            async with asyncio.timeout(TIMEOUT_S):
                await self._dialled.wait()
                if self._client.socket() is not None:
                    self._connected = asyncio.get_running_loop().create_future()
                    self._connected.set_result(None)
                    await self.__aexit__(None, None, None)

    def _on_publish(self, client: paho.Client, *details: Any) -> None:
        """Let TCP acknowledge the broker's acknowledgement without delay.

        Brokers leave Nagle's algorithm on (mosquitto's `set_tcp_nodelay` is false by default): what they
        send next would wait for it, up to 40 ms on Linux.
        """
        super()._on_publish(client, *details)
        connection = client.socket()
        if QUICK_ACK is not None and isinstance(connection, socket.socket):
            connection.setsockopt(socket.IPPROTO_TCP, QUICK_ACK, 1)


def address_of(settings: MqttSettings) -> Address:
    """Return the broker's address; the embedded one is reached on the loopback if it listens everywhere."""
    if settings.broker == "embedded":
        host, port = split_listen(settings.listen)
        return Address("mqtt", "127.0.0.1" if host == "0.0.0.0" else host, port)  # noqa: S104 # compared only
    url = urlsplit(settings.broker)
    return Address(url.scheme, url.hostname or "", url.port or PORTS[url.scheme])


def split_listen(listen: str) -> tuple[str, int]:
    """Split `host:port`."""
    host, _, port = listen.rpartition(":")
    return host, int(port)


def make_client(
    settings: MqttSettings, identifier: str | None = None, will: aiomqtt.Will | None = None
) -> Client:
    """Make a client for the configured broker; `async with` connects it.

    Parameters
    ----------
    identifier : str, optional
        The client's name at the broker; made up where there is none.
    will : aiomqtt.Will, optional
        What the broker publishes when the connection breaks.

    Raises
    ------
    OSError
        If the password file cannot be read.
    """
    address = address_of(settings)
    username, password = _login(settings)
    client = Client(
        address.host,
        address.port,
        username=username,
        password=password,
        identifier=identifier,
        protocol=_protocol(settings),
        will=will,
        timeout=TIMEOUT_S,
        keepalive=settings.keepalive_s,
        tls_params=_tls(settings) if address.scheme == "mqtts" else None,
        socket_options=NO_DELAY,
    )
    client.pending_calls_threshold = 1000  # many answers may wait for their acknowledgement at once
    return client


def speaks_5(settings: MqttSettings) -> bool:
    """Whether the connection will be MQTT 5; the embedded broker speaks 3.1.1 only."""
    return settings.protocol == "5" and settings.broker != "embedded"


def _protocol(settings: MqttSettings) -> aiomqtt.ProtocolVersion:
    return aiomqtt.ProtocolVersion.V5 if speaks_5(settings) else aiomqtt.ProtocolVersion.V311


def _login(settings: MqttSettings) -> tuple[str | None, str | None]:
    url = urlsplit(settings.broker)
    username = unquote(url.username) if url.username else settings.username
    if settings.password_file is not None:
        return username, settings.password_file.read_text("utf-8").partition("\n")[0]
    return username, unquote(url.password) if url.password else None


def _tls(settings: MqttSettings) -> aiomqtt.TLSParameters:
    files = (settings.ca_file, settings.cert_file, settings.key_file)
    ca_certs, certfile, keyfile = (None if file is None else str(file) for file in files)
    return aiomqtt.TLSParameters(ca_certs=ca_certs, certfile=certfile, keyfile=keyfile)
