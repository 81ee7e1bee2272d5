"""Why there is no connection to the broker, in words: what was met there, and how to fix it."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

import aiomqtt
from paho.mqtt.client import WebsocketConnectionError

from motiond.tls import why_distrusted

from ...config.mqtt import ENCRYPTED

if TYPE_CHECKING:
    from ...config.mqtt import MqttSettings

# Reason codes of MQTT 5.0, 2.4; paho gives those of 3.1.1 by these too.
PROTOCOL_REFUSED, NAME_REFUSED, BAD_LOGIN, NOT_AUTHORIZED, TAKEN_OVER = 0x84, 0x85, 0x86, 0x87, 0x8E
PACKET_TOO_LARGE, NO_RETAIN, NO_QOS = 0x95, 0x9A, 0x9B
# What paho makes of a connection that broke without a word (its own error, and "unspecified"), a broker that
# shuts down, and one that was silent.
LOST = (7, 0x80, 0x8B, 0x8D)

ANOTHER_OF_OUR_NAME = "another client has connected under the same name; give each daemon an `id` of its own"
GONE = "the broker has hung up or gone, or the network has; it is looked for until it is back"

NEEDS_RETAINED = "motiond needs retained messages; allow them there (mosquitto: retain_available true)"
NO_RETAINED_WILL = f"the broker takes connections, but hangs up on one with a retained will; {NEEDS_RETAINED}"

_WANTS_CERTIFICATE = ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE")


class ConnectionUseless(aiomqtt.MqttError):
    """The broker is there, and what the daemon needs of it is not; `str()` is what, why and how to fix it."""


class NotConnected(aiomqtt.MqttError):
    """A connection could not be made; `str()` is why, and how to fix it.

    Attributes
    ----------
    absent : bool
        Whether nobody was reached, so that it may succeed later without being fixed.
    hung_up : bool
        Whether the other end closed the connection without an answer.
    """

    def __init__(self, reason: str, *, absent: bool = False, hung_up: bool = False) -> None:
        super().__init__(reason)
        self.absent = absent
        self.hung_up = hung_up


class TlsFilesUnusable(OSError):
    """Certificates or keys could be used when the daemon started, and can be used no more."""


class HungUp(aiomqtt.MqttError):
    """The other end closed the connection before it had accepted or refused it."""


def not_connected(error: BaseException, settings: MqttSettings, identifier: str | None) -> NotConnected:
    """Return why a connection could not be made."""
    if isinstance(error, aiomqtt.MqttCodeError):
        code = getattr(error.rc, "value", error.rc)
        return NotConnected(_refusal(code, str(error.rc), settings, identifier))
    if isinstance(error, HungUp):
        reason = f"the broker hung up before it answered; {_what_it_may_want(settings)}"
        return NotConnected(reason, hung_up=True)
    if isinstance(error, TlsFilesUnusable):
        hint = "correct mqtt.ca_file, mqtt.cert_file and mqtt.key_file"
        return NotConnected(f"certificates and keys can no longer be used ({error}); {hint}")
    if not isinstance(error, OSError):
        return NotConnected(str(error))
    disagreement = _no_agreement(error, settings)
    return NotConnected(disagreement or _out_of_reach(error, settings), absent=not disagreement)


def reason_of(error: BaseException | None) -> str:
    """Return why a connection that was there has broken."""
    if isinstance(error, NotConnected | ConnectionUseless):
        return str(error)
    cause = error and (error.__cause__ or error)
    if isinstance(cause, OSError):
        return GONE
    if not isinstance(cause, aiomqtt.MqttCodeError):
        return f"the broker does not answer ({str(cause).lower()}); look at it"
    code = getattr(cause.rc, "value", cause.rc)
    if code == TAKEN_OVER:
        return ANOTHER_OF_OUR_NAME
    return GONE if code in LOST else f"the broker has ended it ({str(cause.rc).lower()}); see its log"


def is_absence(error: BaseException | None) -> bool:
    """Whether a connection was lost or not made because nobody is there."""
    return error.absent if isinstance(error, NotConnected) else reason_of(error) == GONE


def _refusal(code: object, text: str, settings: MqttSettings, identifier: str | None) -> str:
    """Return what the broker's refusal means here."""
    has_login = settings.username is not None or "@" in settings.url
    if code in (BAD_LOGIN, NOT_AUTHORIZED) and has_login:
        return "the broker refuses the login; correct mqtt.username, and its password"
    if code in (BAD_LOGIN, NOT_AUTHORIZED):
        return "the broker asks for a login; set mqtt.username and mqtt.password_file"
    if code == PROTOCOL_REFUSED:
        other = "3.1.1" if settings.protocol == "5" else "5"
        return f"the broker does not speak MQTT {settings.protocol}; set mqtt.protocol to {other}"
    if code == NAME_REFUSED:
        return f"the broker refuses the client id '{identifier}'; permit it there, or set another `id`"
    lacks: dict[object, str] = {
        NO_RETAIN: f"the broker keeps no retained messages; {NEEDS_RETAINED}",
        NO_QOS: "the broker takes no QoS 1; motiond needs it for its last will; allow it there",
    }
    return lacks.get(code, f"the broker refuses the connection ({text.lower()}); see its log")


def _scheme(settings: MqttSettings) -> str:
    return "mqtt" if settings.broker == "embedded" else settings.url.partition("://")[0]


def _encrypts(settings: MqttSettings) -> bool:
    return _scheme(settings) in ENCRYPTED


def _what_it_may_want(settings: MqttSettings) -> str:
    if not _encrypts(settings):
        return f"it may want TLS on this port, then write {_scheme(settings)}s://; else see its log"
    if settings.cert_file is None:
        return "it may want a certificate, then set mqtt.cert_file and mqtt.key_file; else see its log"
    return "see its log"


def _no_agreement(error: OSError, settings: MqttSettings) -> str:
    """Return on what there was no agreement; '' where nobody was reached."""
    if isinstance(error, WebsocketConnectionError):
        reason = "nobody speaks WebSocket there, or not on this path"
        plain = "mqtts" if _encrypts(settings) else "mqtt"
        return f"{reason}; correct port and path in mqtt.broker, or write {plain}://"
    if _encrypts(settings) and isinstance(error, ssl.SSLError | ConnectionResetError | BrokenPipeError):
        return _trouble_with_tls(error, settings)
    return ""


def _trouble_with_tls(error: OSError, settings: MqttSettings) -> str:
    """Return what failed while a connection was to be encrypted."""
    if isinstance(error, ssl.SSLCertVerificationError):
        is_set = settings.ca_file is not None
        return (
            f"the broker's certificate {why_distrusted(error, 'mqtt.broker', 'mqtt.ca_file', is_set=is_set)}"
        )
    reason = (error.reason if isinstance(error, ssl.SSLError) else "") or ""
    if any(part in reason for part in _WANTS_CERTIFICATE) and settings.cert_file is None:
        return "the broker asks for a client certificate; set mqtt.cert_file and mqtt.key_file"
    if "ALERT" in reason and "VERSION" not in reason:
        alert = reason.partition("ALERT_")[2].lower().replace("_", " ")
        return f"the broker refuses our certificate ({alert}); check mqtt.cert_file"
    plain = _scheme(settings).removesuffix("s")
    return f"there is no TLS on this port; write {plain}://, or name the port for TLS"


def _out_of_reach(error: OSError, settings: MqttSettings) -> str:
    """Return what the system found on the way to the broker."""
    hint = "correct mqtt.broker, or look at the network"
    if isinstance(error, ConnectionRefusedError):
        if settings.broker == "embedded":
            return "nobody listens there; start the daemon with `motiond run`"
        return "nobody listens there; start the broker, or correct mqtt.broker"
    if isinstance(error, socket.gaierror):
        return "the host's name cannot be found; correct mqtt.broker, or look at the name service"
    if isinstance(error, TimeoutError) or error.strerror is None:
        return f"nobody answers there; {hint}"
    return f"it cannot be reached ({error.strerror.lower()}); {hint}"
