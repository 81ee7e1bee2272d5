"""Three nodes of nats-server as `config/fleet` sets them up, on other ports and in a folder of the test's."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import orjson
import pytest

from motiond.daemon.config.mqtt import MqttSettings
from tests import ports
from tests.daemon.broker.wire import DISCONNECT, connack, connect
from tests.lasting import LASTING
from tests.waiting import PATIENCE_S, eventually

CONFIGURATIONS = Path(__file__).parents[3] / "config" / "fleet"
NODES = (1, 2, 3)
ANSWER_S = 5.0


def nats_program() -> str:
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    program = shutil.which("nats-server", path=path)
    if program is None:
        pytest.skip("nats-server is not installed")
    return program


class Node:
    """One of the three; killing it is SIGKILL."""

    def __init__(self, config: Path, mqtt_port: int, http_port: int) -> None:
        self.settings = MqttSettings(broker=f"mqtt://127.0.0.1:{mqtt_port}", protocol="3.1.1")
        self._command = [nats_program(), "-c", str(config), "-l", str(config.with_suffix(".log"))]
        self.mqtt_port, self._http_port = mqtt_port, http_port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command)
        LASTING[self._process.pid] = True  # the cluster's, also where a test starts it again

    def start_again(self) -> None:
        """Start it unless it runs, and wait until it takes clients."""
        if self._process is None or self._process.poll() is not None:
            self.start()
            self.wait()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)
            self._process = None

    def freeze(self) -> None:
        """Let it hang: connections stay, and nothing is served."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def wait(self) -> None:
        """Wait until the node knows of a leader, and takes clients of MQTT."""
        eventually(f"{self.settings.url} is in the cluster", self._leader, bool)
        eventually(f"{self.settings.url} takes clients", self._takes_a_client, bool)

    def _leader(self) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._http_port}/jsz", timeout=ANSWER_S) as page:
                state: dict[str, Any] = orjson.loads(page.read())
        except OSError:
            return ""
        return str(state.get("meta_cluster", {}).get("leader", ""))

    def _takes_a_client(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.mqtt_port), ANSWER_S) as wire:
                wire.sendall(connect(f"probe{self.mqtt_port}"))
                is_taken = wire.recv(4) == connack()
                wire.sendall(DISCONNECT)
                return is_taken
        except OSError:
            return False


class Cluster:
    """All three.

    Parameters
    ----------
    folder : Path
        For configurations, logs and what the nodes keep.
    """

    def __init__(self, folder: Path) -> None:
        texts = {number: _text(number) for number in NODES}
        used = sorted(set(re.findall(r"127\.0\.0\.1:(\d+)", "".join(texts.values()))))
        mine = {port: str(ports.free_port()) for port in used}
        self.nodes = []
        for number, text in texts.items():
            moved = re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda port: mine[port.group()], text)
            config = folder / f"nats-{number}.conf"
            config.write_text(moved.replace("/var/lib/nats", str(folder)))
            mqtt, http = int(mine[f"188{number}"]), int(mine[f"822{number}"])
            self.nodes.append(Node(config, mqtt, http))

    def start(self) -> None:
        """Start all nodes, and wait until each takes clients."""
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait()

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()

    def settings(self, *order: int) -> MqttSettings:
        """Return the settings of a client that knows the nodes of these numbers, in this order."""
        urls = [self.nodes[number - 1].settings.url for number in order or NODES]
        return MqttSettings(
            broker=urls, protocol="3.1.1", reconnect_min_s=0.05, reconnect_max_s=0.5, stop_when_lost_s=60.0
        )


def _text(number: int) -> str:
    return (CONFIGURATIONS / f"nats-{number}.conf").read_text(encoding="utf-8")
