"""An emulated bus behind a descriptor, or a pseudo-terminal, so that programs open it like a serial port.

With a baud rate, each byte takes as long as it would on the wire.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
import tty
from typing import TYPE_CHECKING

from ..bus import BITS_A_BYTE

if TYPE_CHECKING:
    from typing import Any, Self

    from .bus import EmulatedBus

_CHUNK = 4096


class EmulatedWire:
    """Servos that are reached through a descriptor, served by a thread of its own until `close`."""

    def __init__(self, chain: EmulatedBus[Any], descriptor: int, baud_rate: int | None = None) -> None:
        self.chain = chain
        self.lock = threading.Lock()
        self._byte_s = BITS_A_BYTE / baud_rate if baud_rate else 0.0
        self._idle_s = 0.0
        self._master = descriptor
        os.set_blocking(descriptor, False)
        self._stop, self._stopped = os.pipe()
        self._thread = threading.Thread(target=self._serve, name=f"emulated wire {descriptor}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the servos, as if their cable were pulled; may be called any number of times."""
        if not self._thread.is_alive() and self._master < 0:
            return
        os.close(self._stopped)
        self._thread.join()
        for descriptor in (self._stop, self._master):
            os.close(descriptor)
        self._master = -1

    def _serve(self) -> None:
        received = bytearray()
        poller = select.poll()
        poller.register(self._master, select.POLLIN)
        poller.register(self._stop, select.POLLIN)
        while all(descriptor == self._master for descriptor, _ in poller.poll()):
            chunk = os.read(self._master, _CHUNK)
            self._idle_s = max(self._idle_s, time.monotonic()) + len(chunk) * self._byte_s
            received += chunk
            with self.lock:
                replies = list(self.chain.feed(received))
            for reply in replies:
                self._put(reply.frame, reply.delay_s)

    def _put(self, frame: bytes, delay_s: float) -> None:
        if self._byte_s:
            self._idle_s += delay_s + len(frame) * self._byte_s
            time.sleep(max(0.0, self._idle_s - time.monotonic()))
        with contextlib.suppress(OSError):  # gone, or not reading; a wire would not notice either
            os.write(self._master, frame)


class EmulatedPort(EmulatedWire):
    """A pseudo-terminal with servos behind it."""

    def __init__(self, chain: EmulatedBus[Any], baud_rate: int | None = None) -> None:
        master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.path = os.ttyname(self._slave)
        super().__init__(chain, master, baud_rate)

    def close(self) -> None:
        """Remove the port, as if its cable were pulled; may be called any number of times."""
        super().close()
        if self._slave >= 0:
            os.close(self._slave)
        self._slave = -1
