"""A folder with the same motion in every format, and with a broken file of each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import copy

import numpy as np
import pytest

from motiond.daemon.planning.library import MotionLibrary
from motiond.formats import FormatError, Motion, dump_motion, load_motions
from motiond.formats.registry import MOTIONS
from tests.robots import map_of, settings_of

BAD = Path(__file__).parents[2] / "files" / "bad"
SUFFIXES = (".seq", ".xmdi", ".csv", ".npz", ".mcap", ".yaml", ".motion", ".bvh", ".pseq")
JOINTS = {name: {"limits": {"lower": -2, "upper": 2, "velocity": 9}} for name in ("elbow", "wrist")}
COLUMNS = ("J1.Zrotation", "J2.Zrotation")
MAP = f"joints: {{elbow: {{from: {COLUMNS[0]}, sign: -1}}, wrist: {COLUMNS[1]}}}\n"
RATE_HZ = 50.0
MOTION = Motion(
    name="wave",
    joint_names=COLUMNS,
    frame_rate=RATE_HZ,
    times=np.arange(3) / RATE_HZ,
    positions=np.array([[0.0, 0.0], [-0.02, 0.05], [-0.04, 0.1]]),
)
BVH = """HIERARCHY
ROOT J1 {
CHANNELS 1 Zrotation
JOINT J2 {
CHANNELS 1 Zrotation
}}
MOTION
Frames: 3
Frame Time: 0.02
"""
# Its columns have numbers, so that no map applies: they are the robot's joints, in order.
PSEQ = """type: PoseSeq
refs:
  - { time: 0, refer: { type: Pose, joints: [ 0, 1 ], q: [ 0, 0 ] } }
  - { time: 0.04, refer: { type: Pose, joints: [ 0, 1 ], q: [ 0.04, 0.1 ] } }
"""


def write(path: Path) -> None:
    """Write the motion in the format of a suffix."""
    if path.suffix == ".bvh":
        frames = (f"{elbow} {wrist}\n" for elbow, wrist in np.degrees(MOTION.positions).tolist())
        path.write_text(BVH + "".join(frames))
    elif path.suffix == ".pseq":
        path.write_text(PSEQ)
    else:
        dump_motion(replace(MOTION, name=path.stem), path)


@pytest.fixture
def library(tmp_path: Path) -> MotionLibrary:
    for suffix in SUFFIXES:
        write(tmp_path / f"good_{suffix[1:]}{suffix}")
        copy(BAD / f"many_faults{suffix}", tmp_path / f"bad_{suffix[1:]}{suffix}")
    for name in ("arm.cfg.yaml", "wave.markers.yaml", "README.md", "arm.hrdf"):
        (tmp_path / name).write_text("no motion\n")
    (tmp_path / "arm.map.yaml").write_text(MAP)
    settings = settings_of(JOINTS, motions=[tmp_path], motion_map=tmp_path / "arm.map.yaml")
    library = MotionLibrary(map_of(JOINTS), settings)
    library.load_all()
    return library


def test_the_folder_holds_every_format() -> None:
    assert sorted(MOTIONS.names) == sorted(
        next(name for name, entry in MOTIONS.entries.items() if suffix in entry.suffixes)
        for suffix in SUFFIXES
    )


def test_a_robot_with_a_map_plays_a_motion_alike_in_every_format(library: MotionLibrary) -> None:
    good = {entry.name: entry for entry in library if not entry.reason}
    assert sorted(good) == sorted(f"good_{suffix[1:]}" for suffix in SUFFIXES)
    for entry in good.values():
        assert entry.plan is not None
        assert entry.plan.duration_s == pytest.approx(0.04)
        assert entry.plan.positions[-1].tolist() == pytest.approx([0.04, 0.1]), entry.name


def test_a_broken_file_of_every_format_is_listed_with_its_reason(library: MotionLibrary) -> None:
    bad = {entry.file.name: entry.reason for entry in library if entry.reason}
    assert sorted(bad) == sorted(f"bad_{suffix[1:]}{suffix}" for suffix in SUFFIXES)
    for entry in library:
        if entry.reason:
            with pytest.raises(FormatError) as caught:
                load_motions(entry.file)
            assert entry.reason == str(caught.value)
