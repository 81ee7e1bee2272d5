"""Judges a soak: which results came, what is retained, how memory grew, and which deadlines were missed."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import numpy as np
import orjson
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from motiond.daemon.http.routes.robots import KNOWN
from motiond.daemon.mqtt.client import MqttConnection
from motiond.daemon.robots.reservation import NOTHING
from tests.daemon.conftest import data_of
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from motiond.daemon.config.mqtt import MqttSettings

SESSION_S = 86_400
KEPT_WITHIN_S = 0.5
IN_ITS_HANDS_S = 0.1  # a broker on this machine passes a message on in a hundredth of it
WITH_MQTT_ALONE = {"bridge", "discovery"}


class Counts(NamedTuple):
    """What became of the results of accepted goals, on MQTT."""

    lost: int
    twice: int
    unasked: int
    in_its_hands: int


@dataclass
class Goals:
    """All goals that were accepted, and their results over HTTP.

    Attributes
    ----------
    accepted : dict of str to str
        The robot of each goal.
    refused, codes : Counter
        Why others were not accepted, and how those have ended.
    ended_s : dict of str to float
        When each result came over HTTP.
    """

    accepted: dict[str, str] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    ended_s: dict[str, float] = field(default_factory=dict)

    def open(self, robot: str) -> int:
        """Count the goals of a robot that have no result yet."""
        return sum(goal not in self.ended_s for goal, whose in self.accepted.items() if whose == robot)

    async def until_told(self, heard: Sequence[str], patience_s: float) -> None:
        """Wait until each goal has a result both ways, or for as long as that may take."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while self.accepted.keys() - set(heard) or self.accepted.keys() - self.ended_s.keys():  # noqa: ASYNC110 - two ways
                    await asyncio.sleep(0.1)

    def judged(self, heard: Iterable[str], killed_s: Iterable[float]) -> Counts:
        """Hold the results that were heard on MQTT against the goals."""
        counts = Counter(heard)
        missing = [goal for goal in self.accepted if not counts[goal]]
        excused = [goal for goal in missing if self._was_in_its_hands(goal, killed_s)]
        return Counts(
            lost=len(missing) - len(excused),
            twice=sum(count > 1 for count in counts.values()),
            unasked=len(counts.keys() - self.accepted.keys()),
            in_its_hands=len(excused),
        )

    def told_of_missing(self, heard: Iterable[str], killed_s: Iterable[float]) -> list[str]:
        """Say of each goal without a result on MQTT how long before the next kill it ended."""
        told = []
        for goal in self.accepted.keys() - set(heard):
            ended_s = self.ended_s.get(goal, float("nan"))
            next_s = min((one - ended_s for one in killed_s if one >= ended_s), default=float("nan"))
            told.append(f"{goal} is missing; it ended {next_s:.3f} s before the broker was killed next")
        return told

    def _was_in_its_hands(self, goal: str, killed_s: Iterable[float]) -> bool:
        ended_s = self.ended_s.get(goal)
        return ended_s is not None and any(0.0 <= one - ended_s <= IN_ITS_HANDS_S for one in killed_s)


class ResultEar:
    """Hears all results over MQTT, on a session that the broker keeps while it is away.

    Attributes
    ----------
    heard : list of str
        The goal of each result.
    """

    def __init__(self, port: int) -> None:
        self.heard: list[str] = []
        self._subscribed = False
        self._client = paho.Client(CallbackAPIVersion.VERSION2, "results", protocol=paho.MQTTv5)
        self._client.on_connect = self._subscribe
        self._client.on_subscribe = self._note_subscribed
        self._client.on_message = self._hear
        self._client.reconnect_delay_set(1, 1)
        session = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        session.SessionExpiryInterval = SESSION_S
        self._client.connect("127.0.0.1", port, clean_start=False, properties=session)
        self._client.loop_start()

    async def listening(self) -> None:
        """Wait until the broker has its subscription."""
        async with asyncio.timeout(PATIENCE_S):
            while not self._subscribed:  # noqa: ASYNC110 - a thread of paho's tells
                await asyncio.sleep(0.05)

    def close(self) -> None:
        """Leave."""
        self._client.disconnect()
        self._client.loop_stop()

    def _subscribe(self, client: paho.Client, _data: Any, flags: Any, *_: Any) -> None:
        if not flags.session_present:
            client.subscribe("motiond/+/result", qos=2)

    def _note_subscribed(self, *_: Any) -> None:
        self._subscribed = True

    def _hear(self, _client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        self.heard.append(orjson.loads(message.payload)["goal_id"])


async def listen_by_http(session: aiohttp.ClientSession, goals: Goals) -> None:
    """Note each result as a page is told of it, until cancelled."""
    async with session.ws_connect("/api/ws", max_msg_size=0) as socket:
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                continue
            told = orjson.loads(message.data)
            if told.get("subject") == "result":
                goals.codes[told["data"]["code"]] += 1
                goals.ended_s[told["data"]["goal_id"]] = time.monotonic()


async def missed_deadlines(session: aiohttp.ClientSession) -> int:
    """Ask for the deadlines that all robots have missed since the daemon's start."""
    async with session.get("/metrics") as response:
        text = await response.text()
    found = re.findall(r"^motiond_stream_missed_deadlines_total\{.*\} (\S+)$", text, re.MULTILINE)
    if not found:
        raise RuntimeError(f"/metrics: no missed deadlines in the answer of status {response.status}: {text}")
    return round(sum(map(float, found)))


def slope_mb_per_hour(samples: Sequence[tuple[float, float]], warm_up: float) -> tuple[float, float]:
    """Return by how much memory grows, by linear regression over what follows the warm-up.

    Parameters
    ----------
    samples : sequence of (float, float)
        Time in s, and bytes.
    warm_up : float
        This share of the time is left out.

    Returns
    -------
    slope : float
        In MB an hour.
    growth_mb : float
        Of the fitted line, from its begin to its end.
    """
    at_s, held = np.array(samples).T
    counts = at_s >= at_s[0] + warm_up * (at_s[-1] - at_s[0])
    hours, mb = at_s[counts] / 3600, held[counts] / 1e6
    slope = float(np.polyfit(hours - hours[0], mb, 1)[0])
    return slope, slope * float(hours[-1] - hours[0])


async def not_right(
    session: aiohttp.ClientSession, settings: MqttSettings, robots: Sequence[str]
) -> list[str]:
    """Hold what the broker keeps against what HTTP knows; return what is wrong."""
    before = await _known(session, robots)
    kept = await _kept(settings, len(before) + 1)
    after = await _known(session, robots)
    wrong = [f"{topic} is not kept" for topic in before.keys() - kept.keys()]
    for topic, data in kept.items():
        if topic in before:
            if not fits(data, before[topic], after[topic]):
                wrong.append(f"{topic} is {data}, and HTTP says {after[topic]}")
        elif not topic.startswith("motiond/bridge/"):
            wrong.append(f"{topic} is kept")
        elif data.get("state") != "online":
            wrong.append(f"{topic} is {data}")
    if not any(topic.startswith("motiond/bridge/") for topic in kept):
        wrong.append("the daemon's availability is not kept")
    return wrong


def fits(kept: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether what is kept is what was known before or after, or between."""
    kept = {key: value for key, value in kept.items() if key not in WITH_MQTT_ALONE}
    if kept in (before, after):
        return True
    return "sequence" in kept and before["sequence"] < kept["sequence"] < after["sequence"]


async def _known(session: aiohttp.ClientSession, robots: Iterable[str]) -> dict[str, dict[str, Any]]:
    known = {}
    for robot in robots:
        for subject in KNOWN:
            async with session.get(f"/api/robots/{robot}/{subject}") as response:
                known[f"motiond/{robot}/{subject}"] = await response.json()
        known[f"motiond/{robot}/reservation"] = NOTHING  # by HTTP it is told over WebSockets alone
    return known


async def _kept(settings: MqttSettings, expected: int) -> dict[str, dict[str, Any]]:
    """Return what a broker has retained, as soon as there is as much as expected."""
    kept: dict[str, dict[str, Any]] = {}
    async with MqttConnection(settings) as client:
        await client.subscribe("motiond/#", qos=1)
        with suppress(TimeoutError):
            async with asyncio.timeout(KEPT_WITHIN_S):
                async for message in client.messages:
                    if message.retain:
                        kept[message.topic.value] = data_of(message)
                    if len(kept) >= expected:
                        break
    return kept
