"""Recordings of motiond as motions: what was played, without the way there and the rest after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc.ring import COLUMN
from motiond.daemon.ipc.states import State
from motiond.daemon.recording import RecordingWriter
from motiond.formats import FormatError, ReadOptions, load_motions
from tests.daemon.recording.recordings import (
    APPROACH,
    BEGAN_S,
    JOINTS,
    PARTS,
    PERIOD_S,
    PLAYED,
    REST,
    about,
    ticks,
    write,
)
from tests.formats.mcap.recordings import without

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats import Motion
    from motiond.formats.arrays import Floats


def read(path: Path, **options: Any) -> Motion:
    (motion,) = load_motions(path, options=ReadOptions(**options))
    return motion


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(FormatError) as caught:
        load_motions(path, options=ReadOptions(**options))
    return str(caught.value).replace(f"{path}: ", "")


def warnings(path: Path, motion: Motion) -> list[str]:
    return [warning.replace(f"{path}: ", "") for warning in motion.warnings]


def positions(rows: Floats, *, of: str = "reference_position") -> bytes:
    return rows[:, PARTS[of]].tobytes()


def test_a_goal_is_a_motion_from_its_first_row_to_its_rest(tmp_path: Path) -> None:
    rows = ticks(APPROACH + PLAYED)
    motion = read(write(tmp_path / "run.mcap", rows))
    assert (motion.name, motion.joint_names, motion.warnings) == ("run", JOINTS, ())
    assert motion.positions.tobytes() == positions(rows[7:18])
    assert motion.components["JointVelocity"].tobytes() == positions(rows[7:18], of="reference_velocity")
    assert (motion.frame_rate, motion.is_uniform) == (1 / PERIOD_S, True)
    assert motion.times.tolist() == (np.arange(11) / 1000).tolist()
    assert motion.metadata["topic"] == "/reference"
    assert motion.metadata["start_ns"] == 1_795_000_000_007_000_000
    assert motion.metadata["units"] == {"hip": "rad", "left knee": "rad", "lift": "m"}


def test_the_row_in_which_an_approach_ends_is_no_row_of_the_motion(tmp_path: Path) -> None:
    rows = ticks(APPROACH + PLAYED)
    rows[7, COLUMN["moved"]] = -1.0
    rows[7, PARTS["reference_position"]] = rows[8, PARTS["reference_position"]]
    path = write(tmp_path / "run.mcap", rows)
    assert read(path).positions.tobytes() == positions(rows[8:18])
    feedback = read(path, topic="/joint_states")
    assert feedback.positions.tobytes() == positions(rows[8:18], of="position")


def test_a_motion_that_begins_at_rest_begins_where_the_approach_ends(tmp_path: Path) -> None:
    rows = ticks(APPROACH + PLAYED)
    rows[7, COLUMN["moved"]] = -1.0
    assert read(write(tmp_path / "run.mcap", rows)).positions.tobytes() == positions(rows[7:18])


def test_ways_between_passes_and_pauses_are_part_of_the_motion(tmp_path: Path) -> None:
    on_its_way = [State.PLAYING, State.APPROACHING, State.PLAYING, State.PAUSING, State.PAUSED]
    on_its_way += [State.PLAYING, State.STOPPING]
    rows = ticks(APPROACH + [(state, 1) for state in on_its_way for _ in range(2)] + [(State.IDLE, 1)] * 3)
    assert read(write(tmp_path / "run.mcap", rows)).positions.tobytes() == positions(rows[7:22])


def test_a_motion_that_a_fault_ended_ends_before_it(tmp_path: Path) -> None:
    rows = ticks([*APPROACH, *PLAYED[:10], (State.ESTOPPED, 1), (State.ESTOPPED, 1)])
    assert read(write(tmp_path / "run.mcap", rows)).positions.tobytes() == positions(rows[7:17])


def test_several_goals_are_several_motions(tmp_path: Path) -> None:
    never = [(State.APPROACHING, 2), (State.STOPPING, 2), (State.IDLE, 2)]
    last = [(State.APPROACHING, 3), (State.PLAYING, 3), (State.PLAYING, 3), (State.IDLE, 3)]
    rows = ticks(APPROACH + PLAYED + never + last)
    first, second = load_motions(write(tmp_path / "run.mcap", rows))
    assert (first.name, second.name) == ("run_1", "run_2")
    assert first.positions.tobytes() == positions(rows[7:18])
    assert second.positions.tobytes() == positions(rows[26:29])


def test_the_goals_of_a_stream_process_that_was_started_again_are_others(tmp_path: Path) -> None:
    rows = ticks((APPROACH + PLAYED) * 2)
    rows[22:, COLUMN["sequence"]] -= 22
    path = write(tmp_path / "run.mcap", rows)
    assert [motion.positions.tobytes() for motion in load_motions(path)] == [
        positions(rows[7:18]),
        positions(rows[29:40]),
    ]


def test_the_feedback_of_a_goal_has_the_same_rows(tmp_path: Path) -> None:
    rows = ticks(APPROACH + PLAYED)
    motion = read(write(tmp_path / "run.mcap", rows), topic="/joint_states")
    assert motion.positions.tobytes() == positions(rows[7:18], of="position")
    assert motion.metadata["topic"] == "/joint_states"


def test_without_a_goal_what_a_hand_has_moved_is_the_motion(tmp_path: Path) -> None:
    rows = ticks(REST)
    rows[2:6, COLUMN["torque"]] = 0.0
    path = write(tmp_path / "run.mcap", rows)
    for options in ({}, {"topic": "/joint_states"}):
        motion = read(path, **options)
        assert motion.positions.tobytes() == positions(rows[2:6], of="position")
        assert motion.metadata["topic"] == "/joint_states"
    assert refusal(path, topic="/reference") == (
        "has no motion; no goal came to its first row, and the robot was idle without torque; "
        "choose `--topic /joint_states`"
    )


def test_each_time_that_torque_was_off_is_a_motion_of_its_own(tmp_path: Path) -> None:
    rows = ticks(REST)
    rows[[1, 2, 5, 6], COLUMN["torque"]] = 0.0
    motions = load_motions(write(tmp_path / "run.mcap", rows))
    assert [motion.name for motion in motions] == ["run_1", "run_2"]
    assert [motion.positions.tobytes() for motion in motions] == [
        positions(rows[1:3], of="position"),
        positions(rows[5:7], of="position"),
    ]


def test_a_recording_of_rest_is_refused(tmp_path: Path) -> None:
    assert refusal(write(tmp_path / "run.mcap", ticks(REST))) == (
        "has no motion; no goal came to its first row, and the robot was idle; "
        "`motiond recording export --whole` writes all its ticks"
    )


def test_a_recording_can_be_read_whole(tmp_path: Path) -> None:
    rows = ticks(APPROACH + PLAYED)
    path = write(tmp_path / "run.mcap", rows)
    assert read(path, whole=True).positions.tobytes() == positions(rows)
    feedback = read(path, whole=True, topic="/joint_states")
    assert feedback.positions.tobytes() == positions(rows, of="position")


def test_what_is_dropped_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "run.mcap", ticks(APPROACH + PLAYED))
    motion = read(path, drop=frozenset({"JointEffort", "ZMP"}))
    assert motion.components.keys() == {"JointVelocity"}
    assert motion.metadata["dropped"] == ("JointEffort",)


def test_another_topic_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    path = write(tmp_path / "run.mcap", ticks(APPROACH + PLAYED))
    assert refusal(path, topic="/tf") == (
        "has no joints in topic '/tf'; a recording of motiond has /reference, /joint_states; "
        "choose one: `--topic /reference`"
    )
    assert refusal(path, topic="/joint_state") == (
        "has no joints in topic '/joint_state'; a recording of motiond has /reference, /joint_states; "
        "did you mean '/joint_states'?"
    )


def swing() -> Floats:
    """Return records of a robot that swings its joints, with the velocities that belong to it."""
    rows = ticks(APPROACH + [(State.PLAYING, 1)] * 200 + [(State.IDLE, 1)])
    at = np.arange(len(rows))[:, None] * PERIOD_S * np.array([3.0, 5.0, 8.0])
    rows[:, PARTS["reference_position"]] = np.sin(at)
    rows[:, PARTS["reference_velocity"]] = np.cos(at) * np.array([3.0, 5.0, 8.0])
    return rows


def test_a_few_ticks_that_are_missing_are_made_and_the_others_stay(tmp_path: Path) -> None:
    rows = swing()
    path = write(tmp_path / "run.mcap", np.delete(rows, [40, 41, 100], axis=0))
    motion = read(path)
    there = np.delete(np.arange(201), [33, 34, 93])
    expected = rows[7:, PARTS["reference_position"]]
    assert motion.positions[there].tobytes() == expected[there].tobytes()
    np.testing.assert_allclose(motion.positions, expected, rtol=0, atol=1e-9)
    assert (motion.is_uniform, motion.frame_rate) == (True, 1000)
    np.testing.assert_allclose(
        motion.components["JointVelocity"], rows[7:, PARTS["reference_velocity"]], 1e-3
    )
    assert warnings(path, motion) == [
        (
            "lacks 3 rows of goal 1, the first of them 0.032 s after its beginning; the daemon came too late "
            "to read them; the others keep their times, and setpoints between them are made; record it again"
        ),
    ]


def test_many_ticks_that_are_missing_leave_the_others_at_their_times(tmp_path: Path) -> None:
    rows = np.delete(swing(), np.arange(50, 160), axis=0)
    motion = read(write(tmp_path / "run.mcap", rows))
    assert motion.positions.tobytes() == positions(rows[7:])
    assert (motion.is_uniform, motion.frame_rate) == (False, 1000)
    assert motion.times[42:44].tolist() == [0.042, 0.153]


def changing_rates(*periods: tuple[int, float]) -> Floats:
    """Return ticks of goals one after the other, each so many of a period in s; joints turn steadily."""
    rows = ticks([(State.PLAYING, 1 + n) for n, (count, _) in enumerate(periods) for _ in range(count)])
    at = np.cumsum(np.concatenate([np.full(count, period_s) for count, period_s in periods]))
    rows[:, COLUMN["setpoint_s"]] = 100.0 + at
    rows[:, PARTS["reference_position"]] = at[:, None] * np.array([60.0, -5.0, 0.1])
    rows[:, PARTS["reference_velocity"]] = np.array([60.0, -5.0, 0.1])
    return rows


def test_a_whole_recording_of_goals_of_several_rates_keeps_rows_and_times(tmp_path: Path) -> None:
    rows = changing_rates((300, 0.01), (100, 0.033), (300, 0.0141), (300, 0.01))
    motion = read(write(tmp_path / "run.mcap", rows), whole=True)
    assert motion.positions.tobytes() == positions(rows)
    stamps = rows[:, COLUMN["setpoint_s"]]
    np.testing.assert_allclose(motion.times, stamps - stamps[0], rtol=0, atol=1e-6)


def test_what_is_made_in_a_whole_recording_stays_between_its_neighbours(tmp_path: Path) -> None:
    """Also where the robot was moved on between them, and its velocities do not tell so."""
    rows = changing_rates((60, 0.01), (1, 0.05), (60, 0.01))
    rows[60:, PARTS["reference_position"]] -= rows[60, PARTS["reference_position"]]
    rows[60:, PARTS["reference_position"]] += rows[59, PARTS["reference_position"]]
    motion = read(write(tmp_path / "run.mcap", rows), whole=True)
    assert (motion.is_uniform, len(motion.times)) == (True, 125)
    assert (motion.positions[60:64] == rows[59, PARTS["reference_position"]]).all()


def test_deadlines_that_were_missed_are_told(tmp_path: Path) -> None:
    rows = swing()
    rows[12:, COLUMN["setpoint_s"]] += 3 * PERIOD_S
    path = write(tmp_path / "run.mcap", rows)
    motion = read(path)
    assert (motion.is_uniform, len(motion.times)) == (True, 204)
    assert warnings(path, motion) == [
        (
            "lacks 3 rows of goal 1, the first of them 0.004 s after its beginning; deadlines were missed; "
            "the others keep their times, and setpoints between them are made; record it again"
        ),
    ]


def test_a_part_of_a_motion_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "run.mcap", ticks(PLAYED[:6]))
    motion = read(path)
    assert len(motion.positions) == 6
    assert warnings(path, motion) == [
        (
            "lacks the beginning, end of goal 1; one file ended, and another began, while it was on its way; "
            "raise `recording.minutes`"
        ),
    ]


@pytest.mark.parametrize("moved", [0.0, -1.0])
def test_a_file_may_begin_with_the_first_row(tmp_path: Path, moved: float) -> None:
    rows = ticks(PLAYED)
    rows[0, COLUMN["moved"]] = moved
    motion = read(write(tmp_path / "run.mcap", rows))
    assert motion.positions.tobytes() == positions(rows[:11])
    assert motion.warnings == ()


def test_a_file_that_was_not_finished_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    rows = ticks(APPROACH + PLAYED)
    path = write(tmp_path / "run.mcap", rows, is_finished=False)
    motion = read(path)
    assert (path.name, motion.name) == ("run.mcap.part", "run")
    assert motion.positions.tobytes() == positions(rows[7:18])
    assert warnings(path, motion) == [
        (
            "was cut short; what is whole ends 0.020 s after its beginning; "
            "the daemon repairs it at its next start"
        ),
    ]


def test_wherever_a_file_is_cut_its_first_rows_are_read_or_it_is_refused(tmp_path: Path) -> None:
    rows = ticks(PLAYED)
    data = write(tmp_path / "whole.mcap", rows).read_bytes()
    path, read_rows = tmp_path / "run.mcap", set()
    for size in range(0, len(data), 37):
        path.write_bytes(data[:size])
        try:
            motion = read(path)
        except FormatError:
            read_rows.add(0)
        else:
            assert motion.positions.tobytes() == positions(rows[: len(motion.positions)])
            read_rows.add(len(motion.positions))
    assert read_rows == {0, 4, 9, 11}


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"tick": "first"}, "ValueError(\"invalid literal for int() with base 10: 'first'\")"),
        ({"goal": 1e300}, "ValueError('1e+300 is no count')"),
        ({"loop": -1}, "ValueError('-1 is no count')"),
    ],
)
def test_a_message_that_is_no_phase_is_refused(tmp_path: Path, changed: dict[str, Any], error: str) -> None:
    writer = RecordingWriter(tmp_path / "run.mcap", about(), unix_time=lambda: BEGAN_S)
    phase = {"tick": 0, "state": "idle", "torque": True, "goal": 0, "loop": 1, "frame": 0.0}
    writer.add_report("phase", phase | changed, 0)  # type: ignore[arg-type] # there is no such report
    writer.add(ticks(PLAYED))
    assert refusal(writer.finish("asked to")) == (
        f"has a message in '/motiond/phase' that cannot be read; it is not as motiond writes it ({error})"
    )


def test_a_time_that_no_clock_shows_is_refused(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run.mcap", about(), unix_time=lambda: BEGAN_S)
    writer.add_gap(0, 0, "one")
    writer.add_report("gap", {"first_tick": 0, "ticks": 0, "reason": "two"}, 1 << 63)  # type: ignore[arg-type]
    assert refusal(writer.finish("asked to")) == (
        "has a message at 9.22337e+09 s; no clock shows that; copy the file again"
    )


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
@pytest.mark.parametrize(
    ("part", "topic"), [("reference_position", "/reference"), ("position", "/joint_states")]
)
def test_infinite_positions_are_refused(tmp_path: Path, infinite: float, part: str, topic: str) -> None:
    rows = ticks(APPROACH + PLAYED)
    rows[9, PARTS[part].start + 1] = infinite
    path = write(tmp_path / "run.mcap", rows)
    refused = f"tick 9 has {infinite} for joint 'left knee'; positions are finite; cut it out: `mcap filter`"
    assert refusal(path, topic=topic) == refused
    other = "/joint_states" if topic == "/reference" else "/reference"
    assert len(read(path, topic=other).positions) == 11


def test_a_recording_without_phases_says_so(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.mcap", ticks(APPROACH + PLAYED)).read_bytes()
    path = tmp_path / "run.mcap"
    path.write_bytes(without(whole, "/motiond/phase"))
    reason = "it has no `/motiond/phase`, which says when a goal was played"
    hint = "`motiond recording export --whole` writes all its ticks"
    assert refusal(path) == f"has no motion; {reason}; {hint}"
    assert len(read(path, whole=True).positions) == 22
