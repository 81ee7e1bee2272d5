"""Trajectories of ROS and motions of play_motion in YAML, and the refusals of bad ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from motiond.formats import FormatError, Motion, load_motion, load_motions, ros
from motiond.formats.io.source import Source
from motiond.formats.ros import reader
from tests.tables import table

GOOD = Path(__file__).parents[2] / "files" / "good" / "ros"
PAGE = Path(__file__).parents[3] / "docs" / "formats" / "ros.md"
POINTS = """points:
- positions: [0.0, 0.5]
  time_from_start: {sec: 1, nanosec: 0}
- positions: [0.1, 0.6]
  time_from_start: {sec: 3, nanosec: 500000000}
"""
TRAJECTORY = f"joint_names: [hip, knee]\n{POINTS}"
NO_TIME = "`time_from_start` is no time; it is a number of s, or has `sec` and `nanosec`"
FLAT = "joints: [hip, knee]\npositions: [0, 0.5, 0.1, 0.6]\ntimes_from_start: [1, 3.5]\n"


def indented(text: str) -> str:
    return re.sub("^", "  ", text, flags=re.MULTILINE).rstrip(" ")


def under(*keys: str, text: str = TRAJECTORY) -> str:
    """Return a mapping under keys, one in another."""
    for key in reversed(keys):
        text = f"{key}:\n{indented(text)}"
    return text


def read(text: str) -> list[Motion]:
    return ros.load(text.encode(), Source(Path("wave.yaml")))


def refusal(text: str) -> str:
    with pytest.raises(FormatError) as caught:
        read(text)
    return str(caught.value)


def test_a_trajectory_is_a_motion_of_way_points() -> None:
    wave = load_motion(GOOD / "wave.yaml")
    assert (wave.name, wave.joint_names) == ("wave", ("shoulder", "elbow"))
    assert wave.positions.tolist() == [[0, 0.5], [0.25, 0.75]]
    assert wave.times.tolist() == [0.5, 1.25]
    assert wave.components["JointVelocity"].tolist() == [[0, 0], [0.1, -0.001]]
    assert (wave.metadata, wave.warnings) == ({"format": "ros"}, ())


WRAPPED = {
    "alone": TRAJECTORY,
    "goal of FollowJointTrajectory": under("goal", "trajectory"),
    "RobotTrajectory": under("joint_trajectory")
    + "multi_dof_joint_trajectory: {joint_names: [], points: []}\n",
    "DisplayTrajectory": "model_id: arm\ntrajectory:\n- " + indented(under("joint_trajectory"))[2:],
    "ros2 topic echo": f"{TRAJECTORY}---\n",
    "rostopic echo": "---\n" + TRAJECTORY.replace("sec: ", "secs: ").replace("nanosecs: ", "nsecs: "),
    "JSON": '{"joint_names": ["hip", "knee"], "points": [{"positions": [0.0, 0.5], "time_from_start": 1.0},'
    ' {"positions": [0.1, 0.6], "time_from_start": 3.5}]}',
    "play_motion": under("play_motion", "motions", "wave", text=f"joints: [hip, knee]\n{POINTS}"),
    "play_motion2": under("/**", "ros__parameters", "motions", "wave", text=FLAT),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_trajectory_is_found_wherever_ros_puts_it(name: str) -> None:
    (motion,) = read(WRAPPED[name])
    assert (motion.name, motion.joint_names) == ("wave", ("hip", "knee"))
    assert motion.positions.tolist() == [[0, 0.5], [0.1, 0.6]]
    assert (motion.times.tolist(), motion.warnings) == ([1, 3.5], ())
    assert ros.sniff(WRAPPED[name].encode())


@table("time, seconds")
def test_a_duration_is_written_in_many_ways(time: str, seconds: float) -> None:
    (motion,) = read(f"joint_names: [hip]\npoints: [{{positions: [0], time_from_start: {time}}}]")
    assert motion.times.tolist() == [seconds]


def test_points_that_lie_evenly_but_far_apart_are_no_rows_to_jump_between() -> None:
    points = "".join(f"- {{positions: [{number}], time_from_start: {number}}}\n" for number in range(4))
    (motion,) = read(f"joint_names: [hip]\npoints:\n{points}")
    assert (motion.times.tolist(), motion.is_uniform) == ([0, 1, 2, 3], False)


def test_points_that_lie_as_dense_as_rows_are_rows() -> None:
    points = "".join(
        f"- {{positions: [0], time_from_start: {{sec: 0, nanosec: {number * 2_000_000}}}}}\n"
        for number in range(500)
    )
    (motion,) = read(f"joint_names: [hip]\npoints:\n{points}")
    assert (motion.frame_rate, motion.is_uniform, motion.times[-1]) == (500, True, 0.998)


def test_motions_have_the_names_of_their_keys_and_others_a_number() -> None:
    many = under("motions", text=under("home", text=FLAT) + under("wave", text=FLAT))
    assert [motion.name for motion in read(many)] == ["home", "wave"]
    assert [motion.name for motion in read(f"{TRAJECTORY}---\n{TRAJECTORY}")] == ["wave_1", "wave_2"]
    assert [motion.name for motion in load_motions(GOOD / "motions.yaml")] == ["home"]


def test_what_only_some_points_have_is_skipped_with_a_warning() -> None:
    text = TRAJECTORY.replace("[0.0, 0.5]\n", "[0.0, 0.5]\n  velocities: [1, 2]\n  effort: []\n")
    (motion,) = read(text)
    assert motion.components == {}
    assert motion.warnings == (
        "wave.yaml:1: `velocities` are skipped; 1 of 2 points have them; give them for all points",
    )


@table("text, message")
def test_what_is_unknown_or_has_no_joints_warns(text: str, message: str) -> None:
    (motion,) = read(text)
    assert motion.warnings == (f"wave.yaml:{message}",)


@table("change, instead, message")
def test_a_bad_trajectory_is_refused(change: str, instead: str, message: str) -> None:
    assert change in TRAJECTORY
    assert refusal(TRAJECTORY.replace(change, instead, 1)) == f"wave.yaml:{message}"


@table("text, message")
def test_a_bad_file_is_refused(text: str, message: str) -> None:
    assert refusal(text) == f"wave.yaml:{message}"


def test_all_problems_of_a_file_come_at_once() -> None:
    wrong = TRAJECTORY.replace("[0.0, 0.5]", "[0.0]").replace("{sec: 3", "{min: 3")
    assert refusal(f"{wrong}---\n{FLAT.replace('[1, 3.5]', '[1]')}").splitlines() == [
        "wave.yaml:3: `positions` has 1 numbers; the trajectory has 2 joints; give one for each joint",
        f"wave.yaml:6: {NO_TIME}; correct it",
        "wave.yaml:9: `positions` has 4 numbers; 1 times of 2 joints are 2; correct it",
    ]


def test_more_trajectories_than_anybody_plays_are_refused() -> None:
    one = "---\njoint_names: [a]\npoints: [{positions: [0], time_from_start: 0}]\n"
    assert refusal(one * 1001) == (
        "wave.yaml:3002: holds too many trajectories; 1000 are read; split the file"
    )


def test_a_file_that_was_cut_short_is_refused_or_gives_its_first_points() -> None:
    whole = (GOOD / "wave.yaml").read_bytes()
    source = Source(Path("wave.yaml"))
    (wave,) = ros.load(whole, source)
    for end in range(len(whole.rstrip())):
        try:
            (motion,) = ros.load(whole[:end], source)
        except FormatError:
            continue
        rows = len(motion.positions)
        assert motion.joint_names == wave.joint_names
        assert rows < 2 or end > len(whole) - len(b"nanosec: 250000000}\n")
        assert motion.positions.tolist() == wave.positions[:rows].tolist()


def test_the_examples_of_the_page_are_read_without_a_warning() -> None:
    examples = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names = [[motion.name for motion in read(example)] for example in examples]
    assert names == [["wave"], ["home"]]
    assert not any(motion.warnings for example in examples for motion in read(example))


@pytest.mark.parametrize("damage", [b"\0", b"\xfc", "hüft".encode("utf-16")])
def test_what_is_no_text_is_refused_on_a_line_of_it(damage: bytes) -> None:
    data = TRAJECTORY.encode()
    with pytest.raises(FormatError) as caught:
        ros.load(data[:40] + damage + data[40:], Source(Path("wave.yaml")))
    (problem,) = caught.value.problems
    assert problem.line == 2 + 1


def test_more_numbers_than_yaml_is_read_of_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_VALUES", 100)
    many = ", ".join(["0.5"] * 102)
    assert refusal(TRAJECTORY.replace("[0.0, 0.5]", f"[{many}]")) == (
        "wave.yaml:1: holds too many numbers; 100 are read; save it as MCAP or .npz"
    )
