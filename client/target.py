"""Which daemon is asked, and how it is reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from pathlib import Path

PORTS = {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}
"""The port of each scheme of a broker's URL where it names none."""
ENCRYPTED = frozenset({"mqtts", "wss"})
WEB_SOCKETS = frozenset({"ws", "wss"})
MQTT_PATH = "/mqtt"
"""The path of a WebSocket where the URL names none, as brokers and clients have it."""
DEFAULT_URL = "mqtt://127.0.0.1:1883"


@dataclass(frozen=True, slots=True)
class Broker:
    """How a broker is reached.

    Attributes
    ----------
    url : str
        `mqtt[s]://[user:password@]host[:port]` or `ws[s]://…`.
    base : str
        The first part of every topic, as the daemon's `mqtt.base`.
    username, password : str or None
        The login, where the URL holds none.
    password_file : Path or None
        Its first line is the password; read anew for each connection.
    ca_file, cert_file, key_file : Path or None
        Certificates that the broker's is checked against, and the client's own certificate with its key.
    protocol : {'5', '3.1.1'}
        The version of MQTT; every broker speaks 3.1.1.
    """

    url: str = field(default=DEFAULT_URL, repr=False)
    base: str = "motiond"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    password_file: Path | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    protocol: Literal["5", "3.1.1"] = "3.1.1"

    @property
    def scheme(self) -> str:
        """`mqtt`, `mqtts`, `ws` or `wss`."""
        return urlsplit(self.url).scheme

    @property
    def host(self) -> str:
        """The name or the address of its machine."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """The port, that of the scheme where the URL names none."""
        return urlsplit(self.url).port or PORTS[self.scheme]

    @property
    def path(self) -> str:
        """The path of its WebSocket; '' for any other connection."""
        path = urlsplit(self.url).path
        return (path if path not in {"", "/"} else MQTT_PATH) if self.scheme in WEB_SOCKETS else ""

    @property
    def login(self) -> tuple[str | None, str | None]:
        """The name and the password to log in with.

        Raises
        ------
        OSError
            If the password file cannot be read.
        """
        url = urlsplit(self.url)
        username = unquote(url.username) if url.username else self.username
        if url.password:
            return username, unquote(url.password)
        if self.password_file is not None:
            return username, self.password_file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
        return username, self.password

    def __str__(self) -> str:
        """Return the address, without login."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"
