"""What is written to `.npz` comes back bit for bit, and NumPy alone reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motiond.formats import FormatError, Motion, dump_motion, load_motion
from tests.tables import table

GOOD = Path(__file__).parents[2] / "files" / "good"
ROWS = 7


def motion(**changed: Any) -> Motion:
    noise = np.random.default_rng(1)
    parts: dict[str, Any] = {
        "name": "wave",
        "joint_names": ("hip", "knee"),
        "frame_rate": 30.0,
        "times": np.arange(ROWS) / 30.0,
        "positions": noise.normal(size=(ROWS, 2)),
        "components": {"JointVelocity": noise.normal(size=(ROWS, 2)), "ZMP": noise.normal(size=(ROWS, 3))},
        "metadata": {"components": {"ZMP": {"type": "Vector3Seq"}}},
    }
    return Motion(**(parts | changed))


def same(one: Motion, other: Motion) -> bool:
    arrays = [(one.positions, other.positions), (one.times, other.times)]
    arrays += [(values, other.components[name]) for name, values in one.components.items()]
    bits = all(left.tobytes() == right.tobytes() for left, right in arrays)
    return bits and (one.joint_names, one.frame_rate) == (other.joint_names, other.frame_rate)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"joint_names": ()},
        {"times": 1.7e9 + np.cumsum(np.arange(1, ROWS + 1)), "frame_rate": 100.0},
        {"positions": np.full((ROWS, 2), -0.0)},
    ],
)
def test_a_motion_comes_back_bit_for_bit(tmp_path: Path, changed: dict[str, Any]) -> None:
    written = motion(**changed)
    dump_motion(written, tmp_path / "wave.npz")
    found = load_motion(tmp_path / "wave.npz")
    assert same(written, found)
    assert found.about("ZMP") == {"type": "Vector3Seq"}
    assert found.warnings == ()


def test_a_motion_of_another_format_keeps_its_poses(tmp_path: Path) -> None:
    feet = load_motion(GOOD / "two_feet.seq")
    dump_motion(feet, tmp_path / "feet.npz", drop=["unknown"] if feet.metadata["unknown"] else [])
    found = load_motion(tmp_path / "feet.npz")
    assert same(feet, found)
    assert [name for name in feet.components if feet.is_poses(name) != found.is_poses(name)] == []


def test_what_is_known_of_units_stays_known(tmp_path: Path) -> None:
    dump_motion(motion(metadata={"units": {"hip": "deg"}}), tmp_path / "wave.npz")
    found = load_motion(tmp_path / "wave.npz")
    assert same(motion(), found)
    assert found.metadata["units"] == {"hip": "rad", "knee": "SI"}


def test_numpy_alone_reads_what_is_written(tmp_path: Path) -> None:
    dump_motion(motion(), tmp_path / "wave.npz")
    with np.load(tmp_path / "wave.npz", allow_pickle=False) as found:
        assert set(found) == {
            "positions", "names", "units", "times", "rate_hz",
            "component.JointVelocity", "component.ZMP", "type.ZMP",
        }  # fmt: skip
        assert found["names"].tolist() == ["hip", "knee"]
        assert found["units"].tolist() == ["SI", "SI"]


def test_fewer_digits_are_written_on_request(tmp_path: Path) -> None:
    dump_motion(motion(positions=np.full((ROWS, 2), [0.123456789, 1.0])), tmp_path / "a.npz", precision=3)
    assert load_motion(tmp_path / "a.npz").positions[0].tolist() == [0.123456789, 1.0]
    climbing = np.linspace(0.0, 0.123456789, 2 * ROWS).reshape(ROWS, 2)
    dump_motion(motion(positions=climbing), tmp_path / "b.npz", precision=3)
    assert load_motion(tmp_path / "b.npz").positions[3, 0] == 0.057


@table("changed, name, message")
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, changed: dict[str, Any], name: str, message: str
) -> None:
    parts = {key: np.array(value * ROWS) if key == "positions" else value for key, value in changed.items()}
    with pytest.raises(FormatError) as caught:
        dump_motion(motion(**parts), tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: {message}"
    assert not list(tmp_path.iterdir())
