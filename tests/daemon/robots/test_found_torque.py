"""What a robot reports of torque: what its actuators report, whoever has switched them on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api import ReportHub
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc import messages
from motiond.daemon.robots.assembly import make_registry
from tests.daemon.rig import FORKS, UNLIMITED, Rig, ask

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry

READY = messages.Ready(1000.0, [], UNLIMITED)
HELD = [0.1, 0.1]
LEFT = "torque is on in 1 of 2 actuators (elbow), as it was left; disable the robot to release them"


def status(found: list[float | None], *, torque: bool = False) -> messages.Changed:
    reference = HELD if torque else None
    return messages.Changed("idle", torque=torque, goal_id=None, reference=reference, found=found)


@pytest.fixture
def hub() -> ReportHub:
    return ReportHub()


@pytest.fixture
def registry(tmp_path: Path, hub: ReportHub, monkeypatch: pytest.MonkeyPatch) -> RobotRegistry:
    registry = make_registry(load_settings(Rig(tmp_path).config), hub, FORKS)
    monkeypatch.setattr(registry.members["arm"].robot.stream, "send", lambda *_: True)
    return registry


def tell(registry: RobotRegistry, *notices: messages.Notice) -> None:
    for notice in notices:
        registry.members["arm"].listener.on_notice(notice)


@pytest.mark.parametrize(
    ("found", "torque", "reported"),
    [
        ([None, None], False, (False, [])),
        ([None, None], True, (True, [])),
        ([0.0, 0.0], False, (False, [])),
        ([1.0, 1.0], False, (True, [])),
        ([0.0, 1.0], False, (True, ["shoulder"])),
        ([1.0, 0.0], True, (True, ["elbow"])),
        ([None, 0.0], True, (True, ["elbow"])),
        ([None, 1.0], False, (True, ["shoulder"])),
        ([0.0, 0.0], True, (False, [])),
        ([], True, (True, [])),
    ],
)
async def test_torque_is_what_the_actuators_report_or_else_what_was_asked_of_them(
    registry: RobotRegistry, found: list[float | None], torque: Any, reported: tuple[bool, list[str]]
) -> None:
    tell(registry, READY, status(found, torque=torque))
    told = await ask(registry, "status")
    assert (told["torque"], told["loose"]) == reported


async def test_actuators_that_hold_as_they_were_left_are_an_event_once(
    registry: RobotRegistry, hub: ReportHub
) -> None:
    with hub.subscribe(frozenset({"event"})) as events:
        tell(registry, READY, status([None, None]), *[status([0.0, 1.0])] * 3)
        tell(registry, status([1.0, 1.0], torque=True), status([1.0, 1.0]))
        told = [report.data for report in iter(events.get_now, None)]
    assert told == [{"kind": "torque", "message": LEFT}]


async def test_a_disable_is_answered_when_the_actuators_have_let_go(registry: RobotRegistry) -> None:
    tell(registry, READY, status([0.0, 1.0]))
    disable = asyncio.create_task(ask(registry, "disable"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not disable.done()
    tell(registry, replace(status([0.0, 0.0]), after=1))
    assert await disable == {"state": "idle", "torque": False}


async def test_nothing_is_known_of_the_torque_of_a_robot_that_is_offline(registry: RobotRegistry) -> None:
    tell(registry, READY, status([0.0, 1.0]), messages.Lost("the cable is out"))
    told = await ask(registry, "status")
    assert (told["state"], told["torque"], told["loose"]) == ("offline", False, [])
