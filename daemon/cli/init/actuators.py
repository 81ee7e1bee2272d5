"""Actuators: finds them without moving any, and asks which of them moves which joint."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import product
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from motiond.drivers import DriverError, dynamixel, feetech
from motiond.drivers.hebi import open_lookup, present
from motiond.drivers.serial_bus import import_serial
from motiond.text import listed, printable

from ..ports import naming_its_robot

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .questions import Questions

KINDS = {"hebi": "HEBI module", "dynamixel": "servo", "feetech": "Feetech servo"}
NAMES = {"dynamixel": "DYNAMIXEL", "feetech": "Feetech"}
SERIAL = {"dynamixel": dynamixel, "feetech": feetech}
SO101 = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
"""The joints of an SO-101 by LeRobot's names, in the order of its ids, from 1."""
SO101_MODEL = "STS3215"
LOOK_S = 2.0  # HEBI modules announce themselves several times a second
LOOK_LATER = "to look for servos, stop that daemon"
BY_ID = Path("/dev/serial/by-id")
LIKELY_MAKERS = frozenset({0x0403, 0x2F5D})  # USB vendors of the adapters of servos: FTDI, ROBOTIS
LIKELY_ADAPTERS = frozenset(
    {(0x1A86, 0x55D3)}
)  # vendor and product: CH343, on the boards of SO-100 and SO-101


class Actuator(NamedTuple):
    """A HEBI module, or a servo; its place is its family, or its port, and a servo's name is its id."""

    place: str
    name: str
    baud_rate: int = 0
    model: str | None = None


Found = dict[str, dict[str, Actuator]]  # of each kind, by what people call them


def find(
    questions: Questions, driver: str | None, ports: Sequence[str], baud_rate: int | None
) -> tuple[Found, str | None]:
    """Look for actuators of one kind, or of all; return them, and the kind that is asked for, if any.

    A port asks for servos, of the kind that answers.
    """
    kinds = {driver} if driver else SERIAL if ports else KINDS
    found: Found = {kind: {} for kind in KINDS}
    protocols = [kind for kind in SERIAL if kind in kinds]
    looks = [find_modules] if "hebi" in kinds else []
    looks += [partial(find_servos, questions, protocols, ports, baud_rate)] if protocols else []
    for look in looks:
        try:
            actuators = look()
        except DriverError as error:  # as where a library is not installed
            typer.echo(str(error))
            continue
        for kind in actuators:
            found[kind] = _labelled(actuators[kind])
            if found[kind]:
                typer.echo(f"found {KINDS[kind]}s: {printable(listed(found[kind]))}")
    return found, driver or (max(SERIAL, key=lambda kind: len(found[kind])) if ports else None)


def refuse_none(found: Found, driver: str | None, ports: Sequence[str], baud_rate: int | None) -> None:
    """Raise DriverError where servos that are asked for do not answer, and say where the other maker's do."""
    if driver not in SERIAL or found[driver]:
        return
    for port, other in product(ports, SERIAL.keys() - {driver}):
        with naming_its_robot(port, LOOK_LATER):
            there = _on(port, other, baud_rate)
        if there:
            problem = f"no {NAMES[driver]} servo answers at {port}"
            reason = f"{NAMES[other]} servos do: {listed([one.name for one in there])}"
            raise DriverError(f"driver {driver}", problem, reason, f"take --driver {other}")
    hint = "check power and cables, name its --port, or begin with --driver sim"
    raise DriverError(f"driver {driver}", f"no {NAMES[driver]} servo answers", "", hint)


def _labelled(actuators: Sequence[Actuator]) -> dict[str, Actuator]:
    """Return actuators by what people call them: with their place where several have one name."""
    counts = Counter(one.name for one in actuators)
    labels = [one.name if counts[one.name] == 1 else f"{one.place}:{one.name}" for one in actuators]
    return dict(zip(labels, actuators, strict=True))


def find_modules() -> dict[str, list[Actuator]]:
    """Listen for HEBI modules on all network interfaces."""
    lookup = open_lookup(())
    typer.echo(f"looking for HEBI modules, {LOOK_S:g} s")
    sleep(LOOK_S)
    counts = present(lookup)  # of modules with one name, any could be meant
    modules = (Actuator(module.family, module.name) for module, count in counts.items() if count == 1)
    return {"hebi": sorted(modules)}


def usb_ports(questions: Questions) -> list[str]:
    """Return the serial ports at USB to look at: a ping may disturb another device there, so it is asked."""
    import_serial("dynamixel")
    from serial.tools.list_ports import comports

    # Paths that outlast replugging, where the system has such.
    links = {str(link.resolve()): str(link) for link in BY_ID.glob("*")}
    there = sorted((str(one.device), one.vid, one.pid) for one in comports() if one.vid is not None)
    defaults = {
        links.get(port, port): vendor in LIKELY_MAKERS or (vendor, product) in LIKELY_ADAPTERS
        for port, vendor, product in there
    }
    question = "look for servos on {}, by pings at common baud rates?"
    return [
        port
        for port, likely in defaults.items()
        if (likely if questions.yes else typer.confirm(question.format(printable(port)), default=likely))
    ]


def find_servos(
    questions: Questions, protocols: Sequence[str], ports: Sequence[str], baud_rate: int | None
) -> dict[str, list[Actuator]]:
    """Ping all servos on serial ports, by one protocol after the other until servos answer.

    Without a baud rate at the common ones.
    """
    servos: dict[str, list[Actuator]] = {protocol: [] for protocol in protocols}
    for port in dict.fromkeys(ports or usb_ports(questions)):
        typer.echo(f"looking for servos on {port}")
        try:
            with naming_its_robot(port, LOOK_LATER):
                found = ((protocol, _on(port, protocol, baud_rate)) for protocol in protocols)
                protocol, there = next((one for one in found if one[1]), (protocols[0], []))
        except DriverError as error:
            typer.echo(str(error))
            continue
        servos[protocol] += there
    return servos


def _on(port: str, protocol: str, baud_rate: int | None) -> list[Actuator]:
    drivers = SERIAL[protocol]
    if baud_rate is not None and not drivers.LOWEST_BAUD_RATE <= baud_rate <= drivers.HIGHEST_BAUD_RATE:
        return []
    known = drivers.models_by_name()
    return [
        Actuator(port, str(one.servo_id), one.baud_rate, one.model if one.model in known else None)
        for one in drivers.scan(port, () if baud_rate is None else (baud_rate,))
        if one.problem is None
    ]


def so101_servos(found: Found, joints: Collection[str]) -> dict[str, str]:
    """Return which servo moves which joint of an SO-101, by LeRobot's ids; nothing where it is none."""
    servos = found["feetech"]
    ids = {joint: str(number) for number, joint in enumerate(SO101, 1)}
    is_one = (
        set(joints) == ids.keys()
        and servos.keys() == set(ids.values())
        and all(one.model == SO101_MODEL for one in servos.values())
    )
    return ids if is_one else {}


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
    if wanted in SERIAL or pairs:
        problem = (
            f"{config} says what moves each joint; name another description by --model, such as its HRDF"
        )
        raise typer.BadParameter(printable(problem), param_hint="--actuator" if pairs else "--driver")
    found, _ = find(questions, wanted or "hebi", (), None)
    there = {name for one in found["hebi"].values() for name in (one.name, f"{one.place}/{one.name}")}
    if not there.issuperset(joints):
        found["hebi"] = {}
    return {"type": choose_driver(questions, found, wanted, len(joints)), "config": config}


def joint_names(found: Found, driver: str) -> list[str]:
    """Return names for joints after the actuators that move them."""
    return [f"joint{label}" if driver in SERIAL else label for label in found.get(driver, ())]


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
    by_ids = so101_servos(found, joints) if driver == "feetech" else {}
    known = {**dict(zip(joint_names(found, driver), labels, strict=True)), **by_ids, **pairs}
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
