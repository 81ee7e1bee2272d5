"""Behaviour of a robot whose torque is about to go off, notice by notice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api import ReportHub, RequestError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc import messages
from motiond.daemon.robots.assembly import make_registry
from tests.daemon.rig import FORKS, UNLIMITED, Rig, ask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HELD, SUNK = [0.1, 0.1], [0.0, -0.1]
OFF = messages.Changed("idle", torque=False, goal_id=None, reference=None)


def on(reference: list[float], *ended: messages.Ended) -> messages.Changed:
    return messages.Changed("idle", torque=True, goal_id=None, reference=reference, ended=[*ended])


class Stage:
    """A robot that releases at the end, and a stream process that is played by the test."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        rig = Rig(folder)
        rig.robot["on_end"] = "release"
        self.registry = make_registry(load_settings(rig.config), ReportHub(), FORKS)
        self.member = self.registry.members["arm"]
        self.robot = self.member.robot
        self.robot.library.load_all()
        self.sent: list[messages.Command] = []
        self.numbers = 0
        monkeypatch.setattr(self.robot.stream, "send", self._send)
        self.tell(messages.Ready(1000.0, [], UNLIMITED), OFF)

    def _send(self, command: messages.Command, _fds: tuple[int, ...] = ()) -> int:
        self.sent.append(command)
        self.numbers += 1
        return self.numbers

    def tell(self, *notices: messages.Notice) -> None:
        """Let the stream process report something; it has obeyed all that was sent."""
        for notice in notices:
            if isinstance(notice, messages.Changed):
                notice = replace(notice, after=self.numbers)  # noqa: PLW2901
            self.member.listener.on_notice(notice)

    def kinds(self) -> list[str]:
        return [type(command).__name__ for command in self.sent]

    async def settle(self) -> None:
        """Let everybody do what can be done now."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def plays(self, *answers: messages.Notice) -> asyncio.Task[dict[str, object]]:
        """Ask for a play, and answer one command after the other; give the play, which goes on."""
        play = asyncio.create_task(ask(self.registry, "play", motion="short"), name="play")
        for answer in answers:
            await self.settle()
            self.tell(answer)
        await self.settle()
        return play

    async def played_to_the_end(self) -> None:
        """Play, up to the moment at which torque is told to go off."""
        goal_id = str((await (await self.plays(on(HELD))))["goal_id"])
        self.tell(
            messages.Changed("playing", torque=True, goal_id=goal_id, reference=HELD),
            on(HELD, messages.Ended(goal_id, "SUCCESSFUL", "the last row is out and held", 0.5)),
        )
        assert self.kinds() == ["Enable", "Play", "Disable"]
        self.sent.clear()


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    stage = Stage(tmp_path, monkeypatch)
    yield stage
    stage.robot.planner.close()


async def test_a_play_that_has_not_begun_does_not_begin_after_a_disable(stage: Stage) -> None:
    play = await stage.plays()
    disable = asyncio.create_task(ask(stage.registry, "disable"), name="disable")
    await stage.settle()
    stage.tell(on(HELD))
    with pytest.raises(RequestError) as refusal:
        await play
    stage.tell(OFF)
    await disable
    assert stage.kinds() == ["Enable", "Disable"]
    assert str(refusal.value) == "arm: stopped before the motion began; play it again"


HALTS = {
    "estopped": ("ESTOPPED", "the emergency stop is latched; reset it when it is safe"),
    "fault": ("FAULT", "the bus is lost; reset it when it is fixed"),
}


@pytest.mark.parametrize("state", HALTS)
async def test_torque_of_a_halted_robot_is_not_switched_off_and_a_play_after_its_reset_begins(
    stage: Stage, state: str
) -> None:
    code, reason = HALTS[state]
    stage.tell(
        on(HELD),
        messages.Happened("fault", "the bus is lost"),
        messages.Changed(state, torque=True, goal_id=None, reference=HELD),
    )
    with pytest.raises(RequestError) as refusal:
        await ask(stage.registry, "disable")
    assert (refusal.value.code, str(refusal.value)) == (code, f"arm: torque cannot be switched off; {reason}")
    assert stage.kinds() == []
    stage.tell(on(HELD))
    await (await stage.plays())
    assert stage.kinds() == ["Play"]


async def test_a_pause_of_a_motion_that_has_ended_by_then_is_no_success(stage: Stage) -> None:
    goal_id = str((await (await stage.plays(on(HELD))))["goal_id"])
    pausing = asyncio.create_task(ask(stage.registry, "pause"), name="pause")
    await stage.settle()
    stage.tell(on(HELD, messages.Ended(goal_id, "SUCCESSFUL", "the last row is out and held", 0.5)))
    with pytest.raises(RequestError) as refusal:
        await pausing
    assert (refusal.value.code, str(refusal.value)) == (
        "NOT_PLAYING",
        "arm: short ended before; pause what follows, or stop it",
    )
