"""A draft becomes a motion in the folder for uploads. It takes time, and is done in a thread."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import FormatError, MotionError, dump_motion
from motiond.formats.model import peaks
from motiond.text import listed, shortened

from ...api import RequestError
from ...teaching import (
    Movement,
    Taught,
    TeachingError,
    as_motion,
    movement,
    pose_bounds,
    taught_columns,
    through,
    to_rest_at_each,
)
from ..motions.uploads import MAY_STAND, NAME

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats import Motion
    from motiond.formats.arrays import Floats

    from ...api import SaveTaughtAnswer, SaveTaughtRequest
    from ...config.robot import RobotSettings
    from ...planning import MotionLibrary
    from ...teaching import Trail
    from ..motions import Uploads

SUFFIX = ".csv"
ROUND_RATE_HZ = 100.0


class Saving:
    """Makes motions of what one robot was taught.

    - `robot`: the robot's name, for messages
    - `library`: with the limits that hold now
    """

    def __init__(self, robot: str, settings: RobotSettings, library: MotionLibrary, uploads: Uploads) -> None:
        self._robot, self._settings = robot, settings
        self._library, self._uploads = library, uploads

    def save(self, request: SaveTaughtRequest, trail: Trail, poses: Floats) -> SaveTaughtAnswer:
        """Make a motion, check it, and save it unless it is a dry run; `poses`: shape (poses, joints).

        Raises RequestError: INVALID_MOTION if there is none, it cannot be played, or the robot's motion map
        would change it; as `Uploads.put` does.
        """
        stem = request.name.removesuffix(SUFFIX)
        file = f"{stem}{SUFFIX}"
        self.refuse_name(request.name, replaces=request.replace)
        try:
            taught = self._taught(stem, request, trail, poses)
        except TeachingError as error:
            raise RequestError.of("INVALID_MOTION", f"{self._robot}: {error}") from error
        self._refuse_if_mapped(taught.motion)
        answer = self._answer(taught, file)
        try:
            (entry,) = self._uploads.put(
                file,
                lambda path: self._write(taught.motion, path),
                replaces=request.replace,
                keeps=not request.dry,
            )
        except RequestError as error:
            if error.code != "INVALID_MOTION":
                raise
            answer["problems"] = [*str(error).splitlines(), *taught.notes]
            if not request.dry:
                raise RequestError.of("INVALID_MOTION", str(error), dict(answer)) from error
            return answer
        answer["problems"] = [*taught.notes, *entry.warnings]
        if entry.plan is not None:
            answer["duration_s"] = entry.plan.duration_s
        answer["saved"] = not request.dry
        return answer

    def refuse_name(self, name: str, *, replaces: bool) -> None:
        """Refuse what could not be saved by its name alone, or where nothing can be saved at all."""
        folder = self._uploads.folder_for("motions cannot be saved")
        stem = name.removesuffix(SUFFIX)
        if not NAME.fullmatch(f"{stem}{SUFFIX}"):
            problem = f"'{shortened(stem, 60)}' is no name for a motion"
            raise RequestError("INVALID_REQUEST", self._robot, problem, MAY_STAND, "choose another")
        file = folder / f"{stem}{SUFFIX}"
        if not replaces and file.exists():
            reason, hint = "it is replaced only on request", "set `replace`, or choose another name"
            raise RequestError("INVALID_REQUEST", self._robot, f"{file.name} is there already", reason, hint)
        for entry in self._library:
            if entry.name.casefold() == stem.casefold() and entry.file != file:
                reason = f"there is a motion of this name in {entry.file}"
                if replaces:
                    reason += f", and only what lies in {folder} is replaced"
                problem, hint = f"{stem} cannot be saved", "choose another name"
                raise RequestError("INVALID_REQUEST", self._robot, problem, reason, hint)
        self._uploads.refuse(file.name, replaces=replaces)

    def _taught(self, name: str, request: SaveTaughtRequest, trail: Trail, poses: Floats) -> Taught:
        joint_map, settings = self._library.joint_map, self._settings
        max_rate_hz = self._library.max_rate_hz
        few_hz = min(ROUND_RATE_HZ, max_rate_hz)
        if (request.rate_hz or few_hz) < few_hz and not settings.interpolate_recordings:
            reason = "the robot would go from row to row in steps"
            hint = f"leave `rate_hz` out, or take {few_hz:g} or more"
            raise TeachingError(f"{request.rate_hz:g} rows/s are few; {reason}; {hint}")
        if request.from_ == "movement":
            how = Movement(**{key.name: getattr(request, key.name) for key in fields(Movement)})
            return movement(
                name, *trail.rows(), how, joint_map=joint_map, settings=settings, max_rate_hz=max_rate_hz
            )
        if not len(poses):
            raise TeachingError("no pose was kept; there is nothing to go to; keep poses by teach/pose")
        columns = taught_columns(joint_map, np.isfinite(poses).all(axis=0))
        bounds = pose_bounds(joint_map, settings, columns, request.speed)
        rate_hz = request.rate_hz or few_hz
        lay_out = through if request.at_poses == "through" else to_rest_at_each
        laid_out = lay_out(poses[:, columns], bounds, rate_hz)
        motion = as_motion(name, joint_map, columns, laid_out, rate_hz)
        return Taught(motion, np.zeros(len(columns)))

    def _refuse_if_mapped(self, motion: Motion) -> None:
        """Refuse what the robot's motion map would make another motion of."""
        try:
            read = self._library.as_read(motion)
        except MotionError as error:
            raise RequestError.of("INVALID_MOTION", f"{self._robot}: {error}") from error
        columns = dict(zip(read.joint_names, read.positions.T, strict=True))
        positions = zip(motion.joint_names, motion.positions.T, strict=True)
        others = [
            name for name, column in positions if name not in columns or (columns[name] != column).any()
        ]
        if others:
            problem, reason = f"{motion.name} cannot be saved", f"motion_map changes {listed(others)} in it"
            hint = "let the map name other columns than the robot's joints"
            raise RequestError("INVALID_MOTION", self._robot, problem, reason, hint)

    def _write(self, motion: Motion, path: Path) -> None:
        try:
            dump_motion(motion, path)
        except FormatError as error:
            if isinstance(error.__cause__, OSError):
                raise error.__cause__ from error  # of the folder, not of where it is written first
            raise RequestError.of("DISK_TROUBLE", f"{self._robot}: {error}") from error

    def _answer(self, taught: Taught, file: str) -> SaveTaughtAnswer:
        motion = taught.motion
        units = motion.metadata["units"]
        return {
            "motion": motion.name,
            "file": file,
            "duration_s": motion.duration_s,
            "rows": len(motion.times),
            "deviation": dict(zip(motion.joint_names, taught.deviation.tolist(), strict=True)),
            "peaks": [
                {
                    "joint": peak.joint,
                    "unit": units[peak.joint],
                    "lowest": peak.lowest,
                    "highest": peak.highest,
                    "velocity": peak.velocity,
                    "acceleration": peak.acceleration,
                }
                for peak in peaks(motion)
            ],
            "problems": [],
            "saved": False,
        }
