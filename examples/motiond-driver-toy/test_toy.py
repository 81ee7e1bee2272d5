"""Tests the toy driver against the whole contract, faults included."""

import socket
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from toy_controller import LIFETIME_S, ToyController

from motiond.drivers import Driver, make_driver
from motiond.drivers.testing import ACTUATORS, DriverContract, Rig


class ToyRig(Rig):
    lifetime_s = LIFETIME_S
    settle_s = 0.2
    answer_s, timeout_s = 2.0, 30.0  # only answers take real time: as much as a busy machine may need

    def __init__(self) -> None:
        super().__init__()
        self.controller = ToyController(self.clock)
        self.port = 0
        self.start()

    def start(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", self.port))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self.controller.serve, args=[self._socket])
        self._thread.start()

    def stop(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join(timeout=self.timeout_s)
        assert not self._thread.is_alive()
        self._socket.close()

    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        options = {"address": f"127.0.0.1:{self.port}", "timeout_s": self.answer_s}
        return make_driver("toy", options, actuators, self.clock)

    def make_broken(self) -> Driver:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
            nobody.bind(("127.0.0.1", 0))
            port = nobody.getsockname()[1]
        return make_driver("toy", {"address": f"127.0.0.1:{port}"}, ACTUATORS, self.clock)

    def push(self, driver: Driver, position: NDArray[np.float64]) -> None:
        self.controller.position = position.tolist()

    def silence(self, driver: Driver) -> None:
        self.controller.silent = True

    def lose_bus(self, driver: Driver) -> None:
        self.stop()

    def restore_bus(self, driver: Driver) -> None:
        self.start()


class TestToy(DriverContract):
    @pytest.fixture
    def rig(self) -> Iterator[ToyRig]:
        rig = ToyRig()
        yield rig
        rig.stop()
