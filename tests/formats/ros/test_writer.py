"""Trajectories in YAML that come back bit for bit, and that ROS's own YAML library reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

from motiond.formats import FormatError, Motion, dump_motion, load_motion
from motiond.formats.ros import writer
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 5


def motion(**changed: Any) -> Motion:
    noise = np.random.default_rng(1)
    parts: dict[str, Any] = {
        "name": "wave",
        "joint_names": ("hip", "yes: [no]"),
        "frame_rate": 250.0,
        "times": np.arange(ROWS) / 250.0,
        "positions": noise.normal(size=(ROWS, 2)) * 10.0 ** noise.integers(-20, 3, size=(ROWS, 2)),
        "components": {"JointVelocity": noise.normal(size=(ROWS, 2))},
    }
    return Motion(**(parts | changed))


@pytest.mark.parametrize("rate_hz", [30.0, 100.0, 250.0, 1000.0])
def test_a_motion_comes_back_bit_for_bit(tmp_path: Path, rate_hz: float) -> None:
    written = motion(times=np.arange(ROWS) / rate_hz, frame_rate=rate_hz)
    dump_motion(written, tmp_path / "wave.yaml")
    found = load_motion(tmp_path / "wave.yaml")
    assert found.joint_names == written.joint_names
    assert found.positions.tobytes() == written.positions.tobytes()
    velocities = found.components["JointVelocity"]
    assert velocities.tobytes() == written.components["JointVelocity"].tobytes()
    if rate_hz >= 100:
        assert found.times.tobytes() == written.times.tobytes()
    np.testing.assert_allclose(found.times, written.times, rtol=0, atol=0.5e-9)


def test_pyyaml_reads_every_number_as_one(tmp_path: Path) -> None:
    numbers = np.array([[-0.0, 1e-7], [1e22, 5e-324], [1.5e-9, 123456789.125]])
    dump_motion(motion(positions=numbers, times=np.arange(3) / 250, components={}), tmp_path / "wave.yaml")
    document = yaml.safe_load((tmp_path / "wave.yaml").read_text(encoding="utf-8"))
    assert document["joint_names"] == ["hip", "yes: [no]"]
    assert [point["positions"] for point in document["points"]] == numbers.tolist()
    assert document["points"][1]["time_from_start"] == {"sec": 0, "nanosec": 4_000_000}


@table("changed, message")
def test_what_cannot_be_written_is_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    arrays = {key: np.array(value) if isinstance(value, list) else value for key, value in changed.items()}
    if series := changed.get("components"):
        arrays["components"] = {name: np.array(values) for name, values in series.items()}
    with pytest.raises(FormatError) as caught:
        dump_motion(motion(**arrays), tmp_path / "wave.yaml")
    assert str(caught.value) == f"{tmp_path}/wave.yaml: {message}"
    assert not list(tmp_path.iterdir())


def test_what_would_not_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MOST_VALUES", 50)
    with pytest.raises(FormatError) as caught:
        dump_motion(motion(), tmp_path / "wave.yaml")
    assert str(caught.value) == (
        f"{tmp_path}/wave.yaml: it would have 90 values; 50 are read of a file in YAML; "
        "write it as MCAP or .npz, or with fewer rows"
    )
