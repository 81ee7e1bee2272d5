"""What an attempt to connect to the broker meets on the way, and what that means for its failure."""

from __future__ import annotations

import logging
import socket
import ssl
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

import aiomqtt
from paho.mqtt.client import WebsocketConnectionError

from .reasons import HungUp, TlsFilesUnusable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...config.mqtt import MqttSettings


class Attempt:
    """One connection's present attempt, noted in the thread that dials as well as in the loop's."""

    def __init__(self) -> None:
        self.certificate: bytes | None = None
        self._error: Exception | None = None  # the latest of the system or TLS
        self._encrypted = False

    def begin(self) -> None:
        """Forget the attempt before."""
        self._error, self._encrypted, self.certificate = None, False, None

    @contextmanager
    def dialling(self) -> Iterator[None]:
        """Keep why dialling fails, and leave no socket open then."""
        try:
            yield
        except (OSError, WebsocketConnectionError) as error:
            self._error = error
            _close_sockets_of(error)
            raise
        except (ValueError, IndexError) as error:  # of paho, at an answer that is not that of a WebSocket
            self._error = WebsocketConnectionError("no WebSocket")
            _close_sockets_of(error)
            raise self._error from error

    def tls_context(self) -> ssl.SSLContext:
        """Return a context whose sockets note that TLS has been agreed on, and the broker's certificate."""
        attempt = self

        class NotingSocket(ssl.SSLSocket):
            def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 # the base class's own
                super().do_handshake(block)
                attempt.note_handshake(self.getpeercert(binary_form=True))

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.sslsocket_class = NotingSocket
        return context

    def note_handshake(self, certificate: bytes | None) -> None:
        """Note that TLS has been agreed on."""
        self._encrypted, self.certificate = True, certificate

    def logger(self, parent: logging.Logger) -> logging.Logger:
        """Return a logger for paho: it keeps the errors of the system, and passes on other warnings.

        Paho logs each packet at DEBUG, which says nothing of the robots.
        """

        def keep(record: logging.LogRecord) -> bool:
            args = record.args if isinstance(record.args, tuple) else ()
            error = next((arg for arg in args if isinstance(arg, OSError)), None)
            self._error = error or self._error
            return error is None

        logger = logging.Logger(parent.name)  # noqa: LOG001 # of this connection alone
        logger.parent = parent
        logger.setLevel(logging.WARNING)
        logger.addFilter(keep)
        return logger

    def reason(self, error: BaseException) -> BaseException:
        """Return why there is no connection: `error`, or what is known better."""
        known = error if isinstance(error, aiomqtt.MqttCodeError) else self._error
        if isinstance(error, HungUp) and not isinstance(known, ssl.SSLError):
            return error
        if isinstance(known, WebsocketConnectionError):
            return known  # TLS, where there is any, was agreed on
        if self._encrypted and isinstance(known, OSError) and not _is_alert(known):
            return HungUp()  # there is TLS on the port, so that is not what was wrong
        return known or TimeoutError()


def load_certificates(context: ssl.SSLContext, settings: MqttSettings) -> None:
    """Read certificates and keys, which may have changed since the last time."""
    try:
        if settings.ca_file is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(settings.ca_file)
        if settings.cert_file is not None:
            context.load_cert_chain(settings.cert_file, settings.key_file)
    except OSError as error:
        raise TlsFilesUnusable(str(error)) from error


def _close_sockets_of(error: BaseException) -> None:
    """Close the sockets of a call that has failed, which paho leaves open."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for value in frame.f_locals.values():
            if isinstance(value, socket.socket):
                value.close()


def _is_alert(error: OSError) -> bool:
    """Whether the other end has sent why it refuses to go on (RFC 8446, 6)."""
    return isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or "")
