"""What tables are read as: their joints, times, rates and units; and what is told of what was left out."""

from __future__ import annotations

import sys
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.formats import FormatError, MappedJoint, Motion, MotionMap, ReadOptions, Source, csv
from motiond.formats.csv import rows
from tests.tables import table

if TYPE_CHECKING:
    from types import FrameType

GOOD = Path(__file__).parents[2] / "files" / "good" / "tables"
SHARP = 1e-12


def load(text: str | bytes, name: str = "walk.csv", rate_hz: float | None = None) -> Motion:
    data = text if isinstance(text, bytes) else text.encode()
    (motion,) = csv.load(data, Source(Path(name), options=ReadOptions(rate_hz=rate_hz)))
    return motion


def refusal(text: str | bytes, name: str = "walk.csv", rate_hz: float | None = None) -> str:
    with pytest.raises(FormatError) as caught:
        load(text, name, rate_hz)
    return str(caught.value)


@table("text, joints, rows")
def test_cells_are_read_however_they_are_separated(
    text: str, joints: tuple[str, ...], rows: list[list[float]]
) -> None:
    motion = load(text)
    assert (motion.joint_names, motion.warnings) == (joints, ())
    assert motion.positions.tolist() == rows
    assert motion.times.tolist() == [0.0, 0.5]


@table("title, joint, unit, value")
def test_a_title_states_the_joint_and_the_unit_of_its_column(
    title: str, joint: str, unit: str, value: float
) -> None:
    motion = load(f"time,{title}\n0,90\n0.5,90\n")
    assert motion.joint_names == (joint,)
    assert motion.metadata.get("units", {}) == ({joint: unit} if unit else {})
    assert motion.positions[:, 0] == pytest.approx(value, rel=SHARP)


@table("titles, joints, warnings")
def test_an_ending_that_may_be_a_unit_is_one_where_all_columns_state_theirs(
    titles: str, joints: tuple[str, ...], warnings: tuple[str, ...]
) -> None:
    motion = load(f"time,{titles}\n0,1,1\n1,1,1\n")
    assert (motion.joint_names, motion.warnings) == (joints, warnings)


@table("titles, values, times")
def test_times_are_known_by_their_title_and_read_in_its_unit(
    titles: str, values: list[str], times: list[float]
) -> None:
    motion = load("\n".join([titles, *values, ""]))
    assert motion.joint_names == ("hip",)
    assert motion.times == pytest.approx(times, rel=SHARP)
    assert motion.warnings == ()


@table("titles, values, first, warning")
def test_a_guess_at_times_is_told(titles: str, values: list[str], first: float, warning: str) -> None:
    motion = load("\n".join([titles, *values, ""]))
    assert motion.times[0] == pytest.approx(first, abs=1e-6)
    assert motion.warnings == (f"walk.csv:1: {warning}",)


@table("text, rate_hz, frame_rate")
def test_rows_without_times_have_the_rate_that_is_stated(
    text: str, rate_hz: float | None, frame_rate: float
) -> None:
    motion = load(text, rate_hz=rate_hz)
    assert (motion.frame_rate, motion.times.tolist()) == (frame_rate, [0.0, 1 / frame_rate])


def test_of_hrpsys_files_the_first_column_has_the_times() -> None:
    motion = load("0 0.1 -0.2\n0.005 0.1 -0.2\n", "bow.pos", rate_hz=7)
    assert (motion.joint_names, motion.frame_rate, motion.positions.tolist()) == ((), 200, [[0.1, -0.2]] * 2)


def test_a_line_that_counts_the_columns_is_no_row() -> None:
    motion = load("0,1,2,3\n0.1,0.2,0.3,0.4\n", rate_hz=30)
    assert (motion.joint_names, motion.positions.tolist()) == ((), [[0.1, 0.2, 0.3, 0.4]])
    told = "counts its 4 columns; it is taken for titles, not for a row; remove it"
    assert motion.warnings == (f"walk.csv:1: {told}",)


def test_without_titles_a_first_column_that_increases_evenly_is_times() -> None:
    text = "0.00,0.1\n0.01,0.3\n0.02,0.2\n"
    motion = load(text)
    assert (motion.frame_rate, motion.positions.tolist()) == (100, [[0.1], [0.3], [0.2]])
    told = "column 1 has no title and increases evenly; it is read as times in s; give it the title `time`"
    assert motion.warnings == (f"walk.csv:1: {told}",)
    motion = load(text, rate_hz=30)
    assert motion.positions.shape == (3, 2)
    told = "column 1 has no title and increases evenly; it is read as a joint, as a rate is given"
    assert motion.warnings == (f"walk.csv:1: {told}",)


def test_without_titles_times_may_have_been_rounded() -> None:
    motion = load("0,1\n0.033,2\n0.067,3\n0.1,4\n")
    assert (motion.frame_rate, motion.positions.tolist()) == (30, [[1], [2], [3], [4]])


@pytest.mark.parametrize(
    ("column", "step"),
    [(["0", "0.033", "0.067", "0.1"], "0.03333"), (["0", "33", "67", "100"], "33.33"), ([*"1234"], "1")],
)
def test_without_titles_times_are_no_joint_where_a_rate_is_given(column: list[str], step: str) -> None:
    text = "".join(f"{time},{number}\n" for number, time in enumerate(column))
    assert refusal(text, rate_hz=30) == (
        f"walk.csv:1: column 1 increases by {step} from row to row, as times do; 30 rows/s are stated as "
        "well, so that it would move a joint; remove it, give all columns titles, or number the joints in a "
        "motion map"
    )
    options = ReadOptions(rate_hz=30, map=MotionMap({"hip": MappedJoint(1)}, frozenset({0})))
    (motion,) = csv.load(text.encode(), Source(Path("walk.csv"), options=options))
    assert motion.positions[:, 1].tolist() == [0, 1, 2, 3]


@table("times, frame_rate")
def test_even_times_have_the_rate_that_they_are_of(times: list[float], frame_rate: float) -> None:
    motion = load("time,hip\n" + "".join(f"{time!r},0\n" for time in times))
    assert motion.frame_rate == frame_rate
    assert motion.is_uniform


@given(
    rate=st.one_of(st.integers(10, 2000), st.floats(10, 2000), st.sampled_from([29.97, 59.94, 1000 / 32])),
    rows=st.integers(2, 300),
)
def test_times_of_any_rate_come_back_bit_for_bit_with_that_rate(rate: float, rows: int) -> None:
    times = (np.arange(rows) / rate).tolist()
    motion = load("time,hip\n" + "".join(f"{time!r},0\n" for time in times))
    assert motion.frame_rate == pytest.approx(rate, rel=1e-15)  # of few rows, two rates have the same times
    assert motion.times.tolist() == (np.arange(rows) / motion.frame_rate).tolist() == times


@pytest.mark.parametrize("rate_hz", [24, 25, 29.97, 30, 50, 60, 90, 120])
def test_times_that_were_rounded_to_milliseconds_lose_the_rounding(rate_hz: float) -> None:
    text = "time,hip\n" + "".join(f"{row / rate_hz:.3f},0\n" for row in range(500))
    motion = load(text)
    assert (motion.frame_rate, motion.is_uniform) == (rate_hz, True)
    assert np.abs(motion.times - np.arange(500) / rate_hz).max() < 0.0005


def test_times_that_do_not_lie_evenly_stay_as_they_are() -> None:
    motion = load("time,hip\n0,0\n0.1,0\n0.5,0\n")
    assert (motion.times.tolist(), motion.is_uniform, motion.frame_rate) == ([0, 0.1, 0.5], False, 100)


def test_rows_that_lie_far_apart_are_way_points() -> None:
    motion = load("time,hip\n0,0\n1,1\n2,0\n")
    assert (motion.times.tolist(), motion.is_uniform) == ([0, 1, 2], False)


@table("titles, joints, components, warnings")
def test_velocities_and_efforts_become_components(
    titles: str, joints: tuple[str, ...], components: dict[str, list[float]], warnings: tuple[str, ...]
) -> None:
    motion = load(f"{titles}\n0,1,2,3,4\n1,1,2,3,4\n")
    assert motion.joint_names == joints
    assert {name: values[0].tolist() for name, values in motion.components.items()} == components
    assert motion.warnings == warnings


@pytest.mark.parametrize(
    ("titles", "value"),
    [("hip [deg],hip.velocity", np.deg2rad(90)), ("hip,hip.velocity [deg/s]", np.deg2rad(90))],
)
def test_velocities_are_in_the_unit_that_is_stated_or_that_of_their_positions(
    titles: str, value: float
) -> None:
    motion = load(f"time,{titles}\n0,0,90\n1,0,90\n")
    assert motion.components["JointVelocity"][0, 0] == pytest.approx(value, rel=SHARP)


@table("text, joints, warnings")
def test_what_is_no_joint_is_left_out_and_told(
    text: str, joints: tuple[str, ...], warnings: tuple[str, ...]
) -> None:
    motion = load(text)
    assert (motion.joint_names, motion.warnings) == (joints, warnings)


def test_values_that_look_like_degrees_are_told_with_the_way_out() -> None:
    motion = load("time,hip,knee,slide [mm]\n0,90,1,500\n1,-120,2,500\n")
    assert motion.positions[1].tolist() == [-120, 2, 0.5]
    assert motion.warnings[-1] == (
        "walk.csv:1: 'hip' reach 120; no unit is stated, and rad or m is read; "
        "if they are degrees or mm, give `--units deg` or `mm`, or `units:` in a motion map"
    )


def test_nothing_is_told_of_units_that_a_map_states() -> None:
    file, text = Path("walk.csv"), b"time,hip,slide [mm]\n0,90,500\n1,-120,500\n"
    for map_ in (MotionMap(units="deg"), MotionMap({"hip": MappedJoint("hip", unit="deg")})):
        (motion,) = csv.load(text, Source(file, options=ReadOptions(map=map_)))
        assert motion.warnings == ()


@table("degrees, hip")
def test_of_opensim_the_header_says_whether_angles_are_in_degrees(degrees: str, hip: float) -> None:
    text = (GOOD / "gait.csv").read_text().replace("inDegrees=yes", f"inDegrees={degrees}")
    motion = load(text, "gait.mot")
    assert motion.joint_names == ("pelvis_tx", "hip_flexion_r", "knee_angle_r")
    assert motion.positions[0].tolist() == pytest.approx([0.1, hip, 2 * -hip], rel=SHARP)
    assert motion.metadata["units"]["pelvis_tx"] == "m"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "inDegrees=yes\n",
            "",
            (
                "the header has no inDegrees; angles are in degrees or in rad; "
                "write inDegrees=yes or inDegrees=no above endheader"
            ),
        ),
        ("Coordinates", "Speeds", "holds 'speeds'; a motion has positions; give the file of coordinates"),
    ],
)
def test_of_opensim_only_positions_in_a_known_unit_are_read(old: str, new: str, message: str) -> None:
    text = (GOOD / "gait.csv").read_text().replace(old, new)
    assert refusal(text, "gait.mot") == f"gait.mot:1: {message}"


def test_rows_that_opensim_states_and_that_are_missing_are_known() -> None:
    motion = load((GOOD / "gait.csv").read_text().replace("nRows=3", "nRows=5"), "gait.mot")
    assert motion.missing_frames() == {"JointDisplacement": (3, 5)}
    assert motion.warnings == (
        "gait.mot:1: nRows is 5, and there are 3 rows; the rows count; correct nRows if none are missing",
    )


def test_a_last_line_without_an_end_may_be_cut_short() -> None:
    motion = load("time,hip\n0,0.5\n1,0.7")
    assert motion.positions.tolist() == [[0.5], [0.7]]
    assert motion.warnings == (
        "walk.csv:3: the last line has no line end; the file may have been cut short; compare it",
    )


NUMBERS = [
    "0",
    "-0",
    "1e5",
    ".5",
    "+1",
    "1.",
    "-.5e-3",
    "+0.25",
    "007",
    "1E+2",
    "-1.e2",
    "123456789012345678901",
]


@given(st.lists(st.tuples(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)), min_size=2, max_size=40))
def test_numbers_are_read_alike_on_the_fast_way_and_the_slow(pairs: list[tuple[str, str]]) -> None:
    text = "# rate: 10\n" + "".join(f"{first},{second}\n" for first, second in pairs)
    assert load(text).positions.tolist() == [[float(first), float(second)] for first, second in pairs]
    remarked = "# rate: 10\n" + "".join(f"{first}, {second}\n# x\n\n" for first, second in pairs)
    assert load(remarked).positions.tolist() == load(text).positions.tolist()


def test_pieces_of_a_file_are_joined_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "CHUNK_BYTES", 64)
    lines = [f"{row / 100!r},{row}" for row in range(200)]
    lines[50] += "\n# a remark\n"
    lines[120] = '1.2,"120"'
    motion = load("\n".join(["time,hip", *lines, ""]))
    assert motion.positions[:, 0].tolist() == list(range(200))
    assert motion.frame_rate == 100


@pytest.mark.parametrize("file", sorted(GOOD.iterdir()), ids=lambda file: file.name)
def test_a_good_file_is_read(file: Path) -> None:
    motion = load(file.read_bytes(), str(file))
    assert motion.name == file.stem
    assert motion.metadata["format"] == "csv"
    assert motion.is_uniform


@table("text, message")
def test_a_bad_file_is_refused(text: Any, message: str) -> None:
    assert refusal(text) == message


def test_many_bad_rows_are_told_up_to_a_bound() -> None:
    message = refusal("time,hip\n" + "".join(f"{row},x\n" for row in range(50_000)))
    assert len(message.splitlines()) < 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("," * 5_000_000, "walk.csv:1: a line has 5,000,000 bytes; "),
        ("time,hip\n0,1\n" + "," * 5_000_000, "walk.csv:3: a line has 5,000,001 bytes; "),
        ("," * 3_000_000 + "\n0,1\n", "walk.csv:1: has 3000001 columns; "),
        ("#\n" * 2_000_000, "walk.csv:1: has no rows of numbers; "),
        ("time," * 10_000 + "hip\n" + "0," * 10_000 + "1\n", "walk.csv:1: has 10001 columns; "),
    ],
)
def test_what_no_table_has_is_refused_in_little_memory(text: str, message: str) -> None:
    data = text.encode()
    tracemalloc.start()
    try:
        assert refusal(data).startswith(message)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(data) + 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("part", "rest"),
    [
        *(
            ("# rate: 5" + " " * 3_000_000 + "x", "\n0,1\n1,1\n"),
            ("a" + " " * 60_000, "\nendheader\ntime\thip\n0\t1\n"),
        ),
        *(("# time," + "/pos." * 600_000, "\n0,1\n1,1\n"), ('"' * 3_000_000, "\n0,1\n")),
        *(("time," + "_" * 3_000_000, "\n0,1\n"), ("time,hip\n0," + "1" * 3_000_000, "\n")),
    ],
)
def test_a_line_takes_no_longer_than_its_length(part: str, rest: str) -> None:
    """Where it took the square, each of these would take minutes."""
    with suppress(FormatError):
        load(part + rest)


@pytest.mark.parametrize("line", ["{},0.5\n", "{},.5\n", "{},0.5\n# a remark\n", '{},"0.5"\n'])
def test_eight_times_the_rows_take_about_eight_times_the_calls(line: str) -> None:
    def calls_of_loading(count: int) -> int:
        data, calls = ("time,hip\n" + "".join(line.format(row) for row in range(count))).encode(), 0

        def counted(_frame: FrameType, event: str, _function: object) -> None:
            nonlocal calls
            calls += event.endswith("call")

        sys.setprofile(counted)
        try:
            load(data)
        finally:
            sys.setprofile(None)
        return calls

    calls_of_loading(1)  # imports, and what is made once
    assert calls_of_loading(16_000) < 12 * calls_of_loading(2_000)
