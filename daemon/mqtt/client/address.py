"""Where the configured broker is, and how to log in there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from ...config.mqtt import PORTS, WEB_SOCKETS
from ...config.secrets import NoCredential, secret_file
from ...config.types import place, reached_at, split_place
from .reasons import NotConnected

if TYPE_CHECKING:
    from pathlib import Path

    from ...config.mqtt import MqttSettings

MOST_PASSWORD_BYTES = 1024
MQTT_PATH = "/mqtt"
"""The path of a WebSocket where the URL names none, as brokers and clients have it."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the broker is; `str()` is safe to log."""

    scheme: str
    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{place(self.host, self.port)}{self.path}"


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


def speaks_5(settings: MqttSettings) -> bool:
    """Whether the connection will be MQTT 5; the embedded broker speaks 3.1.1 only."""
    return settings.protocol == "5" and settings.broker != "embedded"


def login_of(settings: MqttSettings) -> tuple[str | None, str | None]:
    """Return the name and the password to log in with."""
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
