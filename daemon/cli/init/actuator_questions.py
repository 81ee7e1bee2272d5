"""The questions of `motiond init` about actuators: what there is, and which of it moves which joint."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from motiond.drivers.base import DriverError
from motiond.drivers.dynamixel.options import HIGHEST_BAUD_RATE, LOWEST_BAUD_RATE
from motiond.text import listed, nearest, printable

from ...tools.setup.hardware import Found, Servo, find_modules, find_servos, serial_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...tools.setup.files import Described
    from ...tools.setup.hardware import Actuator
    from .questions import Questions

NONE = "none"
KINDS = {"hebi": "HEBI module", "dynamixel": "servo"}


@dataclass(frozen=True, slots=True)
class GivenActuators:
    """What options answer; None where they do not.

    Attributes
    ----------
    ports : tuple of str
        Serial ports to look at for servos; none means those at USB.
    actuators : tuple of (str, str)
        A joint, and the id of its servo or the name of its module.
    """

    driver: str | None = None
    ports: tuple[str, ...] = ()
    baud_rate: int | None = None
    actuators: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """What moves each joint.

    Attributes
    ----------
    are_guessed : bool
        Whether it was taken by order alone.
    """

    actuators: Mapping[str, Actuator] = field(default_factory=dict)
    are_guessed: bool = False


class ActuatorQuestions:
    """Looks for actuators, and asks which of them are meant."""

    def __init__(self, given: GivenActuators, questions: Questions) -> None:
        self._given = given
        self._questions = questions
        self._found = Found()
        self._has_ports = False

    @property
    def given_joints(self) -> tuple[str, ...] | None:
        """The joints of which options say what moves them, in that order."""
        return tuple(joint for joint, _ in self._given.actuators) or None

    @property
    def _wanted(self) -> str | None:
        """The driver that options ask for: who names a port wants what is on it."""
        return self._given.driver or ("dynamixel" if self._given.ports else None)

    def driver(self, described: Described | None) -> str:
        """Look for what the options leave open, and return the type of the driver."""
        self._found = self._look()
        for note in self._found.notes:
            typer.echo(note)
        needed = len(_free_joints(described)) if described else 1
        self._refuse_baud_of_nothing()
        able = [kind for kind in KINDS if len(self._found.of(kind)) >= needed]
        for kind, called in KINDS.items():
            if found := self._found.of(kind):
                typer.echo(f"found {_counted(len(found), called)}: {printable(listed(_labels(found)))}")
        wanted = self._wanted
        if wanted in KINDS and wanted not in able:
            raise self._too_few(wanted, needed)
        if not able:
            if wanted is None:
                typer.echo("no actuators that fit were found; simulated ones are offered")
            return "sim"
        choices = [*able, "sim"]
        return choices[
            self._questions.choose("what moves the joints", choices, option="--driver", given=wanted)
        ]

    def refuse_unusable_options(self) -> None:
        """Refuse a baud rate that no servo has, or where no port will be looked at for servos."""
        rate = self._given.baud_rate
        if rate is not None and not LOWEST_BAUD_RATE <= rate <= HIGHEST_BAUD_RATE:
            reason = f"servos have {LOWEST_BAUD_RATE} to {HIGHEST_BAUD_RATE}"
            problem = f"{rate} is no baud rate of servos"
            raise typer.BadParameter(f"{problem}; {reason}; correct it, or leave it out", param_hint="--baud")
        if self._wanted not in {None, "dynamixel"}:
            self._refuse_baud_of_nothing()

    def _refuse_baud_of_nothing(self) -> None:
        """Refuse a baud rate where no port was looked at: it would count for nothing."""
        if self._given.baud_rate is not None and not self._has_ports:
            what = "no serial port was looked at for servos"
            raise typer.BadParameter(f"{what}; leave it out, or add --port", param_hint="--baud")

    def _too_few(self, driver: str, needed: int) -> DriverError:
        found, called = len(self._found.of(driver)), KINDS[driver]
        problem = f"{_counted(found, called)} answered"
        reason = f"the robot needs {needed} at least"
        return DriverError(
            f"driver {driver}", problem, reason, "check power and cables, or begin with --driver sim"
        )

    def _look(self) -> Found:
        modules = servos = Found()
        wanted = self._wanted
        if wanted in {None, "hebi"}:
            modules = find_modules(typer.echo)
        if wanted in {None, "dynamixel"} and (ports := self._ports()):
            self._has_ports = True
            servos = find_servos(ports, self._given.baud_rate, typer.echo)
        return Found(modules.modules, servos.servos, modules.notes + servos.notes)

    def _ports(self) -> list[str]:
        """Return the ports to look at; another device at USB may be disturbed by it, so it is asked."""
        if self._given.ports:
            return [*self._given.ports]
        try:
            ports = serial_ports()
        except DriverError as error:
            typer.echo(str(error))
            return []
        return [
            port.path
            for port in ports
            if self._questions.confirm(
                f"look for servos on {printable(port.path)}, by pings at common baud rates?",
                default=port.is_likely,
            )
        ]

    # -- which moves which ----------------------------------------------------------------------------------

    def joints_by_default(self, driver: str) -> tuple[str, ...]:
        """Return names for the joints of a robot that nothing describes, after what moves them."""
        found = self._found.of(driver)
        labels = _labels(found)
        if driver == "dynamixel":
            return tuple(f"joint{label}" for label in labels)
        return tuple(labels)

    def moved(self, driver: str, joints: Sequence[str], described: Described | None) -> Moved:
        """Return what moves each joint, which is asked unless the names say it.

        Raises
        ------
        typer.BadParameter
            If it is not known and nobody can be asked: a wrong actuator would move another joint.
        """
        if driver not in KINDS:
            if self._given.actuators:
                reason = "simulated actuators are called as their joints"
                raise typer.BadParameter(f"{reason}; leave it out", param_hint="--actuator")
            return Moved()
        found = self._found.of(driver)
        by_label = dict(zip(_labels(found), found, strict=True))
        free = _free_joints(described) if described else tuple(joints)
        self._refuse_unknown(joints)
        if len(found) < len(free):
            raise self._too_few(driver, len(free))
        known = self._known(driver, free, by_label)
        if known is not None:
            return Moved({joint: by_label[label] for joint, label in known.items()})
        if self._questions.takes_defaults:
            raise self._unsaid(driver, free, by_label)
        taken = self._asked(driver, joints, free, by_label)
        in_order = dict(zip(free, by_label.values(), strict=False))
        return Moved(taken, are_guessed=taken == in_order)

    def _refuse_unknown(self, joints: Sequence[str]) -> None:
        for joint, count in Counter(joint for joint, _ in self._given.actuators).items():
            if joint not in joints:
                hint = nearest(joint, joints) or "correct it"
                problem = f"the robot has no joint '{joint}'; there are {listed(list(joints))}; {hint}"
                raise typer.BadParameter(problem, param_hint="--actuator")
            if count > 1:
                raise typer.BadParameter(
                    f"'{joint}' stands twice; a joint has one actuator; leave one out",
                    param_hint="--actuator",
                )

    def _known(
        self, driver: str, free: Sequence[str], by_label: Mapping[str, Actuator]
    ) -> dict[str, str] | None:
        """Return the label of each joint's actuator where options or names say them all; else None."""
        if self._given.actuators:
            taken: dict[str, str] = {}
            for joint, label in self._given.actuators:
                try:
                    taken[joint] = _reader(driver, by_label, set(taken.values()))(label)
                except ValueError as error:
                    raise typer.BadParameter(str(error), param_hint="--actuator") from error
            if set(free) <= set(taken):
                return taken
            missing = listed([joint for joint in free if joint not in taken])
            what = f"nothing is said of {missing}; each joint needs its actuator; add it"
            raise typer.BadParameter(what, param_hint="--actuator")
        names = {f"joint{label}" if driver == "dynamixel" else label: label for label in by_label}
        return {joint: names[joint] for joint in free} if set(free) <= set(names) else None

    def _unsaid(
        self, driver: str, free: Sequence[str], by_label: Mapping[str, Actuator]
    ) -> typer.BadParameter:
        example = " ".join(
            f"--actuator {joint}={label}" for joint, label in zip(free, by_label, strict=False)
        )
        problem = f"which {KINDS[driver]} moves which joint is not known"
        reason = "a wrong one would move another joint, so that --yes does not guess"
        return typer.BadParameter(
            f"{problem}; {reason}; say it, as by {printable(example)}, or add --driver sim"
        )

    def _asked(
        self, driver: str, joints: Sequence[str], free: Sequence[str], by_label: Mapping[str, Actuator]
    ) -> dict[str, Actuator]:
        taken: dict[str, Actuator] = {}
        used: set[str] = set()
        typer.echo("a wrong answer here would move another joint; a joint that is turned by hand tells")
        for joint in joints:
            left = [label for label in by_label if label not in used]
            is_free = joint in free
            default = (joint if joint in left else left[0]) if is_free else NONE
            read = _reader(driver, by_label, used, may_be_none=not is_free)
            label = self._questions.ask(
                f"the {KINDS[driver]} of joint '{printable(joint)}' ({printable(', '.join(left))})",
                default, read, option="--actuator",
            )  # fmt: skip
            if label != NONE:
                taken[joint] = by_label[label]
                used.add(label)
        return taken


def _reader(
    driver: str, by_label: Mapping[str, Actuator], used: set[str], *, may_be_none: bool = False
) -> Callable[[str], str]:
    """Return what reads the label of an actuator; each moves one joint."""

    def read(text: str) -> str:
        if text in used:
            raise ValueError(f"'{text}' moves another joint already; choose another")
        if text not in by_label and not (may_be_none and text == NONE):
            there = f"there are {printable(listed(list(by_label)))}"
            raise ValueError(f"no {KINDS[driver]} '{text}' answered; {there}; choose one")
        return text

    return read


def _free_joints(described: Described) -> tuple[str, ...]:
    """Return the joints that follow no other, each of which needs an actuator."""
    joint_map = described.joint_map
    followers = {mimic.joint for mimic in joint_map.mimics}
    return tuple(name for column, name in enumerate(joint_map.joints) if column not in followers)


def _labels(found: Sequence[Actuator]) -> list[str]:
    """Return what people call actuators: an id or a name, with its port or family where two have the same."""
    counts = Counter(map(str, found))
    return [
        str(one) if counts[str(one)] == 1 else f"{one.port if isinstance(one, Servo) else one.family}:{one}"
        for one in found
    ]


def _counted(count: int, called: str) -> str:
    return f"{count} {called}{'' if count == 1 else 's'}"
