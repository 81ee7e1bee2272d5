"""What an attempt to connect to the broker meets on the way, and what that says of its failure."""

from __future__ import annotations

import logging
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import aiomqtt
from paho.mqtt.client import WebsocketConnectionError

from .reasons import HungUp

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator


class _TidySocket(ssl.SSLSocket):
    """A socket that a failed handshake closes; paho would leave it open."""

    def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 # the base class's own
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


class Attempt:
    """What is known of one client's present attempt, noted in paho's thread as well as in the loop's.

    Attributes
    ----------
    certificate : bytes or None
        What the other end has shown, in DER.
    """

    def __init__(self) -> None:
        self._trouble: Exception | None = None  # what the system or TLS has said last
        self._encrypted = False
        self._socket: socket.socket | None = None
        self.certificate: bytes | None = None

    def begin(self) -> None:
        """Forget what the attempt before has met."""
        self._trouble, self._encrypted, self.certificate = None, False, None

    # -- what notes it --------------------------------------------------------------------------------------

    def noted(self, make: Callable[..., socket.socket]) -> Callable[..., socket.socket]:
        """Note what paho dials by, as it forgets it where it then meets no WebSocket."""

        def noting(*given: Any) -> socket.socket:
            self._socket = make(*given)
            return self._socket

        return noting

    @contextmanager
    def dialling(self) -> Iterator[None]:
        """Note why dialling fails, and leave no socket open then."""
        try:
            yield
        except OSError as error:
            self._fail(error)
            raise
        except (ValueError, IndexError) as error:  # paho cannot read an answer that is no WebSocket's
            trouble = WebsocketConnectionError("no WebSocket")
            self._fail(trouble)
            raise trouble from error

    def _fail(self, trouble: Exception) -> None:
        self._trouble = trouble
        if self._socket is not None:
            self._socket.close()

    def socket_class(self) -> type[_TidySocket]:
        """Return a kind of socket that notes when TLS has been agreed on."""
        attempt = self

        class Noting(_TidySocket):
            def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 # the base class's own
                super().do_handshake(block)
                attempt._encrypted = True  # of the class around
                attempt.certificate = self.getpeercert(binary_form=True)

        return Noting

    def logger(self, parent: logging.Logger) -> logging.Logger:
        """Return a logger that keeps what paho has met, as it tells nobody else, and passes on the rest."""

        def keep(record: logging.LogRecord) -> bool:
            met = next((one for one in _arguments(record) if isinstance(one, OSError)), None)
            self._trouble = met or self._trouble
            return met is None

        logger = logging.Logger(parent.name)  # noqa: LOG001 # of this client alone
        logger.parent = parent
        logger.addFilter(keep)
        return logger

    # -- what it tells --------------------------------------------------------------------------------------

    def reason(self, error: aiomqtt.MqttError) -> Exception:
        """Return why there is no connection: `error`, or whatever is known better."""
        met = error if isinstance(error, aiomqtt.MqttCodeError) else self._trouble
        if isinstance(error, HungUp) and not isinstance(met, ssl.SSLError):
            met = error
        elif isinstance(met, WebsocketConnectionError):
            pass  # TLS, where there is any, was agreed on
        elif self._encrypted and isinstance(met, OSError) and not _is_alert(met):
            met = HungUp()  # there is TLS on the port, so that is not what was wrong
        return met or TimeoutError()


def _is_alert(error: OSError) -> bool:
    """Return whether the other end has said why it refuses to go on (RFC 8446, 6)."""
    return isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or "")


def _arguments(record: logging.LogRecord) -> tuple[object, ...]:
    return record.args if isinstance(record.args, tuple) else ()
