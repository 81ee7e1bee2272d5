"""Looks for actuators, without moving any, and for robot descriptions and motions in a folder."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from motiond.drivers import DriverError
from motiond.drivers.dynamixel import import_serial, models_by_name, scan
from motiond.drivers.hebi import LOOKUP_POLL_S, open_lookup, present
from motiond.formats import FormatError, load_motions, load_robots
from motiond.formats.registry import MOTIONS, ROBOTS
from motiond.text import printable

from ...joints import JointMapError, build_joint_map

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...joints import JointMap

LOOK_S = 2.0
"""HEBI modules announce themselves several times a second."""
BY_ID = Path("/dev/serial/by-id")
LIKELY_MAKERS = frozenset({0x0403, 0x2F5D})
"""USB vendors of the adapters of DYNAMIXEL servos: FTDI, ROBOTIS."""
DEEPEST, MOST_FILES = 3, 5_000
SKIPPED = frozenset({"node_modules", "__pycache__"})


class Actuator(NamedTuple):
    """A HEBI module, or a servo; its place is its family, or its port, and a servo's name is its id."""

    driver: str
    place: str
    name: str
    baud_rate: int = 0
    model: str | None = None


class Port(NamedTuple):
    """A serial port at USB; a ping may disturb what is behind an adapter of a maker that sells no servos."""

    path: str
    is_likely: bool


class Described(NamedTuple):
    """One robot of a description that motiond can move."""

    file: Path
    name: str
    joint_map: JointMap
    is_alone: bool

    @property
    def leaders(self) -> tuple[str, ...]:
        """The joints that follow no other, each of which needs an actuator."""
        followers = {mimic.joint for mimic in self.joint_map.mimics}
        return tuple(name for column, name in enumerate(self.joint_map.joints) if column not in followers)


def serial_ports(by_id: Path = BY_ID) -> list[Port]:
    """Return the serial ports at USB, by paths that outlast replugging where the system has such.

    Raises
    ------
    DriverConfigError
        If pyserial is not installed.
    """
    import_serial()
    from serial.tools.list_ports import comports

    links = {str(link.resolve()): str(link) for link in (by_id.iterdir() if by_id.is_dir() else ())}
    return [
        Port(links.get(str(Path(port.device).resolve()), port.device), port.vid in LIKELY_MAKERS)
        for port in sorted(comports(), key=lambda port: str(port.device))
        if port.vid is not None
    ]


def find_servos(ports: Sequence[str], baud_rate: int | None) -> list[Actuator]:
    """Ping all servos on serial ports; without a baud rate at the common ones, until servos answer."""
    servos: list[Actuator] = []
    known = models_by_name()
    for port in dict.fromkeys(ports):
        typer.echo(f"looking for servos on {port}")
        try:
            answers = scan(port, () if baud_rate is None else (baud_rate,))
        except DriverError as error:
            typer.echo(str(error))
            continue
        servos += [
            Actuator(
                "dynamixel",
                port,
                str(servo.servo_id),
                servo.baud_rate,
                servo.model if servo.model in known else None,
            )
            for servo in answers
        ]
    return servos


def find_modules() -> list[Actuator]:
    """Listen for HEBI modules on all network interfaces."""
    try:
        lookup = open_lookup(())
    except DriverError as error:
        typer.echo(str(error))
        return []
    typer.echo(f"looking for HEBI modules, {LOOK_S:g} s")
    until_s = time.monotonic() + LOOK_S
    while time.monotonic() < until_s:
        time.sleep(LOOKUP_POLL_S)
    counts = present(lookup)
    for module, count in counts.items():
        if count > 1:
            reason = "any of them could be meant; rename all but one with HEBI Scope"
            typer.echo(f"driver hebi: {count} modules are called {module}; {reason}")
    names = sorted((module.family, module.name) for module, count in counts.items() if count == 1)
    return [Actuator("hebi", *name) for name in names]


def by_label(actuators: Sequence[Actuator]) -> dict[str, Actuator]:
    """Return actuators by what people call them: id or name, with the place where two have the same."""
    counts = Counter(actuator.name for actuator in actuators)
    return {one.name if counts[one.name] == 1 else f"{one.place}:{one.name}": one for one in actuators}


def look_into(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the robot descriptions in a folder, and the folders with motions, three folders deep.

    Hidden files and folders, those of programs, and names that cannot be printed are left out.
    """
    models: list[Path] = []
    motions: dict[Path, None] = {}
    of_robots, of_motions = (
        [suffix for one in kind.formats() for suffix in one.SUFFIXES] for kind in (ROBOTS, MOTIONS)
    )
    count = 0
    for place, folders, names in os.walk(folder):
        here = Path(place)
        is_deep = len(here.relative_to(folder).parts) >= DEEPEST
        folders[:] = [] if is_deep else sorted(name for name in folders if not _is_skipped(here / name))
        for file in sorted(here / name for name in names if not _is_skipped(here / name)):
            if file.suffix.lower() in of_robots:
                models.append(file)
            if file.suffix.lower() in of_motions:
                motions[here] = None
        count += len(names)
        if count > MOST_FILES:
            break
    return models, list(motions)


def _is_skipped(path: Path) -> bool:
    name = path.name
    is_plain = not name.startswith(".") and name == printable(name) and name not in SKIPPED
    return not is_plain or (path / "pyvenv.cfg").exists()


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
    robots: list[Described] = []
    reasons: list[str] = []
    for model in models:
        try:
            joint_map = build_joint_map(model.name, model, {})
        except JointMapError as error:
            reasons += [f"{file}: {line}" for line in str(error).splitlines()]
        else:
            robots.append(Described(file, model.name, joint_map, len(models) == 1))
    if not robots:
        raise JointMapError(reasons or [f"{file}: has no robot"])
    return robots


def joints_named_in(folders: Sequence[Path]) -> tuple[str, ...]:
    """Return the joints that the first readable motion with names has; else none."""
    for file in (file for folder in folders for file in sorted(folder.iterdir())):
        with suppress(FormatError):  # also for what is no motion; the check of the configuration reports it
            for motion in load_motions(file):
                if motion.joint_names:
                    return tuple(motion.joint_names)
    return ()
