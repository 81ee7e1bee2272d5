"""Room on the file systems that motiond writes to: its state, uploads and recordings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..config.robot import MotionFolderSettings
from .report import Check, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from ..config.settings import Settings
    from .machine import Machine, Room

MEGABYTE = 1_000_000
LITTLE_BYTES, TOO_LITTLE_BYTES = 1000 * MEGABYTE, 50 * MEGABYTE
TOO_FEW_FILES = 1000


def check_disk(settings: Settings | None, machine: Machine) -> list[Check]:
    """Report how much room there is, once for each file system."""
    places = machine.folders()
    for name, robot in settings.robots.items() if settings else ():
        for one in robot.motions:
            if isinstance(one, MotionFolderSettings) and one.upload:
                places[f"uploads of {name}"] = one.folder
        if robot.recording.folder is not None:
            places[f"recordings of {name}"] = robot.recording.folder
    rooms: dict[int, tuple[Room, list[str]]] = {}
    for purpose, folder in places.items():
        room = machine.room_at(_nearest(folder))
        rooms.setdefault(room.device, (room, []))[1].append(f"{folder} ({purpose})")
    return [_judged(room, ", ".join(folders)) for room, folders in rooms.values()]


def _nearest(folder: Path) -> Path:
    """Return the folder, or what it will be made in; where it may not be looked at, what it is in."""
    folders = (folder.absolute(), *folder.absolute().parents)
    return next(one for one in folders if os.path.isdir(one))  # noqa: PTH112 - a Path raises where it may not look


def _judged(room: Room, folders: str) -> Check:
    few_files = room.free_files is not None and room.free_files < TOO_FEW_FILES
    found = f"{room.free_bytes / 1000 / MEGABYTE:.1f} GB free"
    found += f", room for {room.free_files} more files" if few_files else ""
    if room.free_bytes < TOO_LITTLE_BYTES or few_files:
        verdict, means = Verdict.FAILURE, "results are lost where the broker is away, and uploads are refused"
    elif room.free_bytes < LITTLE_BYTES:
        verdict, means = Verdict.WARNING, "there is soon no room for results and uploads"
    else:
        verdict, means = Verdict.OK, "there is room for results and uploads"
    return Check(
        check="disk",
        subject=folders,
        verdict=verdict,
        found=found,
        means=means,
        hint=None if verdict is Verdict.OK else "remove what is not needed there, or make the disk larger",
        figures={"free_bytes": room.free_bytes, "free_files": room.free_files},
    )
