"""Robot descriptions and motions in a folder and the folders in it, as far as a first look reaches."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiond.formats import FormatError, load_motions, load_robots
from motiond.formats.registry import MOTIONS, ROBOTS
from motiond.text import printable

from ...joints.joint_map import JointMapError, build_joint_map

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.formats.registry import Kind

    from ...joints.joint_map import JointMap

DEEPEST, MOST_FILES = 3, 5_000
LEFT_OUT = frozenset({"node_modules", "__pycache__"})
PYTHON_ENVIRONMENT = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class Files:
    """What lies in a folder; every path begins with that folder.

    Attributes
    ----------
    models : tuple of Path
        Robot descriptions, going by their suffixes.
    motion_folders : tuple of Path
        Folders that hold motion files.
    """

    models: tuple[Path, ...]
    motion_folders: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Described:
    """One robot of a description that motiond can move.

    Attributes
    ----------
    is_alone : bool
        Whether it is the only robot of its file, so that its name need not be told.
    """

    file: Path
    name: str
    joint_map: JointMap
    is_alone: bool


def look_into(folder: Path) -> Files:
    """List what lies in a folder, three folders deep; hidden ones and those of programs are left out."""
    of_robots, of_motions = (_suffixes(kind) for kind in (ROBOTS, MOTIONS))
    files = list(_files(folder))
    folders = dict.fromkeys(file.parent for file in files if file.suffix.lower() in of_motions)
    return Files(tuple(file for file in files if file.suffix.lower() in of_robots), tuple(folders))


def robots_of(file: Path) -> list[Described]:
    """Return the robots of a description that have joints to move.

    Raises
    ------
    FormatError
        If the description cannot be read.
    JointMapError
        If it has no robot that motiond can move.
    """
    models = load_robots(file, within=(file.parent,))
    found: list[Described] = []
    reasons: list[str] = []
    for model in models:
        try:
            joint_map = build_joint_map(model.name, model, {})
        except JointMapError as error:
            reasons += str(error).splitlines()
        else:
            found.append(Described(file, model.name, joint_map, len(models) == 1))
    if not found:
        raise JointMapError([f"{file}: {reason}" for reason in reasons] or [f"{file}: has no robot"])
    return found


def joints_named_in(folders: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the joints that the first motion names that can be read and names any; else none."""
    suffixes = _suffixes(MOTIONS)
    for folder in folders:
        for file in sorted(one for one in folder.iterdir() if one.suffix.lower() in suffixes):
            try:
                named = next((motion.joint_names for motion in load_motions(file) if motion.joint_names), ())
            except FormatError:
                continue  # the check of the whole configuration tells of it
            if named:
                return tuple(named)
    return ()


def _suffixes(kind: Kind[Any]) -> frozenset[str]:
    return frozenset(suffix for one in kind.formats() for suffix in one.SUFFIXES)


def _files(folder: Path) -> Iterator[Path]:
    """Walk through the folders in order, up to a number of files."""
    count = 0
    for place, folders, names in os.walk(folder):
        here = Path(place)
        deep = len(here.relative_to(folder).parts)
        folders[:] = sorted(
            name
            for name in folders
            if deep < DEEPEST
            and _is_plain(name)
            and name not in LEFT_OUT
            and not (here / name / PYTHON_ENVIRONMENT).exists()
        )
        for name in sorted(names):
            count += 1
            if count > MOST_FILES:
                return
            if _is_plain(name):
                yield here / name


def _is_plain(name: str) -> bool:
    """Whether a file is not hidden, and its name can be written."""
    return not name.startswith(".") and name == printable(name)
