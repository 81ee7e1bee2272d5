"""Actuators: finds them without moving any, and asks which of them moves which joint."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from motiond.drivers import DriverError
from motiond.drivers.dynamixel import models_by_name, scan
from motiond.drivers.hebi import open_lookup, present
from motiond.drivers.serial_bus import import_serial
from motiond.text import listed, printable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .questions import Questions

KINDS = {"hebi": "HEBI module", "dynamixel": "servo"}
LOOK_S = 2.0  # HEBI modules announce themselves several times a second
BY_ID = Path("/dev/serial/by-id")
LIKELY_MAKERS = frozenset({0x0403, 0x2F5D})  # USB vendors of the adapters of servos: FTDI, ROBOTIS


class Actuator(NamedTuple):
    """A HEBI module, or a servo; its place is its family, or its port, and a servo's name is its id."""

    place: str
    name: str
    baud_rate: int = 0
    model: str | None = None


Found = dict[str, dict[str, Actuator]]  # of each kind, by what people call them


def find(questions: Questions, driver: str | None, ports: Sequence[str], baud_rate: int | None) -> Found:
    """Look for actuators of one kind, or of all."""
    found: Found = {kind: {} for kind in KINDS}
    looks = (("hebi", find_modules), ("dynamixel", partial(find_servos, questions, ports, baud_rate)))
    for kind, look in looks:
        try:
            actuators = look() if driver in {None, kind} else []
        except DriverError as error:  # as where a library is not installed
            typer.echo(str(error))
            continue
        counts = Counter(one.name for one in actuators)
        labels = [one.name if counts[one.name] == 1 else f"{one.place}:{one.name}" for one in actuators]
        found[kind] = dict(zip(labels, actuators, strict=True))
        if labels:
            typer.echo(f"found {KINDS[kind]}s: {printable(listed(labels))}")
    return found


def find_modules() -> list[Actuator]:
    """Listen for HEBI modules on all network interfaces."""
    lookup = open_lookup(())
    typer.echo(f"looking for HEBI modules, {LOOK_S:g} s")
    sleep(LOOK_S)
    counts = present(lookup)  # of modules with one name, any could be meant
    return sorted(Actuator(module.family, module.name) for module, count in counts.items() if count == 1)


def usb_ports(questions: Questions) -> list[str]:
    """Return the serial ports at USB to look at: a ping may disturb another device there, so it is asked."""
    import_serial("dynamixel")
    from serial.tools.list_ports import comports

    # Paths that outlast replugging, where the system has such.
    links = {str(link.resolve()): str(link) for link in BY_ID.glob("*")}
    there = sorted((str(one.device), one.vid) for one in comports() if one.vid is not None)
    defaults = {links.get(port, port): vendor in LIKELY_MAKERS for port, vendor in there}
    question = "look for servos on {}, by pings at common baud rates?"
    return [
        port
        for port, likely in defaults.items()
        if (likely if questions.yes else typer.confirm(question.format(printable(port)), default=likely))
    ]


def find_servos(questions: Questions, ports: Sequence[str], baud_rate: int | None) -> list[Actuator]:
    """Ping all servos on serial ports; without a baud rate at the common ones, until servos answer."""
    servos: list[Actuator] = []
    for port in dict.fromkeys(ports or usb_ports(questions)):
        typer.echo(f"looking for servos on {port}")
        try:
            answers = scan(port, () if baud_rate is None else (baud_rate,))
        except DriverError as error:
            typer.echo(str(error))
            continue
        for one in answers:
            model = one.model if one.model in models_by_name() else None
            servos.append(Actuator(port, str(one.servo_id), one.baud_rate, model))
    return servos


def choose_driver(questions: Questions, found: Found, wanted: str | None, needed: int) -> str:
    """Return the type of the driver: of one that has enough actuators, or `sim`."""
    able = [kind for kind in KINDS if len(found[kind]) >= needed]
    if wanted is not None or able:
        return wanted or questions.choose("what moves the joints", [*able, "sim"], "--driver")
    typer.echo("no actuators that fit were found; simulated ones are offered")
    return "sim"


def configured_driver(
    questions: Questions, wanted: str | None, config: str, joints: Sequence[str], pairs: Collection[str]
) -> dict[str, Any]:
    """Return the section `driver` of a robot that a configuration of HEBI's describes.

    `joints`: as its modules are called; where these are not all there, simulated ones are offered.
    `pairs`: joints for which an actuator is given.
    """
    if wanted == "dynamixel" or pairs:
        problem = (
            f"{config} says what moves each joint; name another description by --model, such as its HRDF"
        )
        raise typer.BadParameter(printable(problem), param_hint="--actuator" if pairs else "--driver")
    found = find(questions, wanted or "hebi", (), None)
    there = {name for one in found["hebi"].values() for name in (one.name, f"{one.place}/{one.name}")}
    if not there.issuperset(joints):
        found["hebi"] = {}
    return {"type": choose_driver(questions, found, wanted, len(joints)), "config": config}


def joint_names(found: Found, driver: str) -> list[str]:
    """Return names for joints after the actuators that move them."""
    return [f"joint{label}" if driver == "dynamixel" else label for label in found.get(driver, ())]


def assign(
    questions: Questions, driver: str, found: Found, pairs: Mapping[str, str], joints: Sequence[str]
) -> tuple[dict[str, Actuator], bool]:
    """Return what moves each joint, in their order, and whether somebody took the order of actuators.

    A wrong actuator would move another joint: where nobody can be asked, an unknown one is an error.
    """
    if unknown := [joint for joint in pairs if joint not in joints or driver == "sim"]:
        problem = f"{listed(unknown)}: no joint that needs it; there are {listed(joints)}; correct it"
        raise typer.BadParameter(problem, param_hint="--actuator")
    if driver == "sim":
        return {}, False
    labels = found[driver]
    if len(labels) < len(joints):
        problem, reason = (
            f"{len(labels)} {KINDS[driver]}s answered",
            f"the robot needs {len(joints)} at least",
        )
        hint = "check power and cables, or begin with --driver sim"
        raise DriverError(f"driver {driver}", problem, reason, hint)
    known = {**dict(zip(joint_names(found, driver), labels, strict=True)), **pairs}
    reserved = {known[joint]: joint for joint in joints if joint in known}
    assigned: dict[str, Actuator] = {}
    in_order: list[bool] = []
    for joint in joints:
        free = [label for label, one in labels.items() if one not in assigned.values()]
        left = [label for label in free if reserved.get(label, joint) == joint]
        if joint not in known and questions.yes:
            problem = f"which {KINDS[driver]} moves joint '{joint}' is not known"
            reason = "a wrong one would move another joint, so that --yes does not guess"
            hint = f"add --actuator {joint}=…, one of {listed(left)}; or --driver sim"
            raise typer.BadParameter(printable(f"{problem}; {reason}; {hint}"))
        question = f"the {KINDS[driver]} of joint '{printable(joint)}'"
        label = questions.choose(question, left, "--actuator", known.get(joint))
        in_order += [] if joint in known else [label == left[0]]
        assigned[joint] = labels[label]
    return assigned, bool(in_order) and all(in_order)


def driver_options(driver: str, assigned: Mapping[str, Actuator]) -> dict[str, Any]:
    """Return the section `driver` of a robot."""
    if driver == "hebi":
        families, names = zip(*((module.place, module.name) for module in assigned.values()), strict=True)
        return {"type": driver, "families": list(families), "names": list(names)}
    ports: dict[str, dict[str, Any]] = {}
    for joint, servo in assigned.items():
        port = {"port": servo.place, "baud_rate": servo.baud_rate, "ids": {}}
        ports.setdefault(servo.place, port)["ids"][joint] = int(servo.name)
    models = {joint: servo.model for joint, servo in assigned.items() if servo.model is not None}
    options = {"ports": list(ports.values()), "models": models}
    return {"type": driver, **{key: value for key, value in options.items() if value}}
