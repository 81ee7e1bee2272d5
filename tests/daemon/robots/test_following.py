"""A robot follows targets, with its real stream process on simulated actuators, on virtual time."""

from __future__ import annotations

import asyncio
import time
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest

from motiond.daemon.api import Dispatcher, RawRequest
from motiond.daemon.config.settings import load_settings
from motiond.daemon.robots import make_setup
from motiond.daemon.robots.session import FollowGoal
from motiond.daemon.stream.engine.pursuit import FollowLimits
from motiond.drivers import ActuatorLimits
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import RATE_HZ, Rig, ask, refused, sweep, write_seq
from tests.daemon.robots.stage import ok, reply_to

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from motiond.daemon.robots.registry import RobotRegistry

LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 40.0}
PERIOD_S = 0.02
NO_LIMITS = ActuatorLimits.none(2)


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.robot["joints"] = {name: {"limits": LIMITS} for name in rig.robot["joints"]}
    return rig


class Follower:
    """A robot, and a client that sends it targets."""

    def __init__(self, rig: Rig, registry: RobotRegistry) -> None:
        self.rig, self.registry = rig, registry

    async def starts(self, **keys: Any) -> str:
        goal_id: str = (await ask(self.registry, "follow/start", **keys))["goal_id"]
        return goal_id

    async def sends(self, goal_id: str, *targets: Sequence[float | None], **keys: Any) -> None:
        """Send targets, one in each period."""
        for target in targets:
            await ask(self.registry, "follow/target", goal_id=goal_id, positions=target, **keys)
            await asyncio.sleep(PERIOD_S)

    async def swings(self, goal_id: str, *, periods: int = 25) -> None:
        """Send a target further on in each period, so that it moves all the time."""
        await self.sends(goal_id, *([0.02 * step, -0.01 * step] for step in range(periods)))

    @property
    def state(self) -> dict[str, Any]:
        return {**self.registry.members["arm"].robot.state_payload()}

    @property
    def events(self) -> list[str]:
        """The kinds of events that were reported."""
        return [event["kind"] for event in self.rig.reports_on("event")]

    @property
    def position(self) -> list[float]:
        """The setpoint that was put out last."""
        row: list[float] = read_trace(self.rig.folder / "trace.npy")["position"][-1].tolist()
        return row


@pytest.fixture
async def follower(rig: Rig) -> AsyncIterator[Follower]:
    async with rig.running() as registry:
        await rig.until_state("idle")
        yield Follower(rig, registry)


# -- from the beginning to the end --------------------------------------------------------------------------


async def test_it_goes_where_targets_lead_and_ends_well_once_that_is_asked_for(follower: Follower) -> None:
    assert not follower.state["torque"]
    answer = await ask(follower.registry, "follow/start")
    assert (answer["joints"], answer["rate_hz"]) == (["shoulder", "elbow"], 200.0)
    goal_id = answer["goal_id"]
    await follower.rig.until_state("following")
    await follower.sends(goal_id, *[[0.3, -0.2]] * 50)
    assert {key: follower.state[key] for key in ("state", "motion", "goal_id", "torque")} == {
        "state": "following",
        "motion": "follow",
        "goal_id": goal_id,
        "torque": True,
    }
    stopped = await ask(follower.registry, "follow/stop")
    assert stopped["goal_id"] == goal_id
    result = await follower.rig.rest_after(goal_id)
    assert (result["code"], result["message"], result["motion"], result["follows"]) == (
        "SUCCESSFUL",
        "following has ended on request; the robot holds",
        "follow",
        "hold",
    )
    assert result["details"]["follow"]["targets"] == 50
    assert follower.position == pytest.approx([0.3, -0.2], abs=1e-9)
    assert follower.events == []


@pytest.mark.parametrize(
    ("ends", "code", "message"),
    [
        ("stop", "CANCELED", "stopped on request"),
        ("silence", "CANCELED", "no target came for 0.2 s; the robot stops softly and holds"),
        ("replace", "PREEMPTED", "another motion was asked to replace this one"),
        ("estop", "ESTOP", None),
    ],
)
async def test_it_ends_softly_with_one_result_that_says_why(
    follower: Follower, ends: str, code: str, message: str | None
) -> None:
    goal_id = await follower.starts()
    await follower.swings(goal_id)
    if ends == "replace":
        await ask(follower.registry, "play", motion="short", on_busy="replace")
    elif ends != "silence":
        await ask(follower.registry, ends)
    result = await follower.rig.result_of(goal_id)
    assert result["code"] == code
    assert message in {None, result["message"]}
    assert follower.events == (["follow_timeout"] if ends == "silence" else [])
    if ends != "estop":
        await follower.rig.until_state("idle", follower.rig.place_of(result))
    results = follower.rig.reports_on("result")
    assert [one["goal_id"] for one in results].count(goal_id) == 1
    positions = read_trace(follower.rig.folder / "trace.npy")["position"]
    fastest = np.abs(np.diff(positions, axis=0)).max(axis=0)
    assert (fastest <= LIMITS["velocity"] / 200.0 * (1 + 1e-6)).all()


@pytest.mark.parametrize("acceleration", [2.0, 40.0, None])
@pytest.mark.parametrize("verb", ["stop", "follow/stop"])
async def test_a_stop_takes_no_longer_than_its_answer_says(
    rig: Rig, verb: str, acceleration: float | None
) -> None:
    for joint in rig.robot["joints"].values():
        joint["limits"] = {**LIMITS, "acceleration": acceleration}
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal_id = (await ask(registry, "follow/start", mode="velocity", timeout_s=5.0))["goal_id"]
        for velocities in ([2.5, -0.5], [3.0, -3.0]):  # faster and faster, when the stop comes
            await ask(registry, "follow/target", goal_id=goal_id, velocities=velocities)
            await asyncio.sleep(0.3)
        begin_s = asyncio.get_running_loop().time()
        within_s = (await ask(registry, verb))["stops_within_s"]
        await rig.rest_after(goal_id)
        took_s = asyncio.get_running_loop().time() - begin_s
        assert 0.05 < took_s <= within_s + 3.0 / 200.0


@pytest.mark.parametrize("on_exit", ["hold", "park"])
async def test_the_end_of_the_daemon_ends_it_and_what_is_to_follow_does(rig: Rig, on_exit: str) -> None:
    rig.robot |= {"on_exit": on_exit, "poses": {"park": {"shoulder": 0.5}}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        follower = Follower(rig, registry)
        goal_id = await follower.starts()
        await follower.swings(goal_id)
        registry.leave()
        result = await rig.result_of(goal_id)
    assert (result["motion"], result["code"]) == ("follow", "CANCELED")
    ended = [(one["motion"], one["code"]) for one in rig.reports_on("result")]
    assert ended == [("follow", "CANCELED"), *([("park", "SUCCESSFUL")] if on_exit == "park" else [])]


async def test_the_loss_of_its_stream_process_ends_it(follower: Follower) -> None:
    goal_id = await follower.starts()
    await follower.swings(goal_id)
    follower.rig.send_signal(follower.registry.members["arm"].robot.stream.pid, SIGKILL)
    result = await follower.rig.result_of(goal_id)
    assert (result["code"], result["details"]["follow"]["refused"]) == ("COMM_LOST", 0)
    await follower.rig.until_state("idle", follower.rig.place_of(result))
    refusal = await refused(follower.registry, "follow/target", goal_id=goal_id, positions=[0.1, 0.1])
    assert refusal[0] == "UNKNOWN_GOAL"


async def test_what_it_does_while_it_follows_is_in_its_state_once_a_second(follower: Follower) -> None:
    goal_id = await follower.starts(joints=["elbow"])
    await follower.sends(goal_id, *[[0.1]] * 130)
    follow = follower.state["follow"]
    assert {key: follow[key] for key in ("joints", "mode", "clipped", "dropped", "refused")} == {
        "joints": ["elbow"],
        "mode": "position",
        "clipped": 0,
        "dropped": 0,
        "refused": 0,
    }
    assert follow["targets_hz"] == pytest.approx(1 / PERIOD_S, abs=2.0)
    assert follow["lag"]["joint"] == "elbow"
    assert 0.0 <= follow["latency_s"]["p50"] <= follow["latency_s"]["max"]
    await ask(follower.registry, "stop")
    result = await follower.rig.rest_after(goal_id)
    counts = ("targets", "clipped", "dropped", "refused", "latency_s", "lag", "held_by")
    assert tuple(result["details"]["follow"]) == counts
    assert follow.keys() > set(counts)
    assert "follow" not in follower.state


async def test_what_is_beyond_a_limit_is_clipped_and_what_was_overtaken_dropped_and_both_counted(
    follower: Follower,
) -> None:
    goal_id, now = await follower.starts(timeout_s=1.0), time.time()
    await follower.sends(goal_id, [3.0, -0.3], sent_at=now)
    await follower.sends(goal_id, *[[0.0, 0.0]] * 40, sent_at=now - 1.0)
    await asyncio.sleep(1.0)  # the time-out, which what was dropped has not renewed
    result = await follower.rig.rest_after(goal_id)
    assert (result["code"], follower.events) == ("CANCELED", ["follow_timeout"])
    older = "no target came for 1 s but 40 older than the last, by sent_at"
    assert result["message"] == f"{older}; the robot stops softly and holds"
    counts = {key: result["details"]["follow"][key] for key in ("targets", "clipped", "dropped", "refused")}
    assert counts == {"targets": 1, "clipped": 1, "dropped": 40, "refused": 0}
    positions = read_trace(follower.rig.folder / "trace.npy")["position"]
    assert positions.max() <= LIMITS["upper"]
    assert follower.position == pytest.approx([2.0, -0.3], abs=1e-6)


async def test_targets_that_are_none_of_it_are_refused_and_counted(follower: Follower) -> None:
    goal_id = await follower.starts()
    await follower.sends(goal_id, [0.1, None])
    registry = follower.registry
    for values, problem in (
        ({"positions": [0.1]}, "it has 1 values; 2 joints are followed"),
        ({"velocities": [0.1, 0.1]}, "it has no positions, which this follow takes"),
    ):
        refusal = await refused(registry, "follow/target", goal_id=goal_id, **values)
        assert refusal == ("INVALID_REQUEST", f"arm/follow: {problem}; correct it")
    assert follower.state["follow"]["refused"] == 2
    never = "goal 'none' is not followed; it is over, or never was; send follow/start first"
    assert await refused(registry, "follow/target", goal_id="none", positions=[0.1, 0.1]) == (
        "UNKNOWN_GOAL",
        f"arm: {never}",
    )
    await ask(registry, "stop")
    await follower.rig.rest_after(goal_id)
    over = "it ended with CANCELED; stopped on request; send follow/start first"
    assert await refused(registry, "follow/target", goal_id=goal_id, positions=[0.1, 0.1]) == (
        "UNKNOWN_GOAL",
        f"arm: goal '{goal_id}' is not followed; {over}",
    )
    assert await refused(registry, "follow/stop") == (
        "NOT_PLAYING",
        "arm: it follows nothing; the robot is idle; send follow/start first",
    )


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"joints": ["elbo"]}, "no joint 'elbo'; it has shoulder, elbow; did you mean 'elbow'?"),
        ({"joints": ["elbow", "elbow"]}, "'joints' names one twice; leave one out"),
    ],
)
async def test_joints_that_cannot_follow_are_refused_by_name(
    follower: Follower, keys: dict[str, Any], problem: str
) -> None:
    refusal = await refused(follower.registry, "follow/start", **keys)
    assert refusal == ("INVALID_REQUEST", f"arm/follow/start: {problem}")
    assert not follower.state["torque"]


async def test_while_it_follows_nothing_else_begins_or_waits_and_nothing_is_paused(
    follower: Follower,
) -> None:
    goal_id, registry = await follower.starts(timeout_s=5.0), follower.registry
    await follower.sends(goal_id, [0.1, 0.1])
    assert await refused(registry, "follow/start") == (
        "BUSY",
        "arm: busy with follow; one motion plays at a time; stop it first, or replace it",
    )
    reason = "follow, before it, goes on until it is stopped; stop that, or replace it"
    assert await refused(registry, "play", motion="short", on_busy="queue") == (
        "BUSY",
        f"arm: short would wait for ever; {reason}",
    )
    verbs: dict[str, dict[str, Any]] = {
        "pause": {},
        "resume": {},
        "speed": {"speed": 0.5},
        "seek": {"frame": 1},
    }
    for verb, values in verbs.items():
        assert (await refused(registry, verb, **values))[0] == "NOT_PLAYING"
    held = "arm: torque cannot be switched off; it follows targets; stop it first"
    assert await refused(registry, "disable") == ("BUSY", held)
    busy = "arm: busy with follow; one motion plays at a time; stop it first, or replace it"
    assert await refused(registry, "play", motion="short") == ("BUSY", busy)
    assert follower.state["goal_id"] == goal_id
    other = await follower.starts(on_busy="replace")
    assert (await follower.rig.result_of(goal_id))["code"] == "PREEMPTED"
    assert follower.state["goal_id"] == other


async def test_it_has_the_robot_to_itself(rig: Rig) -> None:
    for name, joint, duration_s in (("nod", "shoulder", 1.0), ("grip", "elbow", 8.0)):
        write_seq(rig.folder / "motions" / f"{name}.seq", sweep(duration_s, joints=1), (joint,), RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        nods = (await ask(registry, "play", motion="nod"))["goal_id"]
        grips = (await ask(registry, "play", motion="grip", on_busy="beside"))["goal_id"]
        await rig.result_of(nods)
        assert (await refused(registry, "follow/start"))[0] == "BUSY"
        goal_id = (await ask(registry, "follow/start", on_busy="replace", timeout_s=5.0))["goal_id"]
        assert (await rig.result_of(grips))["code"] == "PREEMPTED"
        refusal = await refused(registry, "play", motion="grip", on_busy="beside")
        reason = "what follows targets has the robot to itself; play it afterwards, or replace that"
        assert refusal == ("BUSY", f"arm: busy with follow; {reason}")
        await rig.until_state("following")
        (goal,) = (await ask(registry, "status"))["goals"]
    assert (goal["goal_id"], goal["joints"], goal["state"], goal["beside"]) == (
        goal_id,
        ["shoulder", "elbow"],
        "following",
        False,
    )


async def test_it_is_recorded_and_kept_as_a_motion_is_and_can_be_played_again(rig: Rig) -> None:
    rig.robot["recording"] = {"folder": "recordings", "when": "motion"}
    async with rig.running() as registry:
        await rig.until_state("idle")
        follower = Follower(rig, registry)
        goal_id = await follower.starts()
        await follower.swings(goal_id)
        await ask(registry, "follow/stop")
        result = await rig.rest_after(goal_id)
        await rig.until("recording", lambda data: not data["recording"], rig.place_of(result))
        begun, ended = setpoints(rig)
        (recorded,) = (await ask(registry, "recordings"))["recordings"]
        assert (recorded["file"], recorded["motions"], recorded["codes"]) == (
            result["recording"],
            ["follow"],
            ["SUCCESSFUL"],
        )
        (kept,) = (await ask(registry, "history"))["results"]
        assert (kept["motion"], kept["goal_id"], kept["code"]) == ("follow", goal_id, "SUCCESSFUL")
        again = (await ask(registry, "play", motion=recorded["name"]))["goal_id"]
        assert (await rig.rest_after(again))["code"] == "SUCCESSFUL"
    assert ended > begun + 100
    rows = read_trace(rig.folder / "trace.npy")["position"]
    moved = rows[begun:ended]
    assert any(np.array_equal(rows[at : at + len(moved)], moved) for at in range(ended, len(rows)))


def setpoints(rig: Rig) -> tuple[int, int]:
    """Return where the setpoints have begun to move, and where they have ended."""
    steps = np.abs(np.diff(read_trace(rig.folder / "trace.npy")["position"], axis=0)).max(axis=1)
    moving = np.flatnonzero(steps)
    return int(moving[0]), int(moving[-1]) + 2


# -- chunks -------------------------------------------------------------------------------------------------


async def test_a_chunk_is_gone_through_in_its_times_and_a_later_one_replaces_what_is_left(
    follower: Follower,
) -> None:
    goal_id, registry = await follower.starts(joints=["elbow"]), follower.registry
    rows = [[0.02 * row] for row in range(31)]
    await ask(registry, "follow/chunk", goal_id=goal_id, positions=rows, period_s=0.05)
    await asyncio.sleep(0.78)
    assert follower.position[1] == pytest.approx(0.312, abs=0.01)
    back = [[0.3 - 0.02 * row] for row in range(11)]
    times = [0.05 * row for row in range(11)]
    await ask(registry, "follow/chunk", goal_id=goal_id, positions=back, times=times)
    await asyncio.sleep(0.4)
    assert follower.position[1] == pytest.approx(0.14, abs=0.01)
    result = await follower.rig.rest_after(goal_id)  # once the time-out is over from the end of the chunk
    assert (result["code"], result["details"]["follow"]["targets"]) == ("CANCELED", 2)
    assert follower.position == pytest.approx([0.0, 0.1], abs=1e-6)


async def test_a_chunk_may_have_a_thousand_rows_over_every_transport(follower: Follower) -> None:
    goal_id = await follower.starts()
    rows = [[0.0001 * row, 0.0] for row in range(1000)]
    body = {"goal_id": goal_id, "positions": rows, "period_s": 0.001}
    await ok(follower.registry, "follow/chunk", **body)
    await asyncio.sleep(1.2)
    assert follower.position == pytest.approx([0.0999, 0.0], abs=1e-6)
    more = await reply_to(follower.registry, "follow/chunk", **{**body, "positions": [*rows, [0.1, 0.0]]})
    assert more["error"].startswith("arm/follow/chunk: 'positions' is ")


async def test_rows_of_a_chunk_beyond_a_limit_are_clipped_to_it_and_counted(follower: Follower) -> None:
    goal_id = await follower.starts(timeout_s=1.0)
    await ask(follower.registry, "follow/chunk", goal_id=goal_id, positions=[[2.5, 0.1]] * 3, period_s=0.5)
    result = await follower.rig.rest_after(goal_id)
    assert result["details"]["follow"]["clipped"] == 1
    assert follower.position == pytest.approx([2.0, 0.1], abs=1e-9)


async def test_the_curve_through_a_chunk_is_made_for_the_limits_of_the_stream_process(rig: Rig) -> None:
    """Where one is not known, too."""
    rig.robot["joints"]["elbow"]["limits"] = {"lower": -1.0, "upper": 1.5, "velocity": 2.0}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "follow/start")
        goal, settings = (robot := registry.members["arm"].robot).session.goal, robot.settings
        assert isinstance(goal, FollowGoal)
        whole = load_settings(rig.config)
        setup = make_setup("arm", settings, whole, robot.planner.joint_map, {}, allowed=NO_LIMITS)
    theirs = FollowLimits(setup, NO_LIMITS).own
    for kind in ("lower", "upper", "velocity", "acceleration", "jerk"):
        assert getattr(goal.limits, kind).tolist() == getattr(theirs, kind).tolist()


async def test_a_chunk_that_does_not_fit_is_refused(follower: Follower) -> None:
    goal_id, row = await follower.starts(timeout_s=5.0), [0.1, 0.1]
    chunks: list[tuple[dict[str, Any], str]] = [
        (
            {"positions": [[0.1]], "period_s": 0.1},
            "arm/follow: a row has not one value for each of the 2 joints that are followed",
        ),
        ({"positions": [row], "lease": "secret"}, "arm/follow/chunk: it must have either period_s or times"),
        (
            {"positions": [row], "times": [0.0, 0.1]},
            "arm/follow/chunk: it has 1 rows and 2 times; each row has one",
        ),
        (
            {"positions": [row] * 2, "times": [0.1, 0.1]},
            "arm/follow/chunk: its times must ascend, by a microsecond or more",
        ),
    ]
    for keys, problem in chunks:
        reply = await reply_to(follower.registry, "follow/chunk", goal_id=goal_id, **keys)
        assert (reply["code"], reply["error"]) == ("INVALID_REQUEST", f"{problem}; correct it")


@pytest.mark.parametrize(
    ("verb", "keys"),
    [
        ("target", {"positions": [0.1, 0.1], "sent_at": 90.0}),
        ("chunk", {"positions": [[0.1, 0.1]], "period_s": 0.1, "sent_at": 90.0}),
        ("chunk", {"positions": [[0.1, 0.1]], "period_s": 0.1, "start_at": 90.0}),
    ],
)
async def test_a_time_far_from_now_is_refused_as_it_would_keep_all_others_out(
    follower: Follower, verb: str, keys: dict[str, Any]
) -> None:
    goal_id, now = await follower.starts(), time.time()
    times = {key: now + keys[key] for key in ("sent_at", "start_at") if key in keys}
    body = keys | times | {"goal_id": goal_id}
    refusal = await refused(follower.registry, f"follow/{verb}", **body)
    problem = f"{next(iter(times))} is 90.0 s from now; at most 60 s are allowed"
    assert refusal == ("INVALID_REQUEST", f"arm/follow: {problem}; correct it")


# -- control ------------------------------------------------------------------------------------------------


LOSSES = {
    "released": "ana has released control",
    "taken": "bob took control from ana",
    "run out": "the lease of ana has run out; it was not renewed for 600 s",
}


@pytest.mark.parametrize("on_loss", ["stop", "play_on"])
@pytest.mark.parametrize("loss", LOSSES)
async def test_it_ends_where_whoever_began_it_is_in_control_no_more(
    rig: Rig, loss: str, on_loss: str
) -> None:
    rig.robot["lease"] = {"required": True, "ttl_s": 600.0, "on_loss": on_loss}
    async with rig.running() as registry:
        await rig.until_state("idle")
        assert (await reply_to(registry, "follow/start"))["code"] == "NOT_IN_CONTROL"
        lease = (await ok(registry, "lease/acquire", holder="ana"))["lease"]
        goal_id = (await ok(registry, "follow/start", lease=lease))["goal_id"]
        target = {"goal_id": goal_id, "positions": [0.1, 0.1]}
        assert (await reply_to(registry, "follow/target", **target))["code"] == "NOT_IN_CONTROL"
        await ok(registry, "follow/target", lease=lease, **target)
        await rig.until_state("following")
        match loss:
            case "released":
                await ok(registry, "lease/release", lease=lease)
            case "taken":
                await ok(registry, "lease/take", holder="bob")
            case _:
                registry.leases["arm"]._ends_s = 0.0
        result = await rig.rest_after(goal_id)
        assert (result["code"], result["message"]) == ("CANCELED", LOSSES[loss])


# -- without an answer --------------------------------------------------------------------------------------


async def test_targets_that_nobody_waits_for_are_passed_on_and_their_refusals_logged_now_and_then(
    follower: Follower, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "motiond")
    dispatcher = Dispatcher(follower.registry)
    goal_id = await follower.starts()
    body = orjson.dumps({"goal_id": goal_id, "positions": [0.2, 0.1]})
    for _ in range(30):
        dispatcher.take(RawRequest("arm", "follow/target", body, "ana"))
        await asyncio.sleep(PERIOD_S)
    assert follower.position == pytest.approx([0.2, 0.1], abs=1e-9)
    assert not [line for line in caplog.messages if "follow/target" in line]
    await ask(follower.registry, "stop")
    await follower.rig.rest_after(goal_id)
    for _ in range(1000):
        dispatcher.take(RawRequest("arm", "follow/target", body, "ana"))
    lines = [line for line in caplog.messages if "follow/target" in line]
    assert lines[0] == (
        f"arm/follow/target: refused to ana; arm: goal '{goal_id}' is not followed; "
        "it ended with CANCELED; stopped on request; send follow/start first"
    )
    assert len(lines) <= 10


async def test_targets_that_cannot_be_read_are_counted_whether_somebody_waits_or_not(
    follower: Follower,
) -> None:
    dispatcher, goal_id = Dispatcher(follower.registry), await follower.starts()
    for place, body in enumerate(
        [
            {"goal_id": goal_id, "positions": [True, 0.1]},
            {"goal_id": goal_id, "positions": [1e7, 0.1]},
            {"goal_id": goal_id, "velocity": [0.1, 0.1]},
        ]
    ):
        raw = RawRequest("arm", "follow/target", orjson.dumps(body))
        assert dispatcher.take(raw) is not None
        assert dispatcher.take(raw, body) is not None
        assert orjson.loads(await dispatcher.answer(raw))["code"] == "INVALID_REQUEST"
        assert follower.state["follow"]["refused"] == 3 * (place + 1)
    chunk = {"goal_id": goal_id, "positions": [[0.1, 0.1]], "period_s": -1.0}
    for unread in (chunk, chunk | {"goal_id": "none"}, chunk | {"goal_id": 3}):
        dispatcher.take(RawRequest("arm", "follow/chunk", orjson.dumps(unread)))
    assert follower.state["follow"]["refused"] == 10


async def test_a_flood_of_targets_costs_a_stop_nothing_and_the_newest_of_them_counts(
    follower: Follower,
) -> None:
    dispatcher, goal_id = Dispatcher(follower.registry), await follower.starts()
    for number in range(3000):
        positions = [0.3 * number / 3000, None if number % 2 else 0.2]
        body = orjson.dumps({"goal_id": goal_id, "positions": positions})
        dispatcher.take(RawRequest("arm", "follow/target", body))
    await asyncio.sleep(0.19)
    dropped = follower.state["follow"]["dropped"]
    assert dropped == 3000 - 2
    await follower.sends(goal_id, *[[None, None]] * 20)
    assert follower.position == pytest.approx([0.3 * 2999 / 3000, 0.2], abs=1e-9)
    await ask(follower.registry, "stop")
    result = await follower.rig.rest_after(goal_id)
    assert result["details"]["follow"]["targets"] == 22


async def test_a_stop_finds_room_while_the_stream_process_hangs_and_targets_come(follower: Follower) -> None:
    goal_id = await follower.starts(timeout_s=10.0)
    await follower.sends(goal_id, [0.1, 0.1])
    robot = follower.registry.members["arm"].robot
    follower.rig.send_signal(robot.stream.pid, SIGSTOP)
    for _ in range(3000):
        await ask(follower.registry, "follow/target", goal_id=goal_id, positions=[0.2, 0.2])
        await asyncio.sleep(0.001)
    number = robot.session.stop("stopped while it hangs")
    follower.rig.send_signal(robot.stream.pid, SIGCONT)
    await robot.obeyed(number, "the stop")
    result = await follower.rig.rest_after(goal_id)
    assert (result["code"], result["message"]) == ("CANCELED", "stopped while it hangs")
