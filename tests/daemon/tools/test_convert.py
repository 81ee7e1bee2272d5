"""Converting motion files: what becomes of them, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.planning.planner import plan
from motiond.formats import load_motion
from tests.daemon.programs import run_here
from tests.daemon.rig import write_seq
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from motiond.formats import Motion

FILES = Path(__file__).parents[2] / "files"
GESTURES, LOGGED = FILES / "good" / "gestures.xmdi", FILES / "good" / "logged.seq"
NAMELESS = FILES / "good" / "two_feet.seq"
# What XMDI knows nothing of and the logged motion holds.
UNHEARD_OF = ("JointEffort", "Gravity", "Feet", "unknown")
JOINTS = ("hip", "knee", "toe")


def rows(count: int = 101) -> NDArray[np.float64]:
    at = np.linspace(0.0, 1.0, count)
    return np.stack([np.sin(3 * at), np.cos(2 * at) / 3, at**3], axis=1)


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.seq"
    write_seq(path, rows(), JOINTS, 100)
    return path


def test_joints_are_picked_then_renamed_and_the_file_is_said(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.seq"
    options = ("--joints", "toe,hip", "--rename", "hip=hip_yaw", "--exact")
    said = f"{out}: out; 1 s, 101 frames at 100/s, 2 joints\n"
    assert run_here(capsys, "convert", walk, out, *options) == (0, said, "")
    motion = load_motion(out)
    assert motion.joint_names == ("toe", "hip_yaw")
    np.testing.assert_array_equal(motion.positions, rows()[:, [2, 0]])


def test_a_motion_that_is_called_as_its_file_is_called_as_the_one_written(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    for source, out in ((walk, "walk200.xmdi"), (tmp_path / "walk200.xmdi", "walk300.xmdi")):
        assert run_here(capsys, "convert", source, tmp_path / out, "--rate", out[4:7])[0] == 0
        assert load_motion(tmp_path / out).name == out[:7]
    assert run_here(capsys, "convert", GESTURES, tmp_path / "bow.xmdi", "--motion", "nod")[0] == 0
    assert load_motion(tmp_path / "bow.xmdi").name == "nod"


def test_a_file_that_ends_early_is_converted_only_when_that_is_permitted(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    whole = walk.read_text()
    assert "num_frames: 101\n" in whole
    walk.write_text(whole.replace("num_frames: 101\n", "num_frames: 800\n"))
    out = tmp_path / "out.seq"
    refusal = (
        f"{walk}: walk: JointDisplacement ends after 101 of the 800 frames that it states; "
        "so does a copy that was interrupted; copy it again, or convert what there is with --allow-short\n"
    )
    assert run_here(capsys, "convert", walk, out) == (2, "", refusal)
    assert not out.exists()
    code, _, _ = run_here(capsys, "convert", walk, out, "--allow-short")
    assert (code, len(load_motion(out).times)) == (0, 101)


def test_all_digits_are_written_unless_fewer_are_asked_for_which_keep_the_range(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    run_here(capsys, "convert", walk, tmp_path / "all.seq")
    run_here(capsys, "convert", walk, tmp_path / "three.seq", "--precision", "3")
    np.testing.assert_array_equal(load_motion(tmp_path / "all.seq").positions, rows())
    few = np.array([[float(f"{value:.3g}") for value in row] for row in rows()])
    written = load_motion(tmp_path / "three.seq").positions
    np.testing.assert_array_equal(written, np.clip(few, rows().min(axis=0), rows().max(axis=0)))
    assert (written != few).any()


def at_all_limits(rate_hz: float) -> tuple[NDArray[np.float64], dict[str, float]]:
    """Return rows that rise and fall again at the limits, which are returned too, with nothing to spare.

    No position is a number of few digits, and rounding carries the outermost out of the range.
    """
    gains = np.arange(1.0, 21.0)
    speeds = np.concatenate([gains, np.full(50, 20.0), gains[::-1]]) * 0.1
    rise = -np.pi / 2 + np.concatenate([[0.0], np.cumsum(speeds) / rate_hz])
    moved = np.concatenate([rise, rise[-1:], rise[::-1]])
    limits = {"lower": moved.min(), "upper": moved.max(), "velocity": 2.0, "acceleration": 0.1 * rate_hz}
    return moved[:, None], limits


def setpoints_of(motion: Motion, limits: dict[str, float]) -> NDArray[np.float64]:
    """Plan a motion for a robot with limits, and return its setpoints."""
    joints: dict[str, dict[str, Any]] = {"hip": {"limits": limits}}
    return plan(motion, map_of(joints), settings_of(joints, interpolation="linear"), 1000.0).positions


@pytest.mark.parametrize("rate_hz", [100.0, 300.0, 512.0])
@pytest.mark.parametrize(
    ("options", "without"),
    [
        (("out.seq",), ()),
        (("out.xmdi", "--tolerance", "0"), ()),
        (("out.xmdi",), ("acceleration",)),
        (("out.seq", "--precision", "4"), ("acceleration", "velocity")),
        (("out.xmdi", "--precision", "4"), ("acceleration", "velocity")),
        (("out.seq", "--rate", "333", "--interpolation", "linear"), ("acceleration",)),
    ],
)
def test_what_is_at_its_limits_stays_within_them(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    rate_hz: float,
    options: tuple[str, ...],
    without: tuple[str, ...],
) -> None:
    moved, limits = at_all_limits(rate_hz)
    write_seq(tmp_path / "at.seq", moved, ("hip",), rate_hz)
    setpoints_of(load_motion(tmp_path / "at.seq"), limits)
    name, *further = options
    assert run_here(capsys, "convert", tmp_path / "at.seq", tmp_path / name, *further)[0] == 0
    kept = {kind: limit for kind, limit in limits.items() if kind not in without} | (
        {"velocity": 9.0} if "velocity" in without else {}
    )
    setpoints = setpoints_of(load_motion(tmp_path / name), kept)
    assert limits["lower"] <= setpoints.min() <= setpoints.max() <= limits["upper"]


def test_another_rate_is_on_a_smooth_curve_or_a_line(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    halfway = (rows()[1:] + rows()[:-1]) / 2
    for kind, is_line in (("cubic", False), ("linear", True)):
        out = tmp_path / f"{kind}.seq"
        run_here(capsys, "convert", walk, out, "--rate", "200", "--interpolation", kind)
        motion = load_motion(out)
        assert (motion.frame_rate, motion.positions.shape) == (200, (201, 3))
        assert np.allclose(motion.positions[1::2], halfway, atol=1e-8) is is_line


def test_rows_become_key_frames_within_the_tolerance(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    out = tmp_path / "walk.xmdi"
    run_here(capsys, "convert", walk, out, "--tolerance", "0.002", "--frame-period", "0.01")
    keys = out.read_text().split("<frames>")[1].split("</frames>")[0].split()
    assert len(keys) < 40
    again = tmp_path / "again.seq"
    run_here(capsys, "convert", out, again, "--frame-period", "0.01", "--exact")
    motion = load_motion(again)
    assert (motion.frame_rate, motion.joint_names) == (100, JOINTS)
    np.testing.assert_allclose(motion.positions, rows(), atol=0.002 + 1e-9)


def test_a_motion_without_names_gets_those_given_and_warnings_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = ("--drop", "LinkPosition", "--drop", "ZMP")
    code, _, err = run_here(
        capsys, "convert", NAMELESS, tmp_path / "knee.xmdi", "--joint-names", "knee", *kept
    )
    assert (code, err, load_motion(tmp_path / "knee.xmdi").joint_names) == (0, "", ("knee",))
    out = tmp_path / "again.seq"
    code, _, err = run_here(capsys, "convert", LOGGED, out)
    assert (code, err.splitlines()[0]) == (
        0,
        f"warning: {LOGGED}:7: unknown key author; no version has it; kept in metadata",
    )


def test_everything_that_would_be_lost_is_named_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "logged.xmdi"
    reason = "XMDI holds joint positions alone; to lose it, add --drop"
    lost = [f"{out}: {name} would be lost; {reason} '{name}'" for name in UNHEARD_OF]
    code, said, err = run_here(capsys, "convert", LOGGED, out)
    assert (code, said, err.splitlines()) == (2, "", lost)
    assert not out.exists()
    drops = [part for name in UNHEARD_OF for part in ("--drop", name)]
    assert run_here(capsys, "convert", LOGGED, out, *drops)[0] == 0
    np.testing.assert_allclose(load_motion(out).positions[0], [0.0, 1.0])


def test_what_cannot_be_resampled_can_be_dropped_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "even.seq"
    code, _, err = run_here(capsys, "convert", LOGGED, out, "--rate", "1e9")
    told = "logged: the rate is 1e+09 frames/s; it is above 0 and at most 100000; correct it"
    assert (code, err.strip()) == (2, told)
    code, _, err = run_here(capsys, "convert", LOGGED, out, "--rate", "50")
    reason = "it is no series of numbers over time that is known here; drop it first"
    assert (code, err) == (2, f"logged: component 'Feet' cannot go along; {reason}\n")
    assert run_here(capsys, "convert", LOGGED, out, "--rate", "50", "--drop", "Feet")[0] == 0
    even = load_motion(out)
    assert (even.is_uniform, sorted(even.components)) == (True, ["Gravity", "JointEffort"])


def test_a_misspelt_drop_is_warned_of_and_does_not_lose_what_it_does_not_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "logged.seq"
    code, _, err = run_here(capsys, "convert", LOGGED, out, "--drop", "JointEfort", "--drop", "Feet")
    assert (code, sorted(load_motion(out).components)) == (0, ["Gravity", "JointEffort"])
    assert err.splitlines()[-1] == (
        f"warning: {out}: there is no 'JointEfort' to drop; the motion holds Gravity, JointDisplacement, "
        "JointEffort, times; did you mean 'JointEffort'?"
    )


def test_a_file_that_is_there_stays_unless_forced(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.seq"
    out.write_text("mine")
    refused = f"{out}: exists already; it would be overwritten; name another file, or --force it\n"
    assert run_here(capsys, "convert", walk, out) == (2, "", refused)
    assert out.read_text() == "mine"
    assert run_here(capsys, "convert", walk, out, "--force")[0] == 0
    assert load_motion(out).joint_names == JOINTS


@pytest.mark.parametrize("options", [(), ("--force",)])
def test_what_is_no_file_stays_also_where_it_is_forced(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    out = tmp_path / "out.seq"
    os.mkfifo(out)
    refused = f"{out}: cannot be written; it is a pipe; check the path\n"
    assert run_here(capsys, "convert", walk, out, *options) == (2, "", refused)
    assert run_here(capsys, "edit", walk, out, "--reverse", "--write", *options) == (2, "", refused)
    assert out.is_fifo()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((GESTURES, "x.seq"), f"{GESTURES}: has 2 motions; it has wave, nod; name one of them"),
        (
            (GESTURES, "x.seq", "--motion", "wavy"),
            f"{GESTURES}: has no motion named 'wavy'; it has wave, nod; did you mean 'wave'?",
        ),
        (
            (NAMELESS, "x.seq", "--joints", "hip"),
            "two_feet: its joints have no names; they are selected by name; name them first",
        ),
        ((LOGGED, "x.seq", "--joints", ""), "logged: no joint ''; it has hip, knee"),
        (
            (LOGGED, "x.seq", "--joints", "hop"),
            "logged: no joint 'hop'; it has hip, knee; did you mean 'hip'?",
        ),
        (
            (LOGGED, "x.seq", "--rename", "hip"),
            ("motiond: invalid value for --rename: it is OLD=NEW; write both names; see `motiond --help`"),
        ),
        (
            (LOGGED, "x.seq", "--frame-period", "0"),
            f"{LOGGED}: frame period is 0 s; it is above 0; XMDI's is 0.032 s",
        ),
        (
            (LOGGED, "x.seq", "--frame-period", "0.01"),
            "x.seq: frame_period_s is 0.01; seq has no such option; leave it out",
        ),
        (
            (LOGGED, "x.seq", "--interpolation", "hold"),
            (
                f"{LOGGED}: nothing is interpolated; no other rate is asked for, and the file has no key "
                "frames; leave the interpolation out"
            ),
        ),
    ],
)
def test_what_cannot_be_done_is_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[object, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_here(capsys, "convert", *arguments) == (2, "", message + "\n")
    assert list(tmp_path.iterdir()) == []


ARM = FILES.parents[1] / "config" / "robots" / "six_axis.hrdf"
SHOP = FILES / "good" / "workshop.skel"


def test_a_robot_is_written_in_the_format_that_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "arm.urdf"
    assert run_here(capsys, "convert", ARM, out) == (0, f"{out}: six_axis; 6 joints, 18 links\n", "")
    assert out.read_text().splitlines()[1] == '<robot name="six_axis">'
    assert run_here(capsys, "convert", ARM, tmp_path / "arm.xml", "--format", "mjcf")[0] == 0
    assert "<mujoco" in (tmp_path / "arm.xml").read_text()


def test_a_robot_is_known_by_its_content_where_the_suffix_says_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "arm.txt").write_bytes(ARM.read_bytes())
    out = tmp_path / "arm.mjcf"
    assert run_here(capsys, "convert", tmp_path / "arm.txt", out) == (
        0,
        f"{out}: arm; 6 joints, 18 links\n",
        "",
    )


def test_what_a_robot_would_lose_is_dropped_by_name_and_renaming_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "arm.sdf"
    refusal = (
        f"{out}: initial values would be lost; 'wrist_1' has them, and SDFormat has no initial positions "
        "and velocities; to lose it, add --drop 'initial'\n"
    )
    assert run_here(capsys, "convert", SHOP, out, "--name", "arm") == (2, "", refusal)
    assert not out.exists()
    code, said, warned = run_here(
        capsys, "convert", SHOP, out, "--name", "arm", "--drop", "initial", "--drop", "plane"
    )
    assert (code, said) == (0, f"{out}: arm; 3 joints, 3 links\n")
    assert warned.splitlines()[-2:] == [
        f"warning: {out}: there is no 'plane' to drop; the robot holds initial, root, springs",
        f"warning: {out}: written is coordinate 'wrist_turn' as 'wrist_2'; SDFormat names joints alone",
    ]
    assert f"warning: {SHOP}:65: <axis2> of universal joint 'wrist' has length 2" in warned


@pytest.mark.parametrize(
    "options", [("--rate", "50"), ("--exact",), ("--precision", "3"), ("--allow-short",)]
)
def test_a_robot_takes_no_options_of_motions(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    out = tmp_path / "arm.urdf"
    refusal = (
        f"motiond: invalid value for {options[0]}: it is for a motion; remove it; see `motiond --help`\n"
    )
    assert run_here(capsys, "convert", ARM, out, *options) == (2, "", refusal)
    assert not out.exists()


def test_a_motion_takes_no_name_of_a_robot_and_no_format_of_one(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    refusal = "motiond: invalid value for --name: it is for a robot; remove it; see `motiond --help`\n"
    assert run_here(capsys, "convert", walk, tmp_path / "a.seq", "--name", "a") == (2, "", refusal)
    code, _, refused = run_here(capsys, "convert", walk, tmp_path / "a.urdf")
    assert code == 2
    assert refused.startswith(
        f"{tmp_path / 'a.urdf'}: its suffix '.urdf' names no motion format; written are "
    )


def test_a_robot_that_is_there_is_replaced_only_with_force(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "arm.urdf"
    out.write_text("mine")
    refusal = f"{out}: exists already; it would be overwritten; name another file, or --force it\n"
    assert run_here(capsys, "convert", ARM, out) == (2, "", refusal)
    assert out.read_text() == "mine"
    assert run_here(capsys, "convert", ARM, out, "--force")[0] == 0


def test_a_table_is_inspected_checked_converted_and_drawn_as_any_motion(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table, robot = tmp_path / "nod.csv", Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
    joints = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
    degrees = 10 * (1 - np.cos(np.linspace(0, 2 * np.pi, 61)))
    lines = [",".join(["time", *(f"{joint} [deg]" for joint in joints)])]
    lines += [",".join([f"{row / 30:.3f}", *[f"{angle:.6f}"] * 6]) for row, angle in enumerate(degrees)]
    table.write_text("\n".join([*lines, ""]))
    code, out, err = run_here(capsys, "inspect", table)
    assert (code, out.splitlines()[0], err) == (0, "nod: motion, csv; 2 s, 61 frames at 30/s", "")
    assert run_here(capsys, "check", "--robot", robot, table)[0] == 0
    said = f"{tmp_path}/out.seq: out; 2 s, 61 frames at 30/s, 6 joints\n"
    assert run_here(capsys, "convert", table, tmp_path / "out.seq") == (0, said, "")
    for name in ("out.tsv", "again.csv"):
        assert run_here(capsys, "convert", tmp_path / "out.seq", tmp_path / name)[0] == 0
        again, motion = load_motion(tmp_path / name), load_motion(tmp_path / "out.seq")
        assert (again.joint_names, again.frame_rate) == (joints, 30)
        assert again.positions.tobytes() == motion.positions.tobytes()
    assert motion.positions == pytest.approx(np.deg2rad(degrees)[:, None].repeat(6, axis=1), abs=1e-8)
    assert run_here(capsys, "plot", table, "-o", tmp_path / "nod.svg")[0] == 0


def test_a_table_that_leaves_rate_and_units_open_is_converted_with_what_is_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table, out = tmp_path / "walk.csv", tmp_path / "out.seq"
    table.write_text("hip,knee\n0,90\n1,90\n")
    code, _, err = run_here(capsys, "convert", table, out)
    hint = "give `--file-rate 30`, `rate: 30` in a motion map, a line `# rate: 30`, or a column `time`"
    assert (code, err) == (2, f"{table}:1: has no column of times; nor a rate; {hint}\n")
    assert run_here(capsys, "convert", table, out, "--file-rate", "30", "--units", "deg")[0] == 0
    motion = load_motion(out)
    assert (motion.frame_rate, motion.positions[0].tolist()) == (30, [0, pytest.approx(np.pi / 2)])


def test_joints_of_a_pose_sequence_are_converted_where_its_balance_is_dropped(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    poses = "{type: Pose, joints: [0], q: [0]}", "{type: Pose, joints: [0], q: [1], zmp: [0, 0, 0]}"
    refs = "".join(f"- {{time: {time_s}, refer: {pose}}}\n" for time_s, pose in enumerate(poses))
    Path("walk.pseq").write_text(f"type: PoseSeq\nrefs:\n{refs}")
    code, _, err = run_here(capsys, "convert", "walk.pseq", "walk.seq")
    assert (code, "or convert the joints alone with --drop balance" in err) == (2, True)
    code, _, err = run_here(capsys, "convert", "walk.pseq", "walk.seq", "--drop", "balance")
    assert code == 0
    assert err == (
        "warning: walk.pseq:4: a pose has a zero moment point; "
        "Choreonoid's balance filter makes a motion of it; "
        "it is left out; on these joints a body that stands falls\n"
    )
    assert load_motion("walk.seq").positions[-1].tolist() == [1]
