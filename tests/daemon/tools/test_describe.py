"""What `motiond inspect` says of files, to people and to programs."""

from __future__ import annotations

import io
import json
import re
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rich.console import Console

from motiond.daemon.tools.batch import for_each_file
from motiond.daemon.tools.describe import describe_file
from motiond.formats import MappedJoint, MotionMap, ReadOptions, load_map
from motiond.formats.registry import MOTIONS, ROBOTS
from tests.daemon.programs import run_here
from tests.daemon.rig import write_seq
from tests.waiting import PATIENCE_S

CHECKOUT = Path(__file__).parents[3]
CONFIG, FILES = CHECKOUT / "config", CHECKOUT / "tests" / "files"
GOLDEN = FILES / "good" / "inspected.json"
LISTS = {"joints", "mapped", "links", "frames", "components", "markers", "problems"}
KNOWN = ", ".join(one.NAME for kind in (ROBOTS, MOTIONS) for one in kind.formats())

if TYPE_CHECKING:
    from collections.abc import Iterable


def rounded(text: str) -> Any:
    return json.loads(text, parse_float=lambda number: round(float(number), 9))


def test_a_script_gets_the_keys_and_numbers_that_it_got_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FILES)
    files = ("good/scale.hrdf", "good/workshop.skel", "good/two_feet.seq", "bad/short_row.seq")
    code, out, err = run_here(capsys, "inspect", "--json", *files)
    assert (code, rounded(out)) == (1, rounded(GOLDEN.read_text()))
    assert err == (
        "bad/short_row.seq:24: row 12 has 2 numbers; numParts is 3; "
        "add the missing value or correct numParts\n"
    )


def test_every_key_is_documented_and_no_other() -> None:
    page = (CHECKOUT / "docs" / "cli.md").read_text().split("\n## JSON of `inspect`\n")[1].split("\n## ")[0]
    documented = set(re.findall(r"`([\w.]+)`(?=[^|\n]*\|.*\|$)", page, re.MULTILINE))
    mapped = describe_file(FILES / "good" / "two_feet.seq", ReadOptions(map=MotionMap({"a": MappedJoint(0)})))
    described = set().union(*(keys_of(one) for one in (*json.loads(GOLDEN.read_text()), *mapped)))
    assert described == documented


def keys_of(description: Any) -> Iterable[str]:
    """Return the keys of a description, and those of what its lists hold as `list.key`."""
    for key, value in description.items():
        if key in LISTS and isinstance(value, list):
            yield from (f"{key}.{inner}" for item in value for inner in item)
        else:
            yield key


MAP = """\
joints:
  elbow: {from: J2, sign: -1, offset: 90, unit: deg}
  slide: {from: J7, unit: mm}
  wrist: J1
ignore: [led, fan]
"""


def test_what_a_map_makes_of_columns_is_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = np.array([[0.0, 0.0, 100.0, 1.0], [0.5, 45.0, 200.0, 2.0]])
    write_seq(Path("wave.seq"), rows, ("J1", "J2", "J7", "led"), 10)
    Path("arm.map.yaml").write_text(MAP)
    _, out, _ = run_here(capsys, "inspect", "wave.seq", "--map", "arm.map.yaml")
    assert [line.rstrip() for line in out.splitlines()[-7:]] == [
        " column   in    sign   offset   joint      lower    upper   in",
        " ──────────────────────────────────────────────────────────────",
        " J2       deg   -1         90   elbow   0.785398   1.5708   rad",
        " J7       mm    1           0   slide        0.1      0.2   m",
        " J1             1           0   wrist          0      0.5   SI",
        "",
        "left out: led",
    ]
    (described,) = describe_file(Path("wave.seq"), ReadOptions(map=load_map("arm.map.yaml")))
    assert (described["mapped"][1], described["ignored"]) == (
        {
            "column": "J7",
            "unit": "mm",
            "sign": 1,
            "offset": 0.0,
            "joint": "slide",
            "lower": 0.1,
            "upper": 0.2,
        },
        ["led"],
    )


def test_markers_are_shown_and_mistakes_in_them_are_warnings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, out, _ = run_here(capsys, "inspect", CONFIG / "motions" / "wave.seq")
    lines = [line.split() for line in out.splitlines()]
    assert ["raised", "600", "1.2"] in lines
    assert ["lights", "1000", "2", '{"colour":"red"}'] in lines
    cues = tmp_path / "two_feet.markers.yaml"
    shutil.copy(FILES / "good" / "two_feet.seq", tmp_path)
    cues.write_text("markers: {late: {time: 1}}")
    _, out, _ = run_here(capsys, "inspect", tmp_path / "two_feet.seq")
    end = "1 s is beyond the end; the last frame is 1, at 0.01 s; name an earlier one"
    assert f"warning: {cues}:1: {end}" in out


def test_people_see_a_robots_joints_and_a_motions_peaks(capsys: pytest.CaptureFixture[str]) -> None:
    arm, nod = CONFIG / "robots" / "six_axis.hrdf", CONFIG / "motions" / "nod.seq"
    code, out, err = run_here(capsys, "inspect", arm, nod)
    lines = [line.split() for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert "six_axis: robot, hrdf 1.6.0; 6 degrees of freedom, 18 links, 3.528 kg" in out
    assert ["shoulder", "continuous", "-", "-", "2.0944", "44", "rad"] in lines
    assert ["link1", "0.329", "0.1625", "0", "0.02"] in lines
    assert ["tool/end_effector", "end_effector", "0.65", "0.0155", "-0.01395"] in lines
    assert "nod: motion, seq 4.0; 4 s, 401 frames at 100/s" in out
    assert ["elbow", "1.7", "1.7", "0", "0", "0", "0"] in lines


def test_the_reduction_that_a_description_states_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    picker = FILES / "good" / "urdf" / "picker.urdf"
    code, out, _ = run_here(capsys, "inspect", picker)
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert ["joint", "type", "lower", "upper", "/s", "effort", "unit", "follows", "reduction"] in lines
    assert ["shoulder", "revolute", "-1.5", "1.5", "2", "40", "rad", "-100.5"] in lines
    _, out, _ = run_here(capsys, "inspect", picker, "--json")
    (robot,) = json.loads(out)
    assert [joint["reduction"] for joint in robot["joints"]] == [-100.5, None, None, None, None]


def test_a_warning_stays_in_one_line_and_an_empty_table_is_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run_here(capsys, "inspect", FILES / "good" / "workshop.skel")
    assert code == 0
    assert (
        f"warning: {FILES}/good/workshop.skel:60: <damping> in <axis>; an old spelling; "
        "write it in <dynamics>\n"
    ) in out
    assert (out.count("\n joint "), out.count("\n frame,")) == (1, 0)


def test_a_free_joint_turns_first_and_then_moves() -> None:
    _, arm = describe_file(FILES / "good" / "workshop.skel")
    units = {joint["name"]: joint["unit"] for joint in arm["joints"] if joint["joint"] == "root"}
    assert list(units.values()) == ["rad", "rad", "rad", "m", "m", "m"]


def test_a_peak_is_where_the_motion_is_fastest(tmp_path: Path) -> None:
    at = np.linspace(0.0, 1.0, 101)
    write_seq(tmp_path / "half_turn.seq", np.sin(np.pi * at)[:, None], ("knee",), 100)
    (motion,) = describe_file(tmp_path / "half_turn.seq")
    (knee,) = motion["joints"]
    assert (motion["name"], motion["duration_s"], motion["frames"]) == ("half_turn", 1.0, 101)
    assert (knee["lower"], knee["upper"]) == (0.0, 1.0)
    assert (knee["velocity"], knee["velocity_at_s"]) == (pytest.approx(np.pi, rel=1e-3), 0.0)
    assert (knee["acceleration"], knee["acceleration_at_s"]) == (pytest.approx(np.pi**2, rel=1e-3), 0.5)


def test_numbers_that_are_a_mistake_are_shown_without_a_word_of_numpy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "wave.csv").write_text("time,hip [rad]\n0,0\n0.1,1e308\n0.2,-1e308\n0.3,0\n")
    code, out, err = run_here(capsys, "inspect", tmp_path / "wave.csv", "--json")
    (told,) = json.loads(out)
    assert (code, err) == (0, "")
    assert (told["joints"][0]["upper"], told["joints"][0]["velocity"]) == (1e308, None)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (__file__, f"{__file__}: is of no known format; motiond knows {KNOWN}; check the file"),
        ("none.seq", "none.seq: cannot be read; no such file; check the path"),
    ],
)
def test_a_file_that_cannot_be_read_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str], file: str, message: str
) -> None:
    code, out, err = run_here(capsys, "inspect", file, CONFIG / "motions" / "nod.seq")
    assert (code, err) == (1, message + "\n")
    assert "nod: motion, seq 4.0; 4 s, 401 frames at 100/s" in out


def test_a_description_without_a_robot_is_said_to_be_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "empty.sdf"
    file.write_text('<sdf version="1.9"><world name="w"/></sdf>')
    code, out, err = run_here(capsys, "inspect", file, CONFIG / "motions" / "nod.seq")
    assert (code, err) == (0, f"{file}: has neither a robot nor a motion\n")
    assert out.startswith("nod: motion")
    assert run_here(capsys, "inspect", "--json", file)[:2] == (0, "[]\n")


def test_a_file_of_another_format_is_named_for_what_it_is_also_under_its_own_suffix(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "arm.usda"
    file.write_text("#usda 1.0\n")
    code, out, err = run_here(capsys, "inspect", file)
    assert (code, out) == (1, "")
    assert err == (
        f"{file}: is USD; robots are read from HRDF, SKEL, SDFormat and URDF; describe the robot in URDF\n"
    )


def test_what_is_quick_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motiond.daemon.tools.batch.QUIET_S", PATIENCE_S)
    stderr = io.StringIO()
    console = Console(file=stderr, force_terminal=True, width=80)
    for_each_file(partial(Path), [Path("a"), Path("b")], 1, console)
    assert stderr.getvalue() == ""
