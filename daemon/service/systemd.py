"""Notifies systemd (sd_notify(3)): ready, alive, stopping; without systemd, nothing."""

from __future__ import annotations

import logging
import os
import re
import socket
from functools import cache

log = logging.getLogger(__name__)


def notify(*states: str) -> bool:
    """Send states such as `READY=1` without waiting; False where nobody listens, or reads what was sent.

    A socket that has gone is logged once: a motion must not end with it.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as connection:
        try:
            connection.sendto("\n".join(states).encode(), socket.MSG_DONTWAIT, address)
        except BlockingIOError:
            return False
        except OSError as error:
            _warn(os.environ["NOTIFY_SOCKET"], error.strerror or str(error))
            return False
    return True


@cache
def _warn(address: str, reason: str) -> None:
    """Log that systemd cannot be notified, once for each reason."""
    log.warning("%s: systemd cannot be notified; %s; check NOTIFY_SOCKET", address, reason)


def watchdog_period_s() -> float | None:
    """Return how often systemd expects WATCHDOG=1 (half its timeout); None if it does not."""
    timeout_us = os.environ.get("WATCHDOG_USEC", "")
    meant_for = os.environ.get("WATCHDOG_PID", str(os.getpid()))
    if not timeout_us or meant_for != str(os.getpid()):
        return None
    if not re.fullmatch("0*[1-9][0-9]{0,18}", timeout_us, re.ASCII):
        log.warning("WATCHDOG_USEC is %r; it is a whole number above 0; no watchdog is fed", timeout_us)
        return None
    return int(timeout_us) / 2e6
