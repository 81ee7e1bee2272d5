"""From publish to a subscriber at another node, with 500 robots' traffic: three nats-servers, one mosquitto.

Connections of ten robots each send recorded messages at their rates, each with the time in its payload.
All clients are processes of their own on raw sockets, so that what is measured is mostly the brokers.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import socket
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bench.traffic import messages, thin
from tests.daemon.broker.wire import connack, connect, packet, short, text
from tests.daemon.conftest import Mosquitto
from tests.ports import free_port
from tests.system.fleet.nats import Cluster
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from bench.traffic import Message
    from motiond.formats.arrays import Floats

ROBOTS, FEWER, EACH = 500, 100, 10
"""How many robots there are, how many with less load, and how many at a connection."""
SECONDS, WARM_UP_S, CYCLE_S = 15.0, 3.0, 10.0
STAMP = len('{"at":') + 20
LATE_S = 0.001
"""How long the sender may sleep."""


class Ports(NamedTuple):
    """Where robots send to, and where the subscriber is."""

    senders: tuple[int, ...]
    subscriber: int


class Due(NamedTuple):
    """A packet in a cycle: its time, its connection, and what stands before and after the time of sending."""

    at_s: float
    connection: int
    head: bytes
    qos: int
    tail: bytes


def main(seconds: float = SECONDS) -> None:
    """Print both brokers under both loads."""
    print(f"{EACH} robots at each connection, {seconds:g} s; ms")
    print(f"{'':48}{'sent/s':>10}{'received':>9}{'p50':>9}{'p99':>9}{'worst':>9}")
    for load, robots, told in (
        ("in motion", ROBOTS, messages("in motion")),
        ("thin, in motion", ROBOTS, messages("in motion", thin())),
        ("thin, in motion", FEWER, messages("in motion", thin())),
    ):
        for name, running in (("mosquitto", _mosquitto), ("three nats-servers", _cluster)):
            with running() as ports:
                sent, took_s = _measure(ports, robots, told, seconds)
            p50, p99, worst = 1e3 * np.quantile(took_s, (0.5, 0.99, 1.0)) if len(took_s) else (np.nan,) * 3
            share = 100 * len(took_s) / sent
            shown = f"{name}, {robots} robots {load}"
            print(
                f"{shown:48}{sent / seconds:10.0f}{share:8.1f}%{p50:9.2f}{p99:9.2f}{worst:9.1f}", flush=True
            )


@contextmanager
def _mosquitto() -> Iterator[Ports]:
    with tempfile.TemporaryDirectory() as folder:
        broker = Mosquitto(free_port(), Path(folder))
        broker.configure("allow_anonymous true", "set_tcp_nodelay true")
        asyncio.run(broker.start())
        try:
            yield Ports((broker.port,), broker.port)
        finally:
            asyncio.run(broker.kill())


@contextmanager
def _cluster() -> Iterator[Ports]:
    """Send to two nodes, and listen at the third."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder))
        try:
            cluster.start()
            first, second, third = (node.mqtt_port for node in cluster.nodes)
            yield Ports((first, second), third)
        finally:
            cluster.kill()


def _measure(ports: Ports, robots: int, told: list[Message], seconds: float) -> tuple[int, Floats]:
    """Return how many messages were sent while it was measured, and how long those took that came, in s."""
    context = multiprocessing.get_context("spawn")
    processes, pipes = [], []
    for target, given in ((_listen, (ports.subscriber,)), (_send, (ports.senders, robots, told))):
        ours, theirs = context.Pipe()
        process = context.Process(target=target, args=(theirs, *given, seconds), daemon=True)
        process.start()
        processes.append(process)
        pipes.append(ours)
        if not ours.poll(PATIENCE_S):
            raise RuntimeError(f"{target.__name__}: not ready in {PATIENCE_S:g} s")
        ours.recv()
    begin_s = time.monotonic() + 0.5
    for pipe in pipes:
        pipe.send(begin_s)
    took_s, sent = (pipe.recv() if pipe.poll(seconds + PATIENCE_S) else None for pipe in pipes)
    for process in processes:
        process.join(PATIENCE_S)
    if took_s is None or sent is None:
        raise RuntimeError("a client has not ended")
    return sent, took_s


# -- the one who listens ------------------------------------------------------------------------------------


def _listen(pipe: Connection, port: int, seconds: float) -> None:
    """Hear everything by QoS 0; tell how long each message took that was sent while it is measured."""
    with _connected(port, "listener") as wire:
        wire.sendall(packet(0x82, short(1) + text("motiond/#") + b"\x00"))
        _read_exactly(wire, 5)
        pipe.send("ready")
        begin_s = pipe.recv() + WARM_UP_S
        end_s = begin_s + seconds
        took_s: list[float] = []
        rest = b""
        wire.settimeout(0.5)
        while (now_s := time.monotonic()) < end_s + 2.0:
            try:
                rest += wire.recv(262_144)
            except TimeoutError:
                continue
            now_s = time.monotonic()
            sent_s, rest = _stamps(rest)
            took_s += [now_s - one for one in sent_s if begin_s <= one < end_s]
        pipe.send(np.array(took_s))


def _stamps(data: bytes) -> tuple[list[float], bytes]:
    """Return when each message was sent that is whole, and what is left."""
    stamps: list[float] = []
    at = 0
    while True:
        length, shift, place = 0, 0, at + 1
        while place < len(data):
            digit = data[place]
            length |= (digit & 127) << shift
            shift, place = shift + 7, place + 1
            if not digit & 128:
                break
        else:
            return stamps, data[at:]
        if place + length > len(data):
            return stamps, data[at:]
        if data[at] >> 4 == 3:
            payload = place + 2 + int.from_bytes(data[place : place + 2], "big")
            stamps.append(int(data[payload + 6 : payload + STAMP]) / 1e9)
        at = place + length


# -- those who send -----------------------------------------------------------------------------------------


def _send(pipe: Connection, ports: tuple[int, ...], robots: int, told: list[Message], seconds: float) -> None:
    """Send a cycle of messages again and again, each when it is due; tell how many while it is measured."""
    wires = [_connect(ports[number % len(ports)], f"robots{number}") for number in range(robots // EACH)]
    cycle = _cycle(robots, told)
    pipe.send("ready")
    begin_s = pipe.recv()
    from_s, end_s = begin_s + WARM_UP_S, begin_s + WARM_UP_S + seconds
    sent = number = round_ = 0
    waiting: dict[int, bytearray] = {}
    while time.monotonic() < end_s:
        now_s = time.monotonic()
        while (due := cycle[number]).at_s + round_ * CYCLE_S + begin_s <= now_s:
            identifier = short(number % 65_535 + 1) if due.qos else b""
            stamp = b'{"at":%020d' % time.monotonic_ns()
            waiting.setdefault(due.connection, bytearray()).extend(due.head + identifier + stamp + due.tail)
            sent += from_s <= now_s < end_s
            number += 1
            if number == len(cycle):
                number, round_ = 0, round_ + 1
        _flush(wires, waiting)
        time.sleep(LATE_S)
    pipe.send(sent)
    for wire in wires:
        wire.close()


def _flush(wires: list[socket.socket], waiting: dict[int, bytearray]) -> None:
    """Send as much as goes, and read what comes: confirmations."""
    for connection in list(waiting):
        wire, data = wires[connection], waiting[connection]
        try:
            del data[: wire.send(data)]
            wire.recv(65_536)
        except BlockingIOError:
            pass
        if not data:
            del waiting[connection]


def _cycle(robots: int, told: list[Message]) -> list[Due]:
    """Return what all robots send in a cycle, in order, each at a moment of its own."""
    dice = random.Random(1)
    cycle = []
    for robot in range(robots):
        for message in told:
            topic = message.topic.replace("/arm", f"/arm{robot}", 1)
            qos = min(message.qos, 1)  # what nats-server takes
            tail = b"," + message.payload[1:] if message.payload != b"{}" else b"}"
            length = 2 + len(topic) + 2 * bool(qos) + STAMP + len(tail)
            head = packet(0x30 | qos << 1 | message.retain, bytes(length))[:-length] + text(topic)
            count, first_s = round(message.hz * CYCLE_S), dice.uniform(0.0, CYCLE_S)
            for number in range(count):
                at_s = (first_s + number * CYCLE_S / count) % CYCLE_S
                cycle.append(Due(at_s, robot // EACH, head, qos, tail))
    return sorted(cycle)


def _connect(port: int, name: str) -> socket.socket:
    wire = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire.sendall(connect(name))
    if _read_exactly(wire, 4) != connack():
        raise RuntimeError(f"{name}: the broker refuses the connection")
    wire.setblocking(False)
    return wire


@contextmanager
def _connected(port: int, name: str) -> Iterator[socket.socket]:
    with _connect(port, name) as wire:
        wire.settimeout(PATIENCE_S)
        yield wire


def _read_exactly(wire: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (part := wire.recv(count - len(data))):
        data += part
    return data
