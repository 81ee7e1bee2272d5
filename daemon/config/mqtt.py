"""The section `mqtt` of the configuration: which broker, and how to reach it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, model_validator

from .secrets import without_password
from .section import Section, SettingError
from .tls_files import check_tls_files
from .types import FilePath, Rate

LARGEST_PORT = 65535


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int) else value


Wait = Annotated[float, Field(strict=True, ge=0.01, le=3600)]


class MqttSettings(Section):
    """Which broker carries requests and reports, and how to reach it."""

    broker: Annotated[str, Field(min_length=1, max_length=4096, repr=False)] = "embedded"
    """`embedded` (inside the daemon), or `mqtt://[user:password@]host[:port]`, or `mqtts://…` for TLS."""
    listen: Annotated[str, Field(pattern=r"^[^\s:]+:[0-9]{1,5}$")] = "127.0.0.1:1883"
    """Address and port of the embedded broker."""
    base: Annotated[str, Field(min_length=1, max_length=200)] = "motiond"
    """First part of every topic."""
    username: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    """Name to log in with, where the URL holds none; the embedded broker asks for it."""
    password_file: FilePath | None = None
    """File whose first line is the password; the embedded broker asks for that one."""
    ca_file: FilePath | None = None
    """Certificates that the broker's is checked against; the system's by default."""
    cert_file: FilePath | None = None
    """Certificate to show to the broker."""
    key_file: FilePath | None = None
    """Private key of that certificate."""
    protocol: Annotated[
        Literal["5", "3.1.1"], BeforeValidator(_text, json_schema_input_type=Literal["5", "3.1.1", 5])
    ] = "5"
    """Version of MQTT; the embedded broker speaks 3.1.1 only."""
    telemetry_hz: Rate = 20.0
    """How often telemetry is published; 0: never."""
    idle_telemetry_hz: Rate | None = None
    """The same while no motion plays; 0: telemetry in motion only; `null`: as often as in motion."""
    keepalive_s: Annotated[int, Field(strict=True, ge=1, le=65535)] = 10
    """The broker says that the daemon is gone after one and a half times this."""
    reconnect_min_s: Wait = 0.5
    """First wait before a new try to connect; it doubles from try to try."""
    reconnect_max_s: Wait = 30.0
    """Longest wait before a new try to connect."""
    stop_when_lost_s: Annotated[float, Field(strict=True, ge=0.1, le=3600)] | None = 2.0
    """A motion stops softly once the broker has been away for so long; `null` plays on."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if re.search(r"[#+\x00]|^[/$]|/$", self.base):
            raise SettingError(
                "base", f"'{self.base}' cannot begin a topic; # + $ and / at its ends cannot; rename it"
            )
        if self.reconnect_min_s > self.reconnect_max_s:
            bounds = f"{self.reconnect_min_s:g} is more than reconnect_max_s, {self.reconnect_max_s:g}"
            raise SettingError("reconnect_min_s", f"reconnect_min_s of {bounds}; make it the smaller one")
        if self.idle_telemetry_hz is not None and self.idle_telemetry_hz > self.telemetry_hz:
            bounds = f"{self.idle_telemetry_hz:g} is more than telemetry_hz, {self.telemetry_hz:g}"
            raise SettingError("idle_telemetry_hz", f"idle_telemetry_hz of {bounds}; make it the smaller one")
        if self.broker == "embedded":
            self._check_embedded()
        else:
            self._check_remote()
        return self

    def _check_embedded(self) -> None:
        if (self.username is None) != (self.password_file is None):
            given, other = ("username", "password_file") if self.username else ("password_file", "username")
            raise SettingError(given, f"'{given}' stands alone; a login needs name and password; add {other}")
        port = int(self.listen.rpartition(":")[2])
        if not 0 < port <= LARGEST_PORT:
            why = f"its port is {port}; there are 1 to {LARGEST_PORT}"
            raise SettingError("listen", f"'{self.listen}' cannot be listened to; {why}; correct it")
        self._refuse({"ca_file", "cert_file", "key_file"}, "the embedded broker does not encrypt")
        if self.protocol != "3.1.1":
            self._refuse({"protocol"}, "the embedded broker speaks 3.1.1 only")

    def _check_remote(self) -> None:
        self._refuse({"listen"}, "only the embedded broker listens")
        if not _is_broker_url(self.broker):
            forms = "embedded, mqtt://… or mqtts://…"
            shown = without_password(self.broker)
            raise SettingError("broker", f"'{shown}' is no broker; it must be {forms}; correct it")
        if self.broker.startswith("mqtt://"):
            self._refuse({"ca_file", "cert_file", "key_file"}, "mqtt:// does not encrypt; mqtts:// does")
        if (self.cert_file is None) != (self.key_file is None):
            given, other = ("cert_file", "key_file") if self.cert_file else ("key_file", "cert_file")
            raise SettingError(given, f"'{given}' stands alone; a certificate needs its key; add {other}")
        check_tls_files(self.ca_file, self.cert_file, self.key_file)

    def _refuse(self, keys: set[str], why: str) -> None:
        for key in sorted(keys & self.model_fields_set):
            raise SettingError(key, f"'{key}' has no effect; {why}; remove it")


def _is_broker_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        port_is_fine = url.port is None or url.port > 0
        (url.hostname or "").encode("idna")
    except ValueError:
        return False
    plain = bool(url.hostname) and url.path in {"", "/"} and not (url.query or url.fragment)
    return url.scheme in {"mqtt", "mqtts"} and plain and port_is_fine
