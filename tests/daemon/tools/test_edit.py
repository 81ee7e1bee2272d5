"""Edits of a motion by command: their order, what is shown and written, and what is refused."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.daemon.tools.convert import Conversion
from motiond.daemon.tools.edit import edited
from motiond.formats import (
    Motion,
    ReadOptions,
    blend,
    ease,
    load_motion,
    mirror,
    offset,
    retime,
    reverse,
    smooth,
    trim,
)
from motiond.formats.model import peaks
from tests.daemon.programs import run_here
from tests.daemon.rig import Rig, ask, write_seq
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

CONFIG = Path(__file__).parents[3] / "config"
ARM = CONFIG / "robots" / "six_axis.hrdf"
WAVE, NOD = CONFIG / "motions" / "wave.seq", CONFIG / "motions" / "nod.seq"
LOGGED = Path(__file__).parents[2] / "files" / "good" / "logged.seq"
MIRROR = "joints:\n  left: {from: right, sign: -1}\n  right: {from: left, sign: -1}\n"


def rows(count: int = 201, hertz: float = 1.0) -> NDArray[np.float64]:
    at = np.linspace(0.0, 2.0, count)
    return np.stack([np.sin(hertz * 3 * at + 1), np.cos(hertz * 2 * at) / 3], axis=1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_seq(tmp_path / "swing.seq", rows(), ("left", "right"), 100)
    write_seq(tmp_path / "other.seq", rows(101), ("left", "right"), 50)
    (tmp_path / "sides.map.yaml").write_text(MIRROR)
    monkeypatch.chdir(tmp_path)
    return tmp_path


SIDES = {"left": ("right", -1.0), "right": ("left", -1.0)}
EDITS: dict[tuple[str, str], Callable[[Motion], Motion]] = {
    ("--trim", "0.2:1.4"): lambda motion: trim(motion, 0.2, 1.4),
    ("--smooth", "0.01"): lambda motion: smooth(motion, 0.01)[0],
    ("--smooth", "left=0.1"): lambda motion: smooth(motion, [0.1, 0.0])[0],
    ("--retime", "0.8"): lambda motion: retime(motion, 0.8),
    ("--reverse", ""): reverse,
    ("--mirror", "sides.map.yaml"): lambda motion: mirror(motion, SIDES),
    ("--offset", "left=0.1"): lambda motion: offset(motion, {"left": 0.1}),
    ("--ease", ""): ease,
    ("--rate", "150"): lambda motion: motion.resampled(150),
    ("--blend", "other.seq:0.5"): lambda motion: blend(
        motion, load_motion("other.seq").resampled(motion.frame_rate), 0.5
    ),
}


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(sorted(EDITS)), max_size=4))
@pytest.mark.usefixtures("folder_of_all")
def test_edits_are_made_in_the_order_in_which_they_are_asked_for(edits: list[tuple[str, str]]) -> None:
    expected = load_motion("swing.seq")
    for edit in edits:
        expected = EDITS[edit](expected)
    result, _ = edited(Path("swing.seq"), edits, Conversion())
    assert result.after.positions.tobytes() == expected.positions.tobytes()
    assert result.after.times.tobytes() == expected.times.tobytes()


@pytest.fixture(scope="module")
def folder_of_all(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("edits")
    write_seq(folder / "swing.seq", rows(), ("left", "right"), 100)
    write_seq(folder / "other.seq", rows(101), ("left", "right"), 50)
    (folder / "sides.map.yaml").write_text(MIRROR)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


@pytest.mark.usefixtures("folder")
def test_options_of_the_command_line_are_taken_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    edits = (("--trim", "0:1"), ("--reverse",), ("--offset", "left=0.1"), ("--reverse",), ("--trim", "0:0.5"))
    for number, order in enumerate(permutations(edits)):
        if number % 10:
            continue
        words = [word for edit in order for word in edit]
        _, out, _ = run_here(capsys, "edit", "swing.seq", *words, "--json")
        made = [(step["edit"], step["value"]) for step in orjson.loads(out)["edits"]]
        assert made == [(*edit, "")[:2] for edit in order]


def test_nothing_is_written_unless_that_is_asked_for(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, out, err = run_here(capsys, "edit", "swing.seq", "out.seq", "--reverse")
    assert (code, err) == (
        0,
        "out.seq: is not written; edits are only shown until that is asked for; add --write\n",
    )
    assert "velocity" in out
    assert not (folder / "out.seq").exists()


@pytest.mark.usefixtures("folder")
def test_what_is_written_is_what_was_shown(capsys: pytest.CaptureFixture[str]) -> None:
    edits = ("--trim", "0.2:", "--ease", "--write")
    code, out, err = run_here(capsys, "edit", "swing.seq", "out.seq", *edits)
    assert (code, err) == (0, "")
    written = load_motion("out.seq")
    eased = ease(trim(load_motion("swing.seq"), 0.2))
    assert written.positions.tobytes() == eased.positions.tobytes()
    shown = [" ".join(line.split()) for line in out.splitlines()]
    assert [line for line in shown if line.strip("─")] == [
        "swing: 2 s, 201 rows at 100/s",
        "--trim 0.2:: 1.8 s, 181 rows",
        "--ease: 4.04 s, 405 rows",
        "joint velocity acceleration jerk",
        "left 3 → 2.389 229.1 → 7.845 2.291e+04 → 242.9",
        "right 0.6667 → 0.5588 50.01 → 0.9476 5091 → 13.28",
        "out.seq: out; 4.04 s, 405 frames at 100/s, 2 joints",
    ]


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_there_is_replaced_by_force_alone(capsys: pytest.CaptureFixture[str]) -> None:
    refusal = "other.seq: exists already; it would be overwritten; name another file, or --force it\n"
    arguments = ("edit", "swing.seq", "other.seq", "--reverse", "--write")
    assert run_here(capsys, *arguments) == (2, "", refusal)
    assert run_here(capsys, *arguments, "--force")[0] == 0
    assert load_motion("other.seq").positions.tolist() == rows()[::-1].tolist()


@pytest.mark.usefixtures("folder")
def test_a_smoothing_names_the_joint_that_it_changes_most(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, "edit", "swing.seq", "--smooth", "right=0.02", "--json")
    step = orjson.loads(out)["edits"][0]
    assert code == 0
    assert step["deviation"]["left"] == 0
    assert 0.0195 < step["deviation"]["right"] <= 0.02
    _, out, _ = run_here(capsys, "edit", "swing.seq", "--smooth", "right=0.02")
    shown = f"{step['deviation']['right']:.3g}"
    line = f"--smooth right=0.02: 2 s, 201 rows; leaves what was there by {shown} at most, at 'right'"
    assert out.splitlines()[1] == line


def test_limits_that_the_result_breaks_are_named_and_end_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    edits = ("--retime", "9", "--robot", ARM, "--json")
    code, out, _ = run_here(capsys, "edit", WAVE, *edits)
    found = orjson.loads(out)["check"]
    assert code == 1
    assert not found["ok"]
    assert {violation["kind"] for violation in found["violations"]} == {"velocity"}
    code, out, _ = run_here(capsys, "edit", WAVE, "--retime", "0.5", "--robot", ARM)
    assert (code, out.splitlines()[-1]) == (0, "six_axis: wave: ok; 12.8 s, speed up to 8.71")


def test_a_robot_of_a_configuration_checks_by_its_own_limits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "motiond.yaml"
    robot = f"{{model: {ARM}, driver: {{type: sim}}, joints: {{elbow: {{limits: {{velocity: 0.1}}}}}}}}"
    config.write_text(f"robots:\n  arm: {robot}\n  leg: {robot}\n")
    code, out, _ = run_here(capsys, "edit", WAVE, "-c", config, "--on", "leg")
    assert code == 1
    assert out.splitlines()[-1].startswith("leg: wave: joint 'elbow' moves at 0.938 rad/s at ")
    code, _, err = run_here(capsys, "edit", WAVE, "-c", config)
    refusal = "motiond: invalid value for --on: there are arm, leg; name one; see `motiond --help`\n"
    assert (code, err) == (2, refusal)


def test_components_that_cannot_follow_are_dropped_by_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out.seq"
    arguments = ("edit", LOGGED, out, "--reverse", "--write")
    code, _, err = run_here(capsys, *arguments)
    assert (code, err) == (
        2,
        (
            "logged: component 'JointEffort' cannot be reversed; "
            "it is not known how it runs backwards; drop it first\n"
        ),
    )
    lost = ("JointEffort", "Gravity", "Feet")
    assert run_here(capsys, *arguments, *(f"--drop={name}" for name in lost))[0] == 0
    assert load_motion(out).positions.tolist() == load_motion(LOGGED).positions[::-1].tolist()


@pytest.mark.slow
async def test_what_a_robot_measured_becomes_a_motion_from_rest_to_rest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rig = Rig(tmp_path)
    rig.driver["noise"] = 1e-3
    rig.robot["recording"] = {"folder": "recordings", "when": "motion"}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await rig.rest_after((await ask(registry, "play", motion="short"))["goal_id"])
    (recording,) = (tmp_path / "recordings").iterdir()
    out, topic = tmp_path / "measured.seq", "/joint_states"
    edits = (
        "--smooth",
        "0.01",
        "--ease",
        "--topic",
        topic,
        "--drop",
        "JointEffort",
        "--write",
        "-c",
        rig.config,
    )
    code, _, err = run_here(capsys, "edit", recording, out, *edits)
    assert (code, err) == (0, "")
    measured, smoothed = load_motion(recording, options=ReadOptions(topic=topic)), load_motion(out)
    assert np.abs(smoothed.positions[[0, -1]] - measured.positions[[0, -1]]).max() == 0
    before, after = (max(peak.jerk for peak in peaks(one)) for one in (measured, smoothed))
    assert after < before / 20
    assert np.abs(np.diff(smoothed.positions, axis=0)[[0, -1]]).max() < 1e-9
    assert np.abs(smoothed.positions - measured.positions).max() <= 0.01


def test_peaks_are_those_from_rest_and_to_rest() -> None:
    motion = Motion("step", (), 10.0, np.arange(3) / 10, np.array([[0.0], [0.1], [0.2]]))
    (peak,) = peaks(motion)
    found = (peak.velocity, peak.acceleration, peak.jerk)
    assert found == pytest.approx((1.0, 10.0, 100.0))


def test_peaks_of_way_points_are_those_of_the_curve_between() -> None:
    motion = Motion("pick", ("a",), 100.0, np.array([0.0, 1.0]), np.array([[0.0], [1.0]]))
    (peak,) = peaks(motion)
    assert peak.velocity == pytest.approx(1.5, rel=1e-3)
    assert peak.acceleration == pytest.approx(6.0, rel=0.01)


@table("arguments, message")
def test_edits_that_cannot_be_made_are_refused(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "scaled.map.yaml").write_text(
        "rate: 50\nunits: deg\njoints:\n  left: {from: right, offset: 1}\n  right: left\n"
    )
    assert run_here(capsys, "edit", "swing.seq", *arguments.split()) == (2, "", message + "\n")
