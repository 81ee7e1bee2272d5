"""Stand-ins for the robots of a group: they answer, report and keep silent as a test sets."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from motiond.daemon.mqtt.client import MqttConnection
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from motiond.daemon.config.mqtt import MqttSettings


@dataclass
class Member:
    """One robot.

    Attributes
    ----------
    refusals : dict of str to dict
        What it answers to a verb in place of `ok`, without the transaction.
    silent_at : set of str
        Verbs to which it does not answer.
    ready_in_s : float
        What it needs before a first row.
    lost : str
        Why its actuators are out of reach; '' where they are not.
    code : str or None
        The result's, right after the commit; None where it plays on.
    """

    name: str
    groups: list[str]
    ready_in_s: float = 0.5
    refusals: dict[str, dict[str, Any]] = field(default_factory=dict)
    silent_at: set[str] = field(default_factory=set)
    code: str | None = "SUCCESSFUL"
    lease: str | None = None
    ttl_s: float = 60.0
    lost: str = ""


class Members:
    """All stand-ins of one daemon.

    Attributes
    ----------
    asked : list of (str, str, dict)
        Every request with its robot and verb.
    """

    def __init__(self, client: MqttConnection, base: str, daemon: str) -> None:
        self._client, self._base, self._daemon = client, base, daemon
        self.robots: dict[str, Member] = {}
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.expires_s: dict[str, int | None] = {}
        self.starts: dict[str, str] = {}

    def verbs(self, robot: str | None = None) -> list[str]:
        return [verb for name, verb, _ in self.asked if robot in {None, name}]

    def asked_for(self, verb: str) -> set[str]:
        """Return the robots that received a verb, however often: stops are repeated until answered."""
        return {name for name, asked, _ in self.asked if asked == verb}

    def bodies(self, verb: str) -> dict[str, dict[str, Any]]:
        return {name: body for name, asked, body in self.asked if asked == verb}

    def add(self, name: str, *groups: str, **more: Any) -> Member:
        member = self.robots[name] = Member(name, list(groups), **more)
        self.report(name, "description", {"groups": member.groups}, retain=True)
        self.report(name, "availability", {"state": "online", "bridge": self._daemon}, retain=True)
        return member

    def daemon(self, state: str, **more: Any) -> None:
        topic = f"{self._base}/bridge/{self._daemon}/availability"
        data = {"state": state, "host": "bench", "instance": "1", **more}
        self._client.hand_over(topic, orjson.dumps(data), 1, retain=True)

    def report(self, name: str, subject: str, data: dict[str, Any], *, retain: bool = False) -> None:
        self._client.hand_over(f"{self._base}/{name}/{subject}", orjson.dumps(data), 1, retain=retain)

    def forget(self, name: str, subject: str) -> None:
        """Clear a retained report."""
        self._client.hand_over(f"{self._base}/{name}/{subject}", b"", 1, retain=True)

    async def settle(self) -> None:
        """Wait until the broker has received all reports."""
        async with asyncio.timeout(PATIENCE_S):
            await self._client.all_delivered()

    async def publish(self, topic: str, payload: bytes) -> None:
        await self._client.publish(f"{self._base}/{topic}", payload, 1, retain=True)

    def phase(self, name: str, phase: str | None, reason: str | None = None) -> None:
        start = self.starts[name] if phase is not None else None
        data = {"start": start, "phase": phase, "reason": reason}
        self.report(name, "reservation", data, retain=True)

    def result(self, name: str, code: str, message: str = "as asked") -> None:
        details = {"start": self.starts[name]}
        data = {"goal_id": "g", "motion": "wave", "code": code, "message": message, "details": details}
        self.report(name, "result", data)

    async def receive(self) -> None:
        async for message in self._client.messages:
            _, robot, _, *verb = message.topic.value.split("/")
            assert isinstance(message.payload, bytes)
            self.expires_s["/".join(verb)] = getattr(message.properties, "MessageExpiryInterval", None)
            self.take(robot, "/".join(verb), orjson.loads(message.payload or b"{}"))

    def take(self, robot: str, verb: str, body: dict[str, Any]) -> None:
        if robot not in self.robots:
            return
        self.asked.append((robot, verb, body))
        member = self.robots[robot]
        if verb in member.silent_at:
            return
        answer = self._answer(member, verb, body) | {"transaction": body.get("transaction")}
        self.report(robot, f"response/{verb}", answer)

    def _answer(self, member: Member, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        if refused := member.refusals.get(verb):
            return {"status": "error", "data": {}, **refused}
        if verb.startswith("fleet/") and member.lease is not None and body.get("lease") != member.lease:
            error = f"{member.name}/{verb}: not in control; nobody has it; acquire it by lease/acquire"
            data: dict[str, Any] = {"holder": None, "epoch": 1, "expires_at": None}
            return {"status": "error", "code": "NOT_IN_CONTROL", "error": error, "data": data}
        data = {}
        match verb:
            case "fleet/prepare":
                self.starts[member.name] = body["start"]
                expires_at = time.time() + body["expires_s"]
                data = {"start": body["start"], "token": None, "expires_at": expires_at}
                data["ready_in_s"] = member.ready_in_s
            case "fleet/commit":
                data = {"start": body["start"], "start_at": body["start_at"]}
                self._commit(member)
            case "lease/acquire" | "lease/renew":
                data = {"lease": member.lease, "ttl_s": member.ttl_s}
            case "stop" if member.lost:
                data = {"state": "offline", "goal_id": None, "reached": False, "message": member.lost}
            case "stop":
                data = {"state": "stopping", "goal_id": "g"}
            case "pause":
                data = {"state": "paused", "goal_id": "g"}
        return {"status": "ok", "data": data}

    def _commit(self, member: Member) -> None:
        self.phase(member.name, "committed")
        if member.code is not None:
            self.result(member.name, member.code)


@asynccontextmanager
async def members(settings: MqttSettings, daemon: str = "d1") -> AsyncIterator[Members]:
    async with MqttConnection(settings) as client:
        stand_ins = Members(client, settings.base, daemon)
        await client.subscribe(f"{settings.base}/+/request/#", qos=1)
        stand_ins.daemon("online")
        receiving = asyncio.create_task(stand_ins.receive(), name="members")
        try:
            yield stand_ins
        finally:
            receiving.cancel()
            await asyncio.wait((receiving,))


async def until(holds: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.01)
