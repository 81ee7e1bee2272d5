"""A robot is taught by hand: simulated hands move simulated actuators, on virtual time."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

from motiond.daemon.api import RequestError
from motiond.daemon.ipc import messages
from motiond.daemon.ipc.ring import COLUMN, slices, width
from motiond.daemon.ipc.states import STATES, State
from motiond.daemon.robots.taught.draft import Draft
from motiond.drivers.sim.command_log import read_trace
from motiond.formats import load_motion
from tests.daemon.rig import UNLIMITED, Rig, ask, refused
from tests.daemon.robots.stage import Stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from motiond.daemon.robots.registry import RobotRegistry

OFF = messages.Changed("idle", torque=False, goal_id=None, reference=None)
TAUGHT = "it is being taught; send teach/stop first"
LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 40.0}


class Hand:
    """A robot, and a hand that moves it."""

    def __init__(self, rig: Rig, registry: RobotRegistry) -> None:
        self.rig, self.registry = rig, registry
        self.robot = registry.members["arm"].robot
        self.folder = rig.folder / "taught"

    async def ask(self, verb: str, **values: Any) -> dict[str, Any]:
        return await ask(self.registry, verb, **values)

    async def refused(self, verb: str, **values: Any) -> tuple[str, str]:
        return await refused(self.registry, verb, **values)

    async def moves(self, for_s: float = 1.0, **to: float) -> None:
        for joint, place in to.items():
            await self.ask("fault", fault="hand", joint=joint, to=place, for_s=for_s)
        await asyncio.sleep(for_s + 0.2)

    async def waves(self) -> dict[str, Any]:
        """Teach a short movement; return what stopping it has answered."""
        await self.ask("teach/start")
        await asyncio.sleep(0.5)
        await self.moves(shoulder=0.3, elbow=-0.2)
        await self.moves(shoulder=0.0, elbow=0.0)
        return await self.ask("teach/stop")

    async def plays(self, motion: str) -> str:
        goal = await self.ask("play", motion=motion)
        code: str = (await self.rig.rest_after(goal["goal_id"]))["code"]
        return code

    @property
    def teaching(self) -> dict[str, Any]:
        """What was reported last of teaching."""
        return [dict(one.data) for one in self.rig.reports if one.subject == "teaching"][-1]

    @property
    def events(self) -> list[str]:
        """Why it was not taught any more, each time."""
        events = [one.data for one in self.rig.reports if one.subject == "event"]
        return [event["message"] for event in events if event["kind"] == "teaching"]

    @property
    def state(self) -> dict[str, Any]:
        return {**self.robot.state_payload()}


@pytest.fixture
def rig(rig: Rig) -> Rig:
    (rig.folder / "taught").mkdir()
    rig.robot["joints"] = {name: {"limits": LIMITS} for name in rig.robot["joints"]}
    rig.robot |= {"motions": ["motions", {"folder": "taught", "upload": True}], "fault_requests": True}
    rig.robot["groups"] = ["choir"]
    return rig


@pytest.fixture
async def hand(rig: Rig) -> AsyncIterator[Hand]:
    async with rig.running() as registry:
        await rig.until_state("idle")
        yield Hand(rig, registry)


# -- what was moved -----------------------------------------------------------------------------------------


async def test_what_a_hand_has_moved_is_recorded_checked_saved_and_played(hand: Hand) -> None:
    stopped = await hand.waves()
    assert stopped["duration_s"] == pytest.approx(2.9, abs=0.1)
    assert stopped["rows"] == pytest.approx(100.0 * stopped["duration_s"], abs=2.0)
    assert {key: stopped[key] for key in ("poses", "problems", "ended_because", "holds")} == {
        "poses": 0,
        "holds": True,
        "problems": [],
        "ended_because": "ended on request; the robot holds",
    }
    saved = await hand.ask("teach/save", name="wave")
    assert (saved["motion"], saved["file"], saved["saved"], saved["problems"]) == (
        "wave",
        "wave.csv",
        True,
        [],
    )
    assert 0.0 < saved["deviation"]["shoulder"] <= 0.005
    peaks = {peak["joint"]: peak for peak in saved["peaks"]}
    assert {name: (peak["unit"], round(peak["lowest"], 1)) for name, peak in peaks.items()} == {
        "shoulder": ("rad", 0.0),
        "elbow": ("rad", -0.2),
    }
    assert peaks["shoulder"]["highest"] == pytest.approx(0.3, abs=0.006)
    motion = load_motion(hand.folder / "wave.csv")
    assert (motion.joint_names, motion.metadata["units"]["elbow"]) == (("shoulder", "elbow"), "rad")
    assert len(motion.times) == saved["rows"]
    assert await hand.plays("wave") == "SUCCESSFUL"
    assert hand.events == ["ended on request; the robot holds"]


async def test_every_tick_in_between_is_kept_and_none_before_or_after(hand: Hand) -> None:
    ticks: list[float] = []
    state, deadline_s = COLUMN["state"], COLUMN["deadline_s"]
    taught = STATES.index(State.TEACHING)
    hand.robot.taps.append(lambda records, _: ticks.extend(records[records[:, state] == taught, deadline_s]))
    stopped = await hand.waves()
    await asyncio.sleep(1.0)
    trail = hand.robot.draft.trail
    assert trail is not None
    assert len(ticks) == stopped["rows"] == len(trail)
    assert trail.rows()[0] == pytest.approx(np.array(ticks) - ticks[0], abs=1e-9)


def test_what_is_read_in_a_late_tick_is_kept_at_the_time_at_which_it_was_read() -> None:
    draft = Draft(["shoulder"], lambda *_, **__: None, lambda _: None)
    late_s, write_s, speed = np.array([0.0, 0.006, 0.001, 0.0]), 0.0005, 2.0
    due_s = 700.0 + np.arange(4) / 100.0
    rows = np.zeros((4, width(1)))
    rows[:, COLUMN["state"]] = STATES.index(State.TEACHING)
    rows[:, COLUMN["deadline_s"]] = rows[:, COLUMN["setpoint_s"]] = due_s
    rows[:, COLUMN["lateness_s"]], rows[:, COLUMN["write_s"]] = late_s, write_s
    rows[:, slices(1)["position"]] = speed * (due_s + late_s - 700.0)[:, None]
    draft.expect("released")
    draft.take(rows, 0)
    assert draft.trail is not None
    times, positions = draft.trail.rows()
    assert np.diff(positions[:, 0]) / np.diff(times) == pytest.approx([speed] * 3)


async def test_it_is_written_to_a_recording_as_well_so_that_no_crash_loses_it(rig: Rig) -> None:
    rig.robot["recording"] = {"folder": "recordings"}
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        await hand.ask("teach/start")
        report = await rig.until("recording", lambda data: data["why"] == "teaching")
        assert report["file"].endswith("_taught.mcap")
        await hand.moves(shoulder=0.3)
        reason = "it keeps what is taught by hand from being lost; it ends with the teaching"
        assert await hand.refused("record/stop") == ("BUSY", f"arm: its recording goes on; {reason}")
        stopped = await hand.ask("teach/stop")
        await asyncio.sleep(1.0)
        (recording,) = (await hand.ask("recordings"))["recordings"]
    assert (recording["why"], recording["is_written"], recording["gaps"]) == ("teaching", False, 0)
    assert recording["ticks"] >= stopped["rows"]


async def test_what_is_refused_leaves_no_recording(rig: Rig) -> None:
    rig.robot |= {"recording": {"folder": "recordings"}, "idle_rate_hz": 20.0}
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        await hand.refused("teach/start")
        await asyncio.sleep(1.0)
        assert (await hand.ask("recordings"))["recordings"] == []


async def test_it_can_be_saved_with_other_trims_as_often_as_wanted(hand: Hand) -> None:
    await hand.waves()
    whole = await hand.ask("teach/save", name="whole", trim=False)
    first = await hand.ask("teach/save", name="first", last_s=1.8)
    dry = await hand.ask("teach/save", name="dry", first_s=1.5, dry=True)
    assert whole["duration_s"] > 2.8
    assert 1.7 > first["duration_s"] > 1.0
    assert (dry["saved"], dry["rows"] > 100) == (False, True)
    assert sorted(path.name for path in hand.folder.iterdir()) == ["first.csv", "whole.csv"]
    assert (await hand.refused("play", motion="dry"))[0] == "UNKNOWN_MOTION"


async def test_what_is_saved_is_what_was_taught_when_that_was_asked_for(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = await hand.waves()
    load_again = hand.robot.motions.load_again

    async def load_while_it_is_taught_again() -> None:
        monkeypatch.undo()
        await hand.ask("teach/start")
        await asyncio.sleep(0.5)
        await load_again()

    monkeypatch.setattr(hand.robot.motions, "load_again", load_while_it_is_taught_again)
    saved = await hand.ask("teach/save", name="wave", trim=False)
    assert saved["duration_s"] == pytest.approx(stopped["duration_s"], abs=0.02)
    assert hand.state["state"] == "teaching"


async def test_a_motion_is_replaced_only_where_that_is_asked_for(hand: Hand) -> None:
    await hand.waves()
    await hand.ask("teach/save", name="wave")
    reason, fix = "it is replaced only on request", "set `replace`, or choose another name"
    message = f"arm: wave.csv is there already; {reason}; {fix}"
    refusal = await hand.refused("teach/save", name="wave.csv", last_s=1.8)
    assert refusal == ("INVALID_REQUEST", message)
    before = (hand.folder / "wave.csv").read_bytes()
    saved = await hand.ask("teach/save", name="wave", last_s=1.8, replace=True)
    assert (saved["saved"], (hand.folder / "wave.csv").read_bytes() == before) == (True, False)
    assert hand.robot.library.get("wave").frames == saved["rows"]  # type: ignore[union-attr]
    short = hand.rig.folder / "motions" / "short.seq"
    there, fix = f"there is a motion of this name in {short}", "choose another name"
    only = f"only what lies in {hand.folder} is replaced"
    cases = {False: f"{there}; {fix}", True: f"{there}, and {only}; {fix}"}
    for replace, reason in cases.items():
        refusal = await hand.refused("teach/save", name="short", replace=replace)
        assert refusal == ("INVALID_REQUEST", f"arm: short cannot be saved; {reason}")


async def test_a_file_that_nobody_has_read_yet_keeps_its_motion_s_name(hand: Hand) -> None:
    await hand.waves()
    (hand.folder / "own.csv").write_text("time,elbow\n0,0\n1,0.1\n")
    (hand.folder / "own.csv").rename(hand.rig.folder / "motions" / "own.csv")
    code, message = await hand.refused("teach/save", name="own", replace=True)
    there = f"there is a motion of this name in {hand.rig.folder / 'motions' / 'own.csv'}"
    assert (code, message.startswith(f"arm: own cannot be saved; {there}")) == ("INVALID_REQUEST", True)
    assert [*hand.folder.iterdir()] == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "my/arm",
            (
                "'my/arm' is no name for a motion; a to z, digits, single blanks and . _ - "
                "can stand in it, a letter or digit first; choose another"
            ),
        ),
        (
            "wave",
            (
                "wave.csv is there already; it is replaced only on request; "
                "set `replace`, or choose another name"
            ),
        ),
        (
            "short",
            (
                "short cannot be saved; "
                "there is a motion of this name in {motions}/short.seq; choose another name"
            ),
        ),
    ],
)
async def test_a_name_that_could_not_be_saved_is_refused_before_torque_goes_off(
    hand: Hand, name: str, reason: str
) -> None:
    (hand.folder / "wave.csv").write_text("")
    reason = reason.format(motions=hand.rig.folder / "motions")
    assert await hand.refused("teach/start", name=name) == ("INVALID_REQUEST", f"arm: {reason}")
    assert (hand.state["state"], hand.teaching["mode"]) == ("idle", None)
    assert await hand.ask("teach/start", name="wave", replace=True) == {
        "state": "teaching",
        "mode": "released",
    }


async def test_a_stop_before_it_begins_keeps_the_robot_from_being_released(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_come, may_go_on = asyncio.Event(), asyncio.Event()

    async def slow(*_: object, **__: object) -> None:
        has_come.set()
        await may_go_on.wait()

    monkeypatch.setattr(asyncio, "to_thread", slow)
    starting = asyncio.create_task(hand.refused("teach/start", name="wave"))
    await has_come.wait()
    await hand.ask("stop")
    may_go_on.set()
    assert await starting == ("CANCELED", "arm: stopped before it could be moved; teach it again")
    assert hand.state["state"] == "idle"


async def test_few_rows_a_second_are_refused_as_they_would_be_played_in_steps(hand: Hand) -> None:
    await hand.waves()
    reason = "the robot would go from row to row in steps"
    assert await hand.refused("teach/save", name="wave", rate_hz=50) == (
        "INVALID_MOTION",
        f"arm: 50 rows/s are few; {reason}; leave `rate_hz` out, or take 100 or more",
    )
    assert (await hand.ask("teach/save", name="wave", rate_hz=100))["saved"]


async def test_what_cannot_be_played_is_refused_with_every_problem_and_a_dry_run_lists_them(
    hand: Hand,
) -> None:
    await hand.ask("teach/start")
    await hand.moves(for_s=0.2, shoulder=0.3, elbow=-0.3)
    await hand.ask("teach/stop")
    dry = await hand.ask("teach/save", name="fast", smooth_rad=0.0001, dry=True)
    assert [problem.partition(" at ")[0] for problem in dry["problems"]] == [
        "fast: joint 'shoulder' accelerates",
        "fast: joint 'elbow' accelerates",
    ]
    code, message = await hand.refused("teach/save", name="fast", smooth_rad=0.0001)
    assert (code, message.splitlines()) == ("INVALID_MOTION", dry["problems"])
    assert [*hand.folder.iterdir()] == []


async def test_a_robot_that_slows_motions_slows_what_it_was_taught_and_says_so(rig: Rig) -> None:
    rig.robot["on_violation"] = "slow"
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        await hand.ask("teach/start")
        await hand.moves(for_s=0.2, shoulder=0.3)
        await hand.ask("teach/stop")
        saved = await hand.ask("teach/save", name="fast", smooth_rad=0.0001)
        assert saved["problems"][0].startswith("fast: slowed to 0.")
        assert await hand.plays("fast") == "SUCCESSFUL"


@pytest.mark.parametrize("dry", [False, True])
async def test_what_a_motion_map_would_turn_round_is_not_saved(rig: Rig, *, dry: bool) -> None:
    elbow = {"from": "elbow", "sign": -1}
    (rig.folder / "flip.map.yaml").write_text(yaml.safe_dump({"joints": {"elbow": elbow}}))
    rig.robot |= {"motions": [{"folder": "taught", "upload": True}], "motion_map": "flip.map.yaml"}
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        await hand.waves()
        assert await hand.refused("teach/save", name="wave", dry=dry) == (
            "INVALID_MOTION",
            (
                "arm: wave cannot be saved; motion_map changes elbow in it; "
                "let the map name other columns than the robot's joints"
            ),
        )
        assert [*hand.folder.iterdir()] == []


async def test_a_folder_that_is_not_there_is_made_where_its_own_is_there(hand: Hand) -> None:
    await hand.waves()
    hand.folder.rmdir()
    assert (await hand.ask("teach/save", name="wave"))["saved"]
    assert await hand.plays("wave") == "SUCCESSFUL"
    (hand.folder / "wave.csv").unlink()
    hand.folder.rmdir()
    hand.folder.write_text("in the way")
    assert await hand.refused("teach/save", name="wave2") == (
        "DISK_TROUBLE",
        f"arm: {hand.folder} cannot be written to; file exists; check it",
    )


async def test_where_the_disk_is_full_it_can_be_saved_again_once_there_is_room(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    await hand.waves()
    monkeypatch.setattr(os, "fsync", full)
    assert await hand.refused("teach/save", name="wave") == (
        "DISK_TROUBLE",
        f"arm: {hand.folder} cannot be written to; no space left on device; make room on that disk",
    )
    assert [*hand.folder.iterdir()] == []
    monkeypatch.undo()
    assert (await hand.ask("teach/save", name="wave"))["saved"]


async def test_without_a_folder_for_it_nothing_is_saved_and_the_refusal_says_how(rig: Rig) -> None:
    rig.robot["motions"] = ["motions"]
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        await hand.waves()
        reason, fix = "no folder is set up for it", "write {folder: …, upload: true} under motions"
        refusal = await hand.refused("teach/save", name="wave")
        assert refusal == ("NOT_ALLOWED", f"arm: motions cannot be saved; {reason}; {fix}")


# -- poses --------------------------------------------------------------------------------------------------


async def test_poses_are_kept_at_rest_and_moving_and_become_a_motion(hand: Hand) -> None:
    await hand.ask("teach/start")
    await asyncio.sleep(0.2)
    first = await hand.ask("teach/pose")
    await hand.moves(shoulder=0.3, elbow=-0.2)
    await hand.ask("teach/pose", name="high")
    await hand.ask("fault", fault="hand", joint="elbow", to=0.4, for_s=1.0)
    await asyncio.sleep(0.5)
    third = await hand.ask("teach/pose")
    assert (first["name"], first["poses"], third["name"], third["poses"]) == ("pose_1", 1, "pose_3", 3)
    assert -0.1 < third["joints"]["elbow"] < 0.3
    assert await hand.refused("teach/pose", name="high") == (
        "INVALID_REQUEST",
        "arm: no pose can be kept; there is a pose 'high' already; choose another name",
    )
    report = await hand.rig.until("teaching", lambda data: len(data["poses"]) == 3)
    assert [pose["name"] for pose in report["poses"]] == ["pose_1", "high", "pose_3"]
    await hand.ask("teach/stop")
    saved = await hand.ask("teach/save", **{"name": "poses", "from": "poses", "at_poses": "through"})
    assert (saved["deviation"], saved["problems"]) == ({"shoulder": 0.0, "elbow": 0.0}, [])
    rows = load_motion(hand.folder / "poses.csv").positions.tolist()
    assert [[first["joints"][name] for name in ("shoulder", "elbow")]] == rows[:1]
    assert [third["joints"][name] for name in ("shoulder", "elbow")] == rows[-1]
    assert await hand.plays("poses") == "SUCCESSFUL"
    slower = await hand.ask("teach/save", **{"name": "rest", "from": "poses", "speed": 0.1})
    assert slower["duration_s"] > 3.0 * saved["duration_s"]


async def test_poses_need_a_robot_that_is_taught_and_two_make_a_motion(hand: Hand) -> None:
    assert await hand.refused("teach/pose") == (
        "NOT_ALLOWED",
        "arm: no pose can be kept; it is not being taught; send teach/start first",
    )
    await hand.waves()
    assert await hand.refused("teach/save", **{"name": "none", "from": "poses"}) == (
        "INVALID_MOTION",
        "arm: no pose was kept; there is nothing to go to; keep poses by teach/pose",
    )


# -- how it begins and ends ---------------------------------------------------------------------------------


async def test_what_is_reported_shows_it_from_beginning_to_end(hand: Hand) -> None:
    nothing: dict[str, Any] = {
        "mode": None,
        "since_utc": None,
        "duration_s": 0.0,
        "poses": [],
        "draft": None,
        "message": "",
        "holds": None,
    }
    assert hand.teaching == nothing
    await hand.ask("teach/start")
    await hand.rig.until("teaching", lambda data: data["duration_s"] >= 1.0)
    assert [hand.teaching[key] for key in ("mode", "draft", "holds")] == ["released", None, None]
    assert hand.state["state"] == "teaching"
    stopped = await hand.ask("teach/stop")
    draft = {"duration_s": stopped["duration_s"], "rows": stopped["rows"], "poses": 0}
    why = {"message": "ended on request; the robot holds", "holds": True}
    assert hand.teaching == nothing | {"draft": draft} | why


@pytest.mark.parametrize(
    ("verb", "body", "problem"),
    [
        ("play", {"motion": "short"}, "short cannot be played"),
        ("play", {"motion": "short", "on_busy": "replace"}, "short cannot be played"),
        ("play", {"motion": "short", "on_busy": "queue"}, "short cannot be played"),
        ("goto", {"joints": {"elbow": 0.1}}, "goto cannot be played"),
        ("enable", {}, "torque cannot be switched on"),
        ("disable", {}, "torque cannot be switched off"),
        ("torque", {"on": False}, "torque cannot be switched off"),
        ("teach/start", {}, "it cannot be taught"),
        ("fleet/prepare", {"motion": "short", "start": "s1"}, "short cannot be prepared"),
        ("teach/save", {"name": "wave"}, "nothing can be saved"),
    ],
)
async def test_what_would_move_or_release_it_is_refused_meanwhile(
    hand: Hand, verb: str, body: dict[str, Any], problem: str
) -> None:
    await hand.ask("teach/start")
    assert await hand.refused(verb, **body) == ("BUSY", f"arm: {problem}; {TAUGHT}")
    assert hand.state["state"] == "teaching"


async def test_a_robot_that_plays_or_is_halted_is_not_taught(hand: Hand) -> None:
    await hand.rig.swings(hand.registry)
    assert await hand.refused("teach/start") == (
        "BUSY",
        "arm: busy with long; one motion plays at a time; stop it first",
    )
    await hand.ask("estop")
    assert await hand.refused("teach/start") == (
        "ESTOPPED",
        "arm: it cannot be taught; the emergency stop is latched; reset it when it is safe",
    )
    assert await hand.refused("teach/stop") == (
        "NOT_ALLOWED",
        "arm: nothing was taught; it was not moved by hand; send teach/start first",
    )


async def test_what_the_stream_process_refuses_is_refused_and_the_draft_stays(rig: Rig) -> None:
    rig.robot["idle_rate_hz"] = 20.0
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        reason = "teaching needs 50 ticks a second to catch the robot softly"
        message = f"arm: it cannot be taught; idle_rate_hz is 20; {reason}; raise it"
        assert await hand.refused("teach/start", mode="gravity") == ("NOT_ALLOWED", message)
        assert (hand.teaching["mode"], hand.events) == (None, [])


async def test_with_gravity_the_robot_carries_itself(hand: Hand) -> None:
    assert await hand.ask("teach/start", mode="gravity") == {"state": "teaching", "mode": "gravity"}
    await hand.moves(shoulder=0.3)
    assert (hand.state["torque"], hand.teaching["mode"]) == (True, "gravity")
    await hand.ask("teach/stop")
    await hand.ask("teach/save", name="wave")
    assert await hand.plays("wave") == "SUCCESSFUL"


async def test_a_new_movement_forgets_the_one_before(hand: Hand) -> None:
    await hand.waves()
    await hand.ask("teach/start")
    await hand.ask("teach/pose")
    report = await hand.rig.until("teaching", lambda data: len(data["poses"]) == 1)
    assert report["draft"] is None
    stopped = await hand.ask("teach/stop")
    assert (stopped["poses"], stopped["duration_s"] < 0.5) == (1, True)


async def test_a_joint_that_is_moved_too_fast_ends_it_and_the_draft_can_be_saved(hand: Hand) -> None:
    await hand.ask("teach/start")
    await hand.moves(shoulder=0.3)
    await hand.moves(for_s=0.2, shoulder=-1.5)
    await hand.rig.until_state("idle", len(hand.rig.reports) - 5)
    (event,) = hand.events
    assert event.startswith("joint 'shoulder' moves at ")
    stopped = await hand.ask("teach/stop")
    assert (stopped["state"], f"{stopped['ended_because']}") == ("idle", event)
    assert hand.state["torque"]
    assert (await hand.ask("teach/save", name="wave", last_s=1.3))["saved"]


async def test_a_stop_ends_it_holding(hand: Hand) -> None:
    await hand.ask("teach/start")
    stopped = await hand.ask("stop")
    assert (stopped["reached"], stopped["stops_within_s"]) == (True, pytest.approx(0.245, abs=0.03))
    assert (stopped["ended_teaching"], stopped["holds"]) == (True, True)
    assert (await hand.ask("stop"))["ended_teaching"] is False
    await hand.rig.until_state("idle", len(hand.rig.reports) - 2)
    assert (hand.state["torque"], hand.robot.session.teaching) == (True, None)
    assert hand.teaching["holds"]


@pytest.mark.parametrize(
    ("mode", "holds", "message"),
    [
        (
            "released",
            False,
            "emergency stop; reset when it is safe; the robot has no torque: go on holding it",
        ),
        ("gravity", True, "emergency stop; halted at once; reset when it is safe; the robot holds"),
    ],
)
async def test_an_emergency_stop_halts_and_says_whether_the_robot_holds(
    hand: Hand, mode: str, message: str, *, holds: bool
) -> None:
    await hand.ask("teach/start", mode=mode)
    await asyncio.sleep(0.5)
    await hand.ask("estop")
    assert (hand.state["state"], hand.state["torque"], hand.events) == ("estopped", holds, [message])
    stopped = await hand.ask("teach/stop")
    assert (stopped["ended_because"], stopped["holds"]) == (message, holds)
    assert (hand.teaching["message"], hand.teaching["holds"]) == (message, holds)


async def test_what_is_answered_later_is_whether_it_holds_by_then(hand: Hand) -> None:
    await hand.waves()
    await hand.ask("disable")
    assert not (await hand.ask("teach/stop"))["holds"]


async def test_it_ends_by_itself_once_no_more_can_be_kept(rig: Rig, hand: Hand) -> None:
    hand.robot.draft.longest_s = 3.0
    await hand.ask("teach/start")
    await rig.until("event", lambda event: event["kind"] == "teaching")
    await rig.until_state("idle", len(rig.reports) - 5)
    assert hand.events == ["a movement lasts 0.05 minutes at most; the robot holds"]
    assert (hand.state["torque"], hand.teaching["draft"]["duration_s"]) == (True, 3.0)


async def test_losing_the_lease_ends_it(rig: Rig) -> None:
    rig.robot["lease"] = {"required": True, "ttl_s": 1.0}
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        lease = (await hand.ask("lease/acquire", holder="ana"))["lease"]
        await hand.ask("teach/start", lease=lease)
        await rig.until("event", lambda event: event["kind"] == "teaching")
        assert hand.events == [
            "the lease of ana has run out; it was not renewed for 1 s; the robot holds",
        ]


LEFT = {
    "run out": "the lease of ana has run out; it was not renewed for 5 s; the robot holds",
    "released": "ana has released control; the robot holds",
}


@pytest.mark.parametrize("on_loss", ["stop", "play_on"])
@pytest.mark.parametrize("left", LEFT)
async def test_once_nobody_is_in_control_it_ends_and_the_robot_holds(
    rig: Rig, on_loss: str, left: str
) -> None:
    rig.robot["lease"] = {"required": True, "on_loss": on_loss}
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        lease = (await hand.ask("lease/acquire", holder="ana"))["lease"]
        await hand.ask("teach/start", lease=lease)
        if left == "released":
            await hand.ask("lease/release", lease=lease)
        await rig.until("event", lambda event: event["kind"] == "teaching")
        await rig.until_state("idle", len(rig.reports) - 5)
        assert (hand.events, hand.state["torque"]) == ([LEFT[left]], True)


@pytest.mark.parametrize(("on_loss", "goes_on"), [("stop", False), ("play_on", True)])
async def test_who_takes_control_goes_on_with_it_where_that_plays_on(
    rig: Rig, on_loss: str, *, goes_on: bool
) -> None:
    rig.robot["lease"] = {"required": True, "on_loss": on_loss, "ttl_s": 60.0}
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        lease = (await hand.ask("lease/acquire", holder="ana"))["lease"]
        await hand.ask("teach/start", lease=lease)
        await hand.ask("lease/take", holder="bob")
        await asyncio.sleep(1.0)
        assert (hand.state["state"] == "teaching") == goes_on
        assert hand.events == ([] if goes_on else ["bob took control from ana; the robot holds"])


async def test_it_begins_again_once_the_robot_has_come_to_rest(hand: Hand) -> None:
    await hand.ask("teach/start")
    await hand.ask("fault", fault="hand", joint="elbow", to=1.0, for_s=1.0)
    await asyncio.sleep(0.5)
    await hand.ask("stop")
    assert hand.state["state"] == "stopping"
    assert await hand.ask("teach/start") == {"state": "teaching", "mode": "released"}
    states = [one.data["state"] for one in hand.rig.reports if one.subject == "state"]
    assert [*dict.fromkeys(states[states.index("stopping") :])] == ["stopping", "idle", "teaching"]


async def test_a_stop_while_it_waits_for_rest_keeps_it_from_beginning(hand: Hand) -> None:
    await hand.ask("teach/start")
    await hand.ask("fault", fault="hand", joint="elbow", to=1.0, for_s=1.0)
    await asyncio.sleep(0.5)
    await hand.ask("stop")
    again = asyncio.create_task(hand.refused("teach/start"))
    await asyncio.sleep(0.02)
    await hand.ask("stop")
    assert await again == ("CANCELED", "arm: stopped before it was taught; start it again")
    await asyncio.sleep(0.5)
    assert (hand.state["state"], hand.state["torque"]) == ("idle", True)


async def test_who_loses_control_while_it_waits_for_rest_does_not_begin_it(rig: Rig) -> None:
    rig.robot["lease"] = {"required": True, "ttl_s": 60.0}
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        lease = (await hand.ask("lease/acquire", holder="ana"))["lease"]
        await hand.ask("teach/start", lease=lease)
        await hand.ask("fault", fault="hand", joint="elbow", to=1.0, for_s=1.0)
        await asyncio.sleep(0.5)
        await hand.ask("stop")
        again = asyncio.create_task(hand.refused("teach/start", lease=lease))
        await asyncio.sleep(0.02)
        await hand.ask("lease/release", lease=lease)
        code, message = await again
        assert code == "NOT_IN_CONTROL"
        assert message == "arm/teach/start: not in control; nobody has control; acquire it by lease/acquire"
        assert hand.state["state"] == "idle"


async def test_nobody_puts_a_robot_to_rest_that_is_being_taught(rig: Rig) -> None:
    rig.robot |= {"rest_after_s": 1.0}
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        await hand.ask("teach/start", mode="gravity")
        await asyncio.sleep(10.0)
        assert (hand.state["state"], hand.state["torque"]) == ("teaching", True)
        await hand.ask("teach/stop")
        await rig.until("event", lambda event: event["kind"] == "rested")


@pytest.mark.parametrize("on_exit", ["hold", "release"])
async def test_a_daemon_that_ends_catches_the_robot_first(rig: Rig, on_exit: str) -> None:
    rig.robot["on_exit"] = on_exit
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand = Hand(rig, registry)
        await hand.ask("teach/start")
        await hand.ask("fault", fault="hand", joint="elbow", to=1.0, for_s=1.0)
        await asyncio.sleep(0.5)
    states = [(one.data["state"], one.data["torque"]) for one in rig.reports if one.subject == "state"]
    after = states[[state for state, _ in states].index("teaching") :]
    wanted = [("teaching", False), ("stopping", True), ("idle", True)]
    wanted += [("idle", False)] if on_exit == "release" else []
    assert [one for one in dict.fromkeys(after) if one[0] != "offline"] == wanted
    assert hand.events == ["the daemon shuts down; the robot holds"]


@pytest.mark.parametrize(
    ("mode", "truth"),
    [
        ("released", "the robot has no torque: go on holding it"),
        ("gravity", "nobody knows whether the robot holds: go on holding it"),
    ],
)
async def test_a_robot_that_is_lost_is_not_taught_any_more_and_the_draft_stays(
    hand: Hand, mode: str, truth: str
) -> None:
    await hand.ask("teach/start", mode=mode)
    await hand.moves(shoulder=0.3)
    await hand.ask("fault", fault="crash")
    await hand.rig.until_state("offline", len(hand.rig.reports))
    await hand.rig.until_state("idle", len(hand.rig.reports))
    (event,) = hand.events
    assert event.startswith("the stream process ended unasked (killed by signal ")
    assert event.endswith(f"; {truth}")
    assert hand.teaching["holds"] is False
    assert (await hand.ask("teach/save", name="wave"))["saved"]


async def test_a_start_whose_stream_process_is_lost_before_it_obeys_is_refused(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(rig, monkeypatch)
    stage.notify(messages.Ready(1000.0, [], UNLIMITED), OFF)
    starting = await stage.request("teach/start")
    stage.robot.on_exit("the stream process ended unasked (exit code 1)")
    with pytest.raises(RequestError) as caught:
        await starting
    assert caught.value.code == "OFFLINE"
    assert (stage.sent, stage.robot.session.teaching) == ([messages.Teach("released")], None)


async def test_a_robot_that_is_taught_though_that_was_reported_as_lost_is_stopped(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(rig, monkeypatch)
    stage.notify(messages.Ready(1000.0, [], UNLIMITED), OFF)
    stage.notify(messages.Changed("teaching", torque=False, goal_id=None, reference=None))
    assert stage.sent == [messages.Stop("CANCELED", "it was reported as lost already")]


# -- all together -------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_twenty_hands_are_smoothed_within_the_bound_and_leave_no_limit(rig: Rig) -> None:
    rig.robot["on_violation"] = "slow"
    async with rig.running() as registry:
        await rig.until_state("idle")
        hand, random = Hand(rig, registry), np.random.default_rng(0)
        for number in range(20):
            await hand.ask("teach/start")
            for _ in range(2):
                shoulder, elbow = random.uniform(-1.0, 1.0, 2).tolist()
                await hand.moves(for_s=random.uniform(1.4, 1.8), shoulder=shoulder, elbow=elbow)
            stopped = await hand.ask("teach/stop")
            assert stopped["ended_because"] == "ended on request; the robot holds"
            saved = await hand.ask("teach/save", name=f"hand {number}")
            assert max(saved["deviation"].values()) <= 0.005
            assert await hand.plays(f"hand {number}") == "SUCCESSFUL"
    trace = read_trace(rig.folder / "trace.npy")
    assert np.nanmax(np.abs(trace["position"])) <= LIMITS["upper"]
    passed_s = np.diff(trace["time"])
    speeds = np.diff(trace["position"], axis=0)[passed_s > 0.0] / passed_s[passed_s > 0.0, None]
    assert np.nanmax(np.abs(speeds)) <= LIMITS["velocity"] * 1.0001
