"""Which format writes a motion, and which options each format has."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.formats import FormatError, Motion, dump_motion, load_motion
from motiond.formats.registry import motion_writers
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def nod() -> Motion:
    return Motion("nod", ("neck",), 31.25, np.arange(3) / 31.25, np.array([[0.0], [0.123456789123], [0.0]]))


def test_a_format_writes_by_its_own_options_too(tmp_path: Path) -> None:
    dump_motion(nod(), tmp_path / "nod.seq", version=1, precision=3)
    dump_motion(nod(), tmp_path / "nod.xmdi", tolerance=1.0)
    written = load_motion(tmp_path / "nod.seq")
    assert written.metadata["format_version"] == 1
    assert written.positions[1, 0] == 0.123
    assert not load_motion(tmp_path / "nod.xmdi").positions.any()


@pytest.mark.parametrize("suffix", [writer.SUFFIXES[0] for writer in motion_writers()])
def test_numbers_that_are_not_finite_are_never_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"nod{suffix}"
    with pytest.raises(FormatError) as caught:
        dump_motion(replace(nod(), positions=np.array([[0.0], [np.inf], [0.0]])), path)
    assert str(caught.value) == (
        f"{path}: JointDisplacement holds inf in row 1; numbers are finite; fix the motion"
    )
    assert not path.exists()


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK),
    "device": lambda path: os.mknod(path, stat.S_IFCHR, os.makedev(1, 3)),
    "folder": lambda path: path.mkdir(),
}
ROOT_ALONE = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=ROOT_ALONE if kind == "device" else ()) for kind in KINDS]
)
@pytest.mark.parametrize("suffix", [writer.SUFFIXES[0] for writer in motion_writers()])
def test_what_is_no_regular_file_is_never_replaced(
    tmp_path: Path, suffix: str, kind: str, *, linked: bool
) -> None:
    there = path = tmp_path / f"nod{suffix}"
    KINDS[kind](there)
    if linked:
        path = tmp_path / f"link{suffix}"
        path.symlink_to(there)
    before = there.lstat()
    with pytest.raises(FormatError) as caught:
        dump_motion(nod(), path)
    assert str(caught.value) == f"{path}: cannot be written; it is a {kind}; check the path"
    assert (there.lstat().st_mode, there.lstat().st_ino) == (before.st_mode, before.st_ino)


OTHERS = [writer.SUFFIXES[0] for writer in motion_writers() if writer.NAME != "seq"]


@pytest.mark.parametrize("suffix", OTHERS)
def test_a_motion_without_joints_is_written_as_seq_alone(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"nod{suffix}"
    with pytest.raises(FormatError) as caught:
        dump_motion(replace(nod(), joint_names=(), positions=np.empty((3, 0))), path)
    assert str(caught.value) == (
        f"{path}: there is nothing to write; the motion has no joints; choose another motion"
    )


@pytest.mark.parametrize("suffix", OTHERS)
def test_what_other_formats_say_besides_is_lost_only_by_name(tmp_path: Path, suffix: str) -> None:
    name = "unknown" if suffix == ".xmdi" else "attributes"
    with pytest.raises(
        FormatError, match=rf"{name} would be lost; .*; to lose it, name it in drop: '{name}'"
    ):
        dump_motion(replace(nod(), metadata={name: {"by": "me"}}), tmp_path / f"nod{suffix}")


@pytest.mark.parametrize("suffix", [suffix for suffix in OTHERS if suffix != ".npz"])
def test_joints_without_names_are_numbered_where_joints_need_names(tmp_path: Path, suffix: str) -> None:
    times = np.arange(3) / 125
    dump_motion(Motion("nod", (), 125.0, times, np.eye(3)), tmp_path / f"nod{suffix}")
    assert load_motion(tmp_path / f"nod{suffix}").joint_names == ("joint0", "joint1", "joint2")


@table("name, format_, message")
def test_a_format_that_does_not_write_motions_is_refused(
    tmp_path: Path, name: str, format_: str | None, message: str
) -> None:
    with pytest.raises(FormatError) as caught:
        dump_motion(nod(), tmp_path / name, format_)
    written = ", ".join(writer.NAME for writer in motion_writers())
    assert str(caught.value) == f"{tmp_path / name}: {message.format(written=written)}"
