"""Requests to a robot, and a robot whose stream process is played by the test."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from motiond.daemon.api import Dispatcher, RawRequest, ReportHub
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc import messages
from motiond.daemon.robots.assembly import make_registry
from tests.daemon.rig import FORKS, Rig, ask
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    import pytest

    from motiond.daemon.api import Subject
    from motiond.daemon.robots.registry import RobotRegistry


async def reply_to(registry: RobotRegistry, verb: str, **body: Any) -> dict[str, Any]:
    """Send a request as every transport does, and return the whole answer."""
    async with asyncio.timeout(PATIENCE_S):
        answer = await Dispatcher(registry).answer(RawRequest("arm", verb, orjson.dumps(body)))
    reply: dict[str, Any] = orjson.loads(answer)
    return reply


async def ok(registry: RobotRegistry, verb: str, **body: Any) -> dict[str, Any]:
    """Send a request that is accepted, and return the data of the answer."""
    reply = await reply_to(registry, verb, **body)
    assert reply["status"] == "ok", reply
    data: dict[str, Any] = reply["data"]
    return data


class Stage:
    """A robot; `sent` is what its stream process was sent."""

    def __init__(self, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hub = ReportHub()
        self.registry = make_registry(load_settings(rig.config), self.hub, FORKS)
        self.member = self.registry.members["arm"]
        self.robot = self.member.robot
        self.robot.library.load_all()
        self.sent: list[messages.Command] = []
        monkeypatch.setattr(self.robot.stream, "send", self.send)

    def send(self, command: messages.Command, _fds: tuple[int, ...] = ()) -> int:
        """Take a command, in place of the stream process."""
        self.sent.append(command)
        return len(self.sent)

    def notify(self, *notices: messages.Notice) -> None:
        """Let the stream process report something; it has obeyed all that was sent."""
        for notice in notices:
            if isinstance(notice, messages.Changed):
                notice = replace(notice, after=len(self.sent))  # noqa: PLW2901
            self.robot.on_notice(notice)

    async def settle(self) -> None:
        """Let everybody do what can be done now."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def request(self, verb: str, **values: Any) -> asyncio.Task[dict[str, Any]]:
        """Send a request that waits for the stream process."""
        task = asyncio.create_task(ask(self.registry, verb, **values), name=verb)
        await self.settle()
        return task

    def reports(self, subject: Subject, *notices: messages.Notice) -> list[dict[str, Any]]:
        """Return what notices have the robot report."""
        with self.hub.subscribe(frozenset({subject})) as reports:
            self.notify(*notices)
            return [report.data for report in iter(reports.get_now, None)]
