"""What a motion is written as, and that it comes back from that bit for bit."""

from __future__ import annotations

import csv as standard
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.formats import FormatError, Motion, NothingToDropError, csv, dump_motion, load_motion
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path

numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)
names = st.one_of(
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12),
    st.sampled_from(
        [
            *(
                "time",
                "t",
                "frame",
                "hip_deg",
                "slide_mm",
                "arm_m",
                "hip [deg]",
                "hip.velocity",
                "gripper_pos",
            ),
            *(
                "a,b",
                'the "arm"',
                "a\tb".replace("\t", ";"),
                "=1+1",
                "-x",
                "@a",
                "#1",
                "%x",
                "0",
                "1e5",
                "nan",
            ),
            *(
                "/joint_states/hip/position",
                "position[0]",
                "actual_q_0",
                "x [SI]",
                "°",
                "ä",
                "hip left",
                "s",
                "ms",
            ),
        ]
    ),
)


def motion(names: tuple[str, ...] = ("hip", "knee"), **more: Any) -> Motion:
    positions = np.arange(3.0 * len(names)).reshape(3, -1) / 10
    return Motion("walk", names, 50.0, np.arange(3) / 50, positions, **more)


def written(one: Motion, path: Path, **options: Any) -> str:
    dump_motion(one, path, **options)
    return path.read_text(encoding="utf-8")


def test_a_motion_is_a_line_of_titles_and_a_row_for_each_time(tmp_path: Path) -> None:
    assert written(motion(), tmp_path / "walk.csv") == (
        "time,hip [SI],knee [SI]\n0.0,0.0,0.1\n0.02,0.2,0.3\n0.04,0.4,0.5\n"
    )
    assert written(motion(), tmp_path / "walk.tsv").startswith("time\thip [SI]\tknee [SI]\n0.0\t0.0\t0.1\n")


@given(
    joints=st.lists(names, min_size=1, max_size=5, unique=True),
    rate=st.one_of(st.integers(10, 1000), st.floats(10, 1000)),
    data=st.data(),
    suffix=st.sampled_from([".csv", ".tsv"]),
)
def test_a_motion_comes_back_bit_for_bit(
    joints: list[str], rate: float, data: st.DataObject, suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = data.draw(st.integers(1, 20))
    one = st.lists(numbers, min_size=rows * len(joints), max_size=rows * len(joints))
    positions, efforts = (np.array(data.draw(one)).reshape(rows, -1) for _ in range(2))
    times = np.arange(rows) / rate
    before = Motion("m", tuple(joints), float(rate), times, positions, {"JointEffort": efforts})
    path = tmp_path_factory.mktemp("out") / f"m{suffix}"
    dump_motion(before, path)
    after = load_motion(path)
    assert after.joint_names == before.joint_names
    assert after.times.tobytes() == before.times.tobytes()
    assert after.positions.tobytes() == before.positions.tobytes()
    assert after.components["JointEffort"].tobytes() == efforts.tobytes()
    assert rows == 1 or after.frame_rate == pytest.approx(rate, rel=1e-15)
    assert set(after.metadata["units"].values()) <= {"SI"}


@table("name, title")
def test_a_name_stands_as_it_is_whatever_it_would_say(name: str, title: str, tmp_path: Path) -> None:
    assert written(motion((name,)), tmp_path / "walk.csv").splitlines()[0] == f"time,{title}"
    assert load_motion(tmp_path / "walk.csv").joint_names == (name,)


@table("name, title")
def test_names_that_need_it_are_quoted(name: str, title: str, tmp_path: Path) -> None:
    assert written(motion((name,)), tmp_path / "walk.csv").splitlines()[0] == f"time,{title}"
    with (tmp_path / "walk.csv").open(newline="") as file:
        assert next(standard.reader(file)) == ["time", f"{name} [SI]"]


def test_a_unit_that_the_file_stated_becomes_that_of_the_numbers_written(tmp_path: Path) -> None:
    one = motion(("hip", "slide"), metadata={"units": {"hip": "deg", "slide": "mm"}})
    assert written(one, tmp_path / "walk.csv").splitlines()[0] == "time,hip [rad],slide [m]"
    after = load_motion(tmp_path / "walk.csv")
    assert after.positions.tolist() == one.positions.tolist()
    assert after.metadata["units"] == {"hip": "rad", "slide": "m"}


def test_precision_rounds_positions_and_no_times(tmp_path: Path) -> None:
    one = Motion("walk", ("hip",), 3.0, np.arange(2) / 3, np.array([[1 / 3], [2 / 3]]))
    lines = written(one, tmp_path / "walk.csv", precision=3).splitlines()
    assert lines[1:] == ["0.0,0.3333333333333333", "0.3333333333333333,0.6666666666666666"]
    longer = Motion("walk", ("hip",), 3.0, np.arange(3) / 3, np.array([[0], [1 / 3], [2 / 3]]))
    assert written(longer, tmp_path / "walk.csv", precision=3).splitlines()[2] == "0.3333333333333333,0.333"


def test_components_that_are_no_columns_of_joints_are_refused_unless_dropped(tmp_path: Path) -> None:
    one = motion(components={"ZMP": np.zeros((3, 3)), "JointVelocity": np.ones((3, 2))})
    with pytest.raises(FormatError) as caught:
        dump_motion(one, tmp_path / "walk.csv")
    assert str(caught.value) == (
        f"{tmp_path}/walk.csv: ZMP would be lost; a table has columns of joints alone, a value for each row; "
        "to lose it, name it in drop: 'ZMP'"
    )
    dump_motion(one, tmp_path / "walk.csv", drop=["ZMP"])
    assert load_motion(tmp_path / "walk.csv").components["JointVelocity"].tolist() == [[1, 1]] * 3
    dump_motion(one, tmp_path / "walk.csv", drop=["ZMP", "JointVelocity"])
    assert load_motion(tmp_path / "walk.csv").components == {}
    with pytest.raises(NothingToDropError):
        dump_motion(motion(), tmp_path / "walk.csv", drop=["ZMP"])


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (motion(("a\nb",)), "joint name 'a\\nb' cannot stand; it would not be read back; rename the joint"),
        (motion((" a",)), "joint name ' a' cannot stand; it would not be read back; rename the joint"),
    ],
)
def test_what_would_not_come_back_is_refused(one: Motion, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        csv.dump(one, tmp_path / "walk.csv")
    assert str(caught.value) == f"{tmp_path}/walk.csv: {message}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".pos", ".mot", ".sto"])
def test_what_other_programs_read_in_their_own_way_is_not_written(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        dump_motion(motion(), tmp_path / f"walk{suffix}")
    problem = f"{suffix} is another program's; such files are read, not written; name it .csv or .tsv"
    assert str(caught.value) == f"{tmp_path}/walk{suffix}: {problem}"
