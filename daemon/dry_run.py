"""A dry run of planning: whether every motion fits every robot, without touching an actuator.

In comes the checked configuration, out comes for each robot what the daemon would say of its motions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daemon.library import MotionLibrary
from daemon.supervisor import make_joint_map
from drivers.registry import make_driver

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from daemon.config import Settings


@dataclass(frozen=True, slots=True)
class Finding:
    """One motion on one robot.

    Attributes
    ----------
    problems : tuple of str
        Every reason why it cannot be played; empty where it can.
    warnings : tuple of str
        What would be changed or left out.
    """

    robot: str
    motion: str
    file: str
    duration_s: float
    max_speed: float | None
    problems: tuple[str, ...]
    warnings: tuple[str, ...]

    def payload(self) -> dict[str, Any]:
        """Give the finding JSON-ready."""
        told = {name: getattr(self, name) for name in self.__slots__}
        return {**told, "ok": not self.problems}


def check_motions(settings: Settings, names: Sequence[str] = ()) -> list[Finding]:
    """Plan motions on each robot.

    Parameters
    ----------
    names : sequence of str
        The motions to plan; none means all.

    Raises
    ------
    FormatError, JointMapError, DriverError
        If a robot cannot be made of its description, joints and driver.
    """
    return [finding for robot in settings.robots for finding in _check_robot(robot, settings, names)]


def _check_robot(name: str, settings: Settings, names: Sequence[str]) -> Iterable[Finding]:
    robot = settings.robots[name]
    joint_map = make_joint_map(name, robot, settings)
    driver = make_driver(robot.driver.type, robot.driver.options, joint_map.actuators)
    library = MotionLibrary(joint_map, robot, driver.max_rate_hz)
    library.load_all()
    for motion in names or [entry.name for entry in library]:
        entry = library.get(motion)
        if entry is None:
            yield Finding(name, motion, "", 0.0, None, (library.unknown(motion),), ())
            continue
        yield Finding(
            robot=name,
            motion=motion,
            file=str(entry.file),
            duration_s=entry.plan.duration_s if entry.plan else entry.duration_s,
            max_speed=entry.plan.max_speed if entry.plan else None,
            problems=tuple(entry.reason.splitlines()),
            warnings=entry.warnings,
        )
