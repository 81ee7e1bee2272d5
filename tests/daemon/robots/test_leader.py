"""A robot follows another one, whose hand, motion or leader moves it, on virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.api import VERBS, RequestError, StartFollowRequest
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import JOINTS, Rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.daemon.robots.robot import Robot
    from motiond.formats.arrays import Floats

LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 40.0}
APPROACH = {"velocity": 0.5, "acceleration": 10.0, "jerk": 100.0}
RATE_HZ = 200.0


class Pair:
    """Robots: `arm` follows `other`, which may follow `third`."""

    def __init__(self, rig: Rig, registry: RobotRegistry) -> None:
        self.rig, self.registry = rig, registry

    async def until_idle(self) -> None:
        for member in self.registry.members.values():
            while member.robot.session.state != "idle":
                await member.robot.change(1.0)

    async def ask(self, robot: str, verb: str, **values: Any) -> dict[str, Any]:
        return {**await self.registry.handle(robot, verb, VERBS[verb].request.model_validate(values))}

    async def refused(self, robot: str, verb: str, **values: Any) -> tuple[str, str]:
        with pytest.raises(RequestError) as refusal:
            await self.ask(robot, verb, **values)
        return refusal.value.code, str(refusal.value)

    async def follows(self, robot: str = "arm", leader: str = "other", **how: Any) -> str:
        return str((await self.ask(robot, "follow/start", leader=leader, **how))["goal_id"])

    async def together(self, robot: str = "arm") -> None:
        """Wait until a robot goes with its leader."""
        follow: dict[str, Any] = {}
        while not follow.get("has_reached_leader"):
            await asyncio.sleep(0.05)
            follow = self.status(robot)["follow"]

    async def begins(self, robot: str) -> None:
        """Wait until a goal of a robot is about to begin."""
        while self.robot(robot).session.begin is None:
            await self.robot(robot).change(1.0)

    def status(self, robot: str = "arm") -> dict[str, Any]:
        return {**self.robot(robot).state_payload()}

    def robot(self, name: str) -> Robot:
        return self.registry.members[name].robot

    def measured(self, name: str) -> Floats:
        self.robot(name).read_records()
        observer = self.robot(name).stream.observer
        assert observer is not None
        assert observer.sample is not None
        return observer.sample.vector("position").copy()

    async def leads_by_hand(self, for_s: float = 1.0, **to: float) -> None:
        for joint, place in to.items():
            await self.ask("other", "fault", fault="hand", joint=joint, to=place, for_s=for_s)
        await asyncio.sleep(for_s + 0.2)

    def setpoints(self) -> Floats:
        return read_trace(self.rig.folder / "trace.npy")["position"]

    def events(self, kind: str) -> list[str]:
        return [event["message"] for event in self.rig.reports_on("event") if event["kind"] == kind]


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.robot |= {
        "joints": {name: {"limits": LIMITS} for name in JOINTS},
        "approach": APPROACH,
        "fault_requests": True,
    }
    rig.others = {
        name: rig.robot | {"driver": rig.driver | {"trace": f"{name}.npy", "plant": f"{name}.bin"}}
        for name in ("other", "third")
    }
    return rig


@pytest.fixture
async def pair(rig: Rig) -> AsyncIterator[Pair]:
    async with rig.running() as registry:
        pair = Pair(rig, registry)
        await pair.until_idle()
        yield pair


def keeps_limits(positions: Floats, velocity: float = 3.0, acceleration: float = 40.0) -> None:
    velocities = np.diff(positions, axis=0) * RATE_HZ
    assert np.abs(positions).max() <= 2.0 + 1e-9
    assert np.abs(velocities).max() <= velocity * 1.000_001
    assert np.abs(np.diff(velocities, axis=0)).max() * RATE_HZ <= acceleration * 1.02


async def test_it_goes_slowly_to_its_leader_and_then_with_its_hand(pair: Pair) -> None:
    await pair.ask("other", "teach/start")
    await pair.leads_by_hand(shoulder=0.4, elbow=-0.3)
    goal_id = await pair.follows()
    follow = pair.status()["follow"]
    assert (follow["leader"], follow["has_reached_leader"], follow["joints"]) == ("other", False, [*JOINTS])
    await pair.together()
    setpoints, there = pair.setpoints(), pair.measured("other")
    is_away = np.abs(setpoints - there).max(axis=1) > 0.01
    keeps_limits(setpoints[: is_away.argmin()], velocity=0.5, acceleration=10.0)
    assert is_away.sum() > RATE_HZ * 0.4 / 0.5
    await pair.leads_by_hand(0.6, shoulder=1.0, elbow=0.5)
    assert pair.measured("arm") == pytest.approx(pair.measured("other"), abs=0.002)
    assert pair.measured("other")[0] == pytest.approx(1.0, abs=0.01)
    await pair.ask("arm", "follow/stop")
    result = await pair.rig.rest_after(goal_id)
    assert (result["code"], result["details"]["follow"]["clipped"]) == ("SUCCESSFUL", 0)
    keeps_limits(pair.setpoints())


async def test_it_plays_what_its_leader_plays_a_little_later(pair: Pair) -> None:
    await pair.follows()
    await pair.together()
    await pair.ask("other", "play", motion="long")
    await asyncio.sleep(4.0)
    lags = []
    for _ in range(100):
        await asyncio.sleep(0.02)
        lags.append(np.abs(pair.measured("arm") - pair.measured("other")).max())
    assert 0.0 < max(lags) < 0.03 * 0.63  # at its greatest velocity
    await pair.ask("other", "stop")
    await asyncio.sleep(1.0)
    assert pair.measured("arm") == pytest.approx(pair.measured("other"), abs=0.002)
    keeps_limits(pair.setpoints())


async def test_it_keeps_its_own_limits_where_its_leader_goes_further_and_faster(rig: Rig) -> None:
    rig.robot["joints"] = rig.robot["joints"] | {
        "elbow": {"limits": LIMITS | {"upper": 0.3, "velocity": 0.4}}
    }
    async with rig.running() as registry:
        pair = Pair(rig, registry)
        await pair.until_idle()
        await pair.ask("other", "teach/start")
        await pair.follows()
        await pair.together()
        await pair.leads_by_hand(1.0, elbow=1.0)
        await asyncio.sleep(1.0)
        assert pair.measured("arm") == pytest.approx([0.0, 0.3], abs=0.002)
        await pair.leads_by_hand(1.0, elbow=0.1)
        await asyncio.sleep(1.0)
        assert pair.measured("arm") == pytest.approx([0.0, 0.1], abs=0.002)
        await asyncio.sleep(1.0)
        assert pair.status()["follow"]["clipped"] > 0
    speeds = np.abs(np.diff(pair.setpoints()[:, 1])) * RATE_HZ
    assert speeds.max() <= 0.4 * 1.000_001
    assert pair.setpoints()[:, 1].max() <= 0.3 + 1e-9


async def test_a_map_says_which_joint_moves_which(pair: Pair) -> None:
    map_ = {"shoulder": {"from": "elbow", "sign": -1, "offset": 0.2}}
    goal_id = await pair.follows(map=map_, ignore="others")
    assert pair.status()["follow"]["joints"] == ["shoulder"]
    await pair.together()
    await pair.ask("other", "teach/start")
    await pair.leads_by_hand(elbow=0.5, shoulder=0.9)
    assert pair.measured("arm") == pytest.approx([-0.3, 0.0], abs=0.002)
    await pair.ask("arm", "follow/stop")
    assert (await pair.rig.result_of(goal_id))["code"] == "SUCCESSFUL"


LOST = [
    ("bus_lost", {}, "it is in fault; driver sim: the bus is lost; "),
    ("lost_feedback", {"joint": "elbow"}, "no position is known of 'elbow'; check the actuators"),
    ("stale_feedback", {"joint": "elbow"}, "its feedback is 0.1"),
]


@pytest.mark.parametrize(("fault", "keys", "reason"), LOST)
async def test_it_stops_softly_where_its_leader_is_lost(
    pair: Pair, fault: str, keys: dict[str, Any], reason: str
) -> None:
    goal_id = await pair.follows()
    await pair.together()
    await pair.ask("other", "play", motion="long")
    await asyncio.sleep(3.0)
    await pair.ask("other", "fault", fault=fault, **keys)
    result = await pair.rig.rest_after(goal_id)
    assert result["code"] == "CANCELED"
    assert result["message"].startswith(f"other does not lead any more; {reason}")
    assert pair.events("leader_lost") == [result["message"]]
    assert result["details"]["leader"] == "other"
    assert pair.status()["torque"]
    keeps_limits(pair.setpoints())


async def test_it_stops_softly_where_its_leader_is_offline(pair: Pair) -> None:
    goal_id = await pair.follows()
    await pair.ask("other", "fault", fault="crash")
    assert (await pair.rig.rest_after(goal_id))["message"] == (
        "other does not lead any more; it is offline; the stream process ended unasked (killed by signal 6)"
    )
    keeps_limits(pair.setpoints())


async def test_it_stops_softly_where_its_leader_is_halted(pair: Pair) -> None:
    goal_id = await pair.follows()
    await pair.together()
    await pair.ask("other", "estop")
    result = await pair.rig.rest_after(goal_id)
    assert (result["code"], result["message"]) == (
        "CANCELED",
        "other does not lead any more; its emergency stop is latched",
    )
    assert (await pair.refused("arm", "follow/start", leader="other")) == (
        "NOT_ALLOWED",
        "arm: it cannot follow other; its emergency stop is latched",
    )


async def test_a_leader_without_torque_is_watched_too(pair: Pair) -> None:
    assert not pair.status("other")["torque"]
    goal_id = await pair.follows()
    await pair.together()
    await pair.ask("other", "fault", fault="stale_feedback", joint="elbow")
    assert (await pair.rig.rest_after(goal_id))["message"].startswith(
        "other does not lead any more; its feedback is 0.1"
    )


async def test_a_leader_that_jumps_moves_it_within_its_limits(pair: Pair) -> None:
    rng = np.random.default_rng(3)
    await pair.follows()
    await pair.together()
    for _ in range(40):
        joint, by = JOINTS[rng.integers(2)], float(rng.uniform(-1.5, 1.5))
        await pair.ask("other", "fault", fault="displaced", joint=joint, by=by)
        await asyncio.sleep(float(rng.uniform(0.01, 0.3)))
    keeps_limits(pair.setpoints())
    assert np.ptp(pair.setpoints(), axis=0).min() > 1.0


async def test_what_cannot_lead_is_refused_by_name(pair: Pair) -> None:
    assert [
        await pair.refused("arm", "follow/start", leader="ther"),
        await pair.refused("arm", "follow/start", leader="arm"),
        await pair.refused("arm", "follow/start", leader="other", map={"elbow": {"from": "J2"}}),
    ] == [
        ("UNKNOWN_ROBOT", "no robot 'ther'; there are arm, other, third; did you mean 'other'?"),
        ("NOT_ALLOWED", "arm: it cannot follow arm; it would follow itself; choose another leader"),
        (
            "INVALID_REQUEST",
            (
                "other, leading arm: there is no column 'J2' for joint 'elbow'; it has shoulder, elbow; "
                "if these are the robot's joints, it needs no map; else write `J2: elbow`"
            ),
        ),
    ]
    assert pair.status()["state"] == "idle"


async def test_a_follower_may_lead_but_not_in_a_circle(pair: Pair) -> None:
    await pair.ask("third", "teach/start")
    await pair.follows("other", "third")
    await pair.together("other")
    await pair.follows("arm", "other")
    await pair.together("arm")
    await pair.ask("third", "fault", fault="hand", joint="elbow", to=0.5, for_s=1.0)
    await asyncio.sleep(1.5)
    assert pair.measured("arm") == pytest.approx([0.0, 0.5], abs=0.002)
    await pair.ask("third", "teach/stop")
    assert await pair.refused("third", "follow/start", leader="arm") == (
        "NOT_ALLOWED",
        "third: it cannot follow arm; arm follows other follows third; choose another leader",
    )


async def test_a_circle_of_those_that_come_to_rest_keeps_nobody_from_following(pair: Pair) -> None:
    await pair.follows()
    await pair.together()
    await pair.ask("other", "play", motion="long")
    await asyncio.sleep(3.0)
    plays = asyncio.create_task(pair.ask("arm", "play", motion="short", on_busy="replace"))
    await pair.begins("arm")
    turns = asyncio.create_task(pair.follows("other", "arm", on_busy="replace"))
    await pair.begins("other")
    assert pair.robot("arm").session.state == "following"  # it has not heard of its stop yet
    pair.robot("arm").session.stop("stopped on request")
    await pair.follows("third", "other")
    await pair.together("third")
    assert isinstance((await asyncio.gather(plays, turns, return_exceptions=True))[0], RequestError)


NOT_KEPT = "no follow/keep_alive came for 0.5 s; whoever began this may have gone"


async def test_it_stops_softly_once_nobody_keeps_it_alive(pair: Pair) -> None:
    goal_id = await pair.follows(keep_alive_s=0.5)
    await pair.together()
    await pair.ask("other", "play", motion="long")
    for _ in range(20):
        assert await pair.ask("arm", "follow/keep_alive", goal_id=goal_id) == {"goal_id": goal_id}
        await asyncio.sleep(0.4)
    assert pair.status()["state"] == "following"
    last_s = asyncio.get_running_loop().time()
    result = await pair.rig.rest_after(goal_id)
    stop_s = pair.robot("arm").planner.follow_goal(StartFollowRequest(), None).stops_within_s(0.0)
    assert 0.1 <= asyncio.get_running_loop().time() - last_s <= 0.1 + stop_s + 0.1
    assert (result["code"], result["message"]) == ("CANCELED", NOT_KEPT)
    assert pair.events("follow_timeout") == [NOT_KEPT]
    assert pair.status("other")["state"] == "playing"
    keeps_limits(pair.setpoints())


async def test_it_needs_nobody_where_it_was_not_begun_so(pair: Pair) -> None:
    goal_id = await pair.follows()
    await asyncio.sleep(70.0)
    assert pair.status()["state"] == "following"
    assert await pair.refused("arm", "follow/keep_alive", goal_id=goal_id) == (
        "NOT_ALLOWED",
        "arm/follow/keep_alive: it keeps nothing alive; its follow/start has no keep_alive_s",
    )


async def test_another_goal_keeps_nothing_alive(pair: Pair) -> None:
    first = await pair.follows()
    await pair.ask("arm", "follow/stop")
    await pair.rig.result_of(first)
    await pair.until_idle()
    second = await pair.follows(keep_alive_s=0.5)
    code, message = await pair.refused("arm", "follow/keep_alive", goal_id=first)
    assert code == "UNKNOWN_GOAL"
    assert message.startswith(f"arm: goal '{first}' is not followed; it ended with SUCCESSFUL")
    assert (await pair.rig.result_of(second))["message"] == NOT_KEPT


async def test_it_takes_no_targets_of_clients(pair: Pair) -> None:
    goal_id = await pair.follows()
    assert await pair.refused("arm", "follow/target", goal_id=goal_id, positions=[0.0, 0.0]) == (
        "NOT_ALLOWED",
        "arm: no target is taken; it follows other; send follow/stop first",
    )


async def test_motions_may_be_read_again_meanwhile(pair: Pair) -> None:
    goal_id = await pair.follows()
    await pair.together()
    await pair.ask("other", "play", motion="long")
    for robot in ("arm", "other"):
        await pair.ask(robot, "motions/reload")
    await asyncio.sleep(1.0)
    assert pair.status()["goal_id"] == goal_id
    await pair.ask("arm", "follow/stop")
    assert (await pair.rig.result_of(goal_id))["code"] == "SUCCESSFUL"
