"""Golden traces: what a play is held against, frame by frame."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.daemon.testing.failures import MotiondFailure
from motiond.daemon.testing.golden import GoldenTrace, play_options, refuse_bounds
from motiond.daemon.testing.robot import MotiondRobot

if TYPE_CHECKING:
    from pathlib import Path

JOINTS = ("elbow", "slide")
BOUNDS = {"rad": 0.01, "m": 0.001}
STATES = ["approaching"] * 20 + ["playing"] * 101 + ["idle"]
FRAMES = np.concatenate([np.zeros(20), [0.0], np.arange(101.0)])


def path_at(frames: Any) -> Any:
    """Return where the joints of the motion are in its frames."""
    at = np.asarray(frames, float)
    return np.stack([np.sin(at / 20), np.cos(at / 30) / 10], axis=-1)


def arrays(**changed: Any) -> dict[str, Any]:
    positions = path_at(FRAMES)
    positions[:20] = 9.0  # the way to the first row
    return {
        "time_s": 5.0 + np.arange(FRAMES.size) / 100,
        "state": np.array(STATES),
        "frame": FRAMES,
        "reference_position": positions,
        "feedback_position": positions + 0.1,
        "joints": np.array(JOINTS),
        "units": np.array(["rad", "m"]),
        "result": np.array("SUCCESSFUL"),
    } | changed


@pytest.fixture
def golden(tmp_path: Path) -> GoldenTrace:
    np.savez(tmp_path / "wave.npz", **arrays())
    return GoldenTrace.read(tmp_path / "wave.npz", "reference")


def sample(frame: float, elbow: float = 0.0, slide: float = 0.0) -> dict[str, Any]:
    position = np.add(path_at(frame), [elbow, slide]).tolist()
    return {"frame": frame, "reference": {"position": position}, "feedback": {"position": position}}


def samples(*frames: float, **off: float) -> list[dict[str, Any]]:
    return [sample(frame, **off) for frame in frames]


def differences(golden: GoldenTrace, played: list[dict[str, Any]], **bounds: float) -> list[str]:
    return golden.differences(JOINTS, played, "reference", BOUNDS | bounds)


def test_a_golden_trace_has_the_motion_alone(golden: GoldenTrace) -> None:
    assert golden.frames.tolist() == np.arange(101).tolist()
    assert golden.times[[0, -1]].tolist() == pytest.approx([0.01, 1.01])
    np.testing.assert_array_equal(golden.positions, path_at(np.arange(101)))
    assert (golden.joints, golden.units, golden.code) == (JOINTS, ("rad", "m"), "SUCCESSFUL")


@settings(derandomize=True)
@given(st.floats(0.3, 8), st.floats(0, 1), st.lists(st.integers(0, 30), max_size=3))
def test_neither_speed_nor_lateness_nor_pauses_count(speed: float, begins: float, stays: list[int]) -> None:
    trace = GoldenTrace(
        "wave", JOINTS, ("rad", "m"), "", np.arange(101.0), np.arange(101.0), path_at(np.arange(101))
    )
    frames = np.minimum(np.arange(begins, 101, speed), 100.0).tolist()
    for row in stays:  # where it was paused, or late
        frames.insert(row, frames[min(row, len(frames) - 1)])
    way = [{"frame": 0.0, "reference": {"position": [9.0, 9.0]}}] * 3
    assert differences(trace, [*way, *samples(*frames, 100.0, 100.0)]) == []


def test_passes_to_and_fro_are_on_the_path(golden: GoldenTrace) -> None:
    frames = [*range(0, 101, 4), *range(96, -1, -4), *range(4, 101, 4)]
    assert differences(golden, samples(*frames)) == []


def test_a_difference_names_joint_frame_time_and_bound(golden: GoldenTrace) -> None:
    played = samples(*range(0, 101, 4))
    played[10], played[11] = sample(40, elbow=0.02), sample(44, elbow=0.05)
    assert differences(golden, played) == [
        (
            "joint 'elbow' is at 0.858496 rad in frame 44 (0.450 s), and 0.808496 rad there; "
            "it differs by 0.05 rad, the bound is 0.01 rad, passed in 2 of 25 samples"
        )
    ]
    assert differences(golden, played, rad=0.06) == []


def test_what_slides_has_a_bound_of_its_own(golden: GoldenTrace) -> None:
    (found,) = differences(golden, samples(*range(0, 101, 4), slide=0.002))
    assert found.startswith("joint 'slide' is at ")
    assert differences(golden, samples(*range(0, 101, 4), slide=0.0009)) == []


def test_a_motion_that_has_become_shorter_or_longer_differs(golden: GoldenTrace) -> None:
    assert differences(golden, samples(*range(0, 70, 4))) == [
        "the motion ends at frame 68, and it ends at frame 100"
    ]
    assert differences(golden, samples(*range(0, 121, 4))) == [
        "the motion ends at frame 120, and it ends at frame 100"
    ]
    assert differences(golden, samples(*range(40, 101, 4))) == [
        "the motion begins at frame 44, and it begins at frame 0"
    ]


def test_other_joints_differ(golden: GoldenTrace) -> None:
    played = samples(*range(0, 101, 4))
    assert golden.differences(("elbow", "wrist"), played, "reference", BOUNDS) == [
        "the robot has no joint 'slide', which it has",
        "it has no joint 'wrist', which the robot has",
    ]


def test_too_few_samples_compare_nothing(golden: GoldenTrace) -> None:
    assert differences(golden, samples(3.0, 3.0)) == [
        (
            "no sample of telemetry is on the motion; it is too short for the rate of them; "
            "raise `mqtt.telemetry_hz` in the configuration of the tests"
        )
    ]


HINT = (
    "`pytest --motiond-update-golden` makes it; look at it with `motiond plot`, and keep it with your tests"
)


def test_a_trace_that_is_missing_or_something_else_says_how_it_is_made(tmp_path: Path) -> None:
    np.savez(tmp_path / "motion.npz", positions=np.zeros((3, 2)))
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "refused.npz", **arrays(state=np.array(["approaching"] * FRAMES.size)))
    for name, problem in (
        ("gone", "there is no such golden trace"),
        ("motion", "holds no trace of a play; a golden trace is one of a dry run"),
        ("text", "is no golden trace; it is no `.npz` file"),
        ("refused", "holds no trace of a play; a golden trace is one of a dry run"),
    ):
        path = tmp_path / f"{name}.npz"
        with pytest.raises(MotiondFailure) as caught:
            GoldenTrace.read(path, "reference")
        assert str(caught.value) == f"{path}: {problem}; {HINT}"


def test_bounds_that_nothing_would_break_fail_the_test() -> None:
    refuse_bounds("reference", {"rad": 0.0, "m": 0.001})
    for bound in (math.nan, math.inf, -0.1):
        with pytest.raises(MotiondFailure) as caught:
            refuse_bounds("feedback", {"rad": 0.01, "m": bound})
        reason = "a bound is a finite number, and not negative"
        assert str(caught.value) == f"assert_like: m is {bound}; {reason}; write how far joints may be off"


def test_a_source_that_there_is_not_is_named() -> None:
    with pytest.raises(MotiondFailure) as caught:
        refuse_bounds("foo", BOUNDS)
    known = "there are reference, feedback"
    assert str(caught.value) == f"assert_like: no source 'foo'; {known}; choose one of them"


def test_a_robot_is_held_against_a_golden_trace_by_bounds_that_can_fail(tmp_path: Path) -> None:
    robot: Any = SimpleNamespace(name="arm", goal=1, result=1, _folder=tmp_path, _updates_golden=False)
    for keys in ({"rad": math.nan}, {"m": -1.0}, {"source": "foo"}):
        with pytest.raises(MotiondFailure, match=r"^assert_like: "):
            MotiondRobot.assert_like(robot, "wave.npz", **keys)


def test_keys_of_a_play_that_shape_it_are_options_of_the_dry_run() -> None:
    keys = {"motion": "wave", "speed": 0.8, "loop": 3, "ping_pong": True, "first": {"frame": 10}}
    keys |= {"last": {"time": 1.5}, "on_busy": "replace", "seam": None}
    words = ["--speed", "0.8", "--loop", "3", "--ping-pong", "--first", "10", "--last", "1.5s"]
    assert play_options(keys) == words
    assert play_options({"motion": "wave", "ping_pong": False, "first": {"marker": "raised"}}) == [
        "--first",
        "raised",
    ]
