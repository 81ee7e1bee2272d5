"""The section `mqtt` of the configuration: which broker, and how to reach it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from .secrets import without_password
from .section import Section, SettingError
from .tls_files import check_tls_files
from .types import LARGEST_PORT, FilePath, Listen, Rate, SecretFile, levels_of_topic

MOST_BROKERS = 16
PORTS = {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}
"""The port of each scheme of a broker's URL where it names none."""
ENCRYPTED = frozenset({"mqtts", "wss"})
WEB_SOCKETS = frozenset({"ws", "wss"})


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int) else value


def _number_of(value: Any) -> str:
    return "[several]" if isinstance(value, list | tuple) else "[one]"


BrokerUrl = Annotated[str, Field(min_length=1, max_length=4096)]
Brokers = Annotated[
    Annotated[BrokerUrl, Tag("[one]")]
    | Annotated[list[BrokerUrl], Field(min_length=1, max_length=MOST_BROKERS), Tag("[several]")],
    Discriminator(_number_of),
]
Topic = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(levels_of_topic)]
Wait = Annotated[float, Field(strict=True, ge=0.01, le=3600)]


class MqttSettings(Section):
    """Which broker carries requests and reports, and how to reach it."""

    broker: Annotated[Brokers, Field(repr=False)] = "embedded"
    """`embedded` (inside the daemon), or `mqtt://[user:password@]host[:port]`, or `mqtts://…` for TLS, or
    `ws://…` and `wss://…` for WebSockets; or a list of such URLs: where one is gone, the next one is used."""
    listen: Listen = "127.0.0.1:1883"
    """Address and port of the embedded broker; an address of IPv6 in brackets."""
    base: Topic = "motiond"
    """First part of every topic: letters, digits, `_` and `-`, on levels apart by `/`."""
    username: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    """Name to log in with, where the URL holds none; the embedded broker asks for it."""
    password_file: SecretFile | None = None
    """File whose first line is the password, or `%d/NAME` for systemd's credential of that name; the embedded
    broker asks for that one."""
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
    """Longest wait before a new try to connect; with several brokers, to connect to the same one."""
    stop_when_lost_s: Annotated[float, Field(strict=True, ge=0.1, le=3600)] | None = 2.0
    """A motion stops softly once the broker has been away for so long; `null` plays on."""
    home_assistant: HomeAssistantSettings | None = None
    """Let Home Assistant find the robots; `{}` takes its defaults, `null` publishes nothing to it."""

    @property
    def url(self) -> str:
        """The broker; the first one where there are several."""
        return self.broker if isinstance(self.broker, str) else self.broker[0]

    def each(self) -> tuple[Self, ...]:
        """Return these settings once for each broker, in the order in which they are tried."""
        urls = [self.broker] if isinstance(self.broker, str) else self.broker
        return tuple(self.model_copy(update={"broker": url}) for url in urls)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.reconnect_min_s > self.reconnect_max_s:
            bounds = f"{self.reconnect_min_s:g} is more than reconnect_max_s, {self.reconnect_max_s:g}"
            raise SettingError("reconnect_min_s", f"reconnect_min_s of {bounds}; make it the smaller one")
        if self.idle_telemetry_hz is not None and self.idle_telemetry_hz > self.telemetry_hz:
            bounds = f"{self.idle_telemetry_hz:g} is more than telemetry_hz, {self.telemetry_hz:g}"
            raise SettingError("idle_telemetry_hz", f"idle_telemetry_hz of {bounds}; make it the smaller one")
        self._check_home_assistant()
        if self.broker == "embedded":
            self._check_embedded()
        else:
            self._check_remote()
        return self

    def _check_home_assistant(self) -> None:
        if self.home_assistant is None:
            return
        for option in ("prefix", "status_topic"):
            topic = getattr(self.home_assistant, option)
            if f"{topic}/".startswith(f"{self.base}/"):
                problem = f"'{topic}' lies below mqtt.base, '{self.base}'"
                reason = "a robot's topics would be mistaken for it"
                raise SettingError(f"home_assistant.{option}", f"{problem}; {reason}; rename one of them")

    def _check_embedded(self) -> None:
        if (self.username is None) != (self.password_file is None):
            given, other = ("username", "password_file") if self.username else ("password_file", "username")
            raise SettingError(given, f"'{given}' stands alone; a login needs name and password; add {other}")
        self._refuse({"ca_file", "cert_file", "key_file"}, "the embedded broker does not encrypt")
        if self.protocol != "3.1.1":
            self._refuse({"protocol"}, "the embedded broker speaks 3.1.1 only")

    def _check_remote(self) -> None:
        self._refuse({"listen"}, "only the embedded broker listens")
        schemes = self._check_urls()
        if not schemes & ENCRYPTED:
            one = next(iter(schemes))
            reason = (
                f"{one}:// does not encrypt; {one}s:// does" if len(schemes) == 1 else "no broker encrypts"
            )
            self._refuse({"ca_file", "cert_file", "key_file"}, reason)
        check_tls_files(self.ca_file, self.cert_file, self.key_file)

    def _check_urls(self) -> set[str]:
        """Return the schemes of the brokers' URLs, each of which must be one, and another than the others."""
        places: dict[tuple[str | int | None, ...], str] = {}
        for number, one in enumerate(self.each()):
            at = "broker" if isinstance(self.broker, str) else f"broker.{number}"
            shown = without_password(one.url)
            if one.url == "embedded":
                reason = "it ends with the daemon, and no other stands in for it"
                raise SettingError(at, f"'embedded' stands beside other brokers; {reason}; name it alone")
            if not _port_exists(one.url):
                raise SettingError(at, f"'{shown}' is no broker; ports are 1 to {LARGEST_PORT}; correct it")
            if not _is_broker_url(one.url):
                forms = "embedded, mqtt://…, mqtts://…, ws://… or wss://…"
                raise SettingError(at, f"'{shown}' is no broker; it must be {forms}; correct it")
            url = urlsplit(one.url)
            place = (url.scheme, url.hostname, url.port or PORTS[url.scheme], url.path.rstrip("/"))
            if place in places:
                problem = f"'{shown}' stands twice"
                raise SettingError(at, f"{problem}; one broker cannot stand in for itself; remove one")
            places[place] = url.scheme
        return set(places.values())

    def _refuse(self, keys: set[str], reason: str) -> None:
        for key in sorted(keys & self.model_fields_set):
            raise SettingError(key, f"'{key}' has no effect; {reason}; remove it")


def _port_exists(text: str) -> bool:
    """Return False where a URL of a broker ends its host with the number of no port."""
    found = re.match(r"(?:mqtt|ws)s?://[^/?#]*:([0-9]{1,20})(?:/|$)", text)
    return found is None or 0 < int(found[1]) <= LARGEST_PORT


def _is_broker_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        _ = url.port
        (url.hostname or "").encode("idna")
    except ValueError:
        return False
    has_path = url.scheme in WEB_SOCKETS and re.fullmatch(r"[!-~]*", url.path)
    plain = bool(url.hostname) and (has_path or url.path in {"", "/"}) and not (url.query or url.fragment)
    return url.scheme in PORTS and bool(plain)


class HomeAssistantSettings(Section):
    """Where Home Assistant looks for devices, as it is set there."""

    prefix: Topic = "homeassistant"
    """First part of the topics on which Home Assistant finds devices (its `discovery_prefix`)."""
    status_topic: Topic = "homeassistant/status"
    """Where Home Assistant says that it has started (its birth message)."""
