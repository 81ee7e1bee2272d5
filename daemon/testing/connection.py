"""An MQTT connection to one daemon that keeps every message it receives."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Found = TypeVar("Found")

HOST = "127.0.0.1"
LOOK_S = 0.05
SUBJECTS = ("availability", "description", "state", "result", "event", "telemetry", "response/#")
RETAINED = ("/availability", "/description", "/state")


class Message(NamedTuple):
    """A message and the time of its arrival, as `time.monotonic()`."""

    at_s: float
    data: dict[str, Any]


class Connection:
    """A connection to one daemon, and the messages received on it, by topic.

    Parameters
    ----------
    base : str
        The daemon's `mqtt.base`; all topics below are relative to it.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        self._received: defaultdict[str, list[Message]] = defaultdict(list)
        self._changed = threading.Condition()
        self._client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv311)
        self._client.reconnect_delay_set(LOOK_S, LOOK_S)  # type: ignore[arg-type] # fractions work as well
        self._client.on_connect = self._subscribe
        self._client.on_message = self._receive

    def open(self, port: int) -> None:
        """Connect in the background, as soon as somebody listens on the port."""
        self._client.connect_async(HOST, port)
        self._client.loop_start()

    def close(self) -> None:
        """Disconnect, and end the background thread."""
        self._client.disconnect()
        self._client.loop_stop()

    def _subscribe(self, client: paho.Client, *_: object) -> None:
        topics = [f"{self._base}/bridge/+/availability", *(f"{self._base}/+/{one}" for one in SUBJECTS)]
        client.subscribe([(topic, 1) for topic in topics])

    def _receive(self, _client: paho.Client, _userdata: object, message: paho.MQTTMessage) -> None:
        received = Message(time.monotonic(), json.loads(message.payload))
        with self._changed:
            self._received[message.topic.removeprefix(f"{self._base}/")].append(received)
            self._changed.notify_all()

    def messages(self, topic: str) -> list[Message]:
        """Return all messages on a topic, oldest first."""
        with self._changed:
            return list(self._received[topic])

    def payloads(self, topic: str) -> list[dict[str, Any]]:
        """Return the contents of all messages on a topic, oldest first."""
        return [message.data for message in self.messages(topic)]

    def forget(self) -> None:
        """Drop all messages but the latest on each retained topic."""
        with self._changed:
            for topic, received in self._received.items():
                del received[: -1 if topic.endswith(RETAINED) else None]

    def publish(self, topic: str, data: Mapping[str, Any]) -> None:
        """Publish a message with QoS 1."""
        self._client.publish(f"{self._base}/{topic}", json.dumps(data), qos=1)

    def wait(
        self, find: Callable[[], Found | None], timeout_s: float, check: Callable[[], None]
    ) -> Found | None:
        """Return what `find` returns as soon as that is not None, or None after `timeout_s`.

        `check` is called before each wait; what it raises ends the wait.
        """
        __tracebackhide__ = True
        deadline_s = time.monotonic() + timeout_s
        while (found := find()) is None and (left_s := deadline_s - time.monotonic()) > 0:
            check()
            with self._changed:
                self._changed.wait(min(LOOK_S, left_s))
        return found
