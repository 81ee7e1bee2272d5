"""Questions of `motiond init` about actuators: what there is, and which of it moves which joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from motiond.drivers import DriverError
from motiond.text import listed, nearest, printable

from . import hardware

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .hardware import Actuator, Described
    from .questions import Questions

NONE = "none"
KINDS = {"hebi": "HEBI module", "dynamixel": "servo"}


class Hardware:
    """Looks for actuators as the options say, and asks which of them are meant."""

    def __init__(
        self,
        questions: Questions,
        driver: str | None,
        ports: Sequence[str],
        baud_rate: int | None,
        pairs: Sequence[str],
    ) -> None:
        self._questions = questions
        self._wanted = driver or ("dynamixel" if ports else None)
        self._pairs = [_pair(text) for text in pairs]
        self._labels: dict[str, dict[str, Actuator]] = {"hebi": {}, "dynamixel": {}, "sim": {}}
        if self._wanted in {None, "hebi"}:
            self._labels["hebi"] = hardware.by_label(hardware.find_modules())
        looked_at = ports or (self._ports() if self._wanted in {None, "dynamixel"} else ())
        if baud_rate is not None and not looked_at:
            problem = "no serial port was looked at for servos"
            raise typer.BadParameter(f"{problem}; leave it out, or add --port", param_hint="--baud")
        if looked_at:
            self._labels["dynamixel"] = hardware.by_label(hardware.find_servos(looked_at, baud_rate))

    @property
    def given_joints(self) -> str | None:
        """The joints of which options say what moves them, in that order."""
        return ",".join(joint for joint, _ in self._pairs) or None

    def joints(self, driver: str) -> list[str]:
        """Return names for joints after the actuators that move them."""
        prefix = "joint" if driver == "dynamixel" else ""
        return [f"{prefix}{label}" for label in self._labels[driver]]

    def choose(self, described: Described | None) -> str:
        """Return the type of the driver."""
        needed = len(described.leaders) if described else 1
        for kind, called in KINDS.items():
            if labels := self._labels[kind]:
                typer.echo(f"found {_counted(len(labels), called)}: {printable(listed(list(labels)))}")
        able = [kind for kind in KINDS if len(self._labels[kind]) >= needed]
        if self._wanted in KINDS and self._wanted not in able:
            raise self._too_few(self._wanted, needed)
        if not able:
            if self._wanted is None:
                typer.echo("no actuators that fit were found; simulated ones are offered")
            return "sim"
        choices = [*able, "sim"]
        return choices[self._questions.choose("what moves the joints", choices, "--driver", self._wanted)]

    def assign(
        self, driver: str, joints: Sequence[str], described: Described | None
    ) -> tuple[dict[str, Actuator], bool]:
        """Return what moves each joint, and whether it was taken by order alone.

        Raises
        ------
        typer.BadParameter
            If it is not known and nobody can be asked: a wrong actuator would move another joint.
        """
        if driver not in KINDS:
            if self._pairs:
                problem = "simulated actuators are called as their joints"
                raise typer.BadParameter(f"{problem}; leave it out", param_hint="--actuator")
            return {}, False
        labels = self._labels[driver]
        free = described.leaders if described else tuple(joints)
        if len(labels) < len(free):
            raise self._too_few(driver, len(free))
        named = dict(zip(self.joints(driver), labels, strict=True))
        in_order = dict(zip(free, labels, strict=False))
        is_asked = False
        if self._pairs:
            known = self._given(driver, joints, free)
        elif set(free) <= set(named):
            known = {joint: named[joint] for joint in free}
        elif self._questions.yes:
            example = printable(" ".join(f"--actuator {joint}={label}" for joint, label in in_order.items()))
            problem = f"which {KINDS[driver]} moves which joint is not known"
            reason = "a wrong one would move another joint, so that --yes does not guess"
            raise typer.BadParameter(f"{problem}; {reason}; say it, as by {example}, or add --driver sim")
        else:
            known, is_asked = self._asked(driver, joints, free), True
        return {joint: labels[label] for joint, label in known.items()}, is_asked and known == in_order

    def _ports(self) -> list[str]:
        """Return the ports at USB to look at; a ping may disturb another device there, so it is asked."""
        try:
            ports = hardware.serial_ports()
        except DriverError as error:
            typer.echo(str(error))
            return []
        question = "look for servos on {}, by pings at common baud rates?"
        return [
            port.path
            for port in ports
            if self._questions.confirm(question.format(printable(port.path)), default=port.is_likely)
        ]

    def _too_few(self, driver: str, needed: int) -> DriverError:
        problem = f"{_counted(len(self._labels[driver]), KINDS[driver])} answered"
        hint = "check power and cables, or begin with --driver sim"
        return DriverError(f"driver {driver}", problem, f"the robot needs {needed} at least", hint)

    def _given(self, driver: str, joints: Sequence[str], free: Sequence[str]) -> dict[str, str]:
        """Return the label of each joint's actuator as options say it."""
        known: dict[str, str] = {}
        for joint, label in self._pairs:
            problem = self._problem(driver, label, known.values())
            if joint not in joints:
                hint = nearest(joint, joints) or "correct it"
                problem = f"the robot has no joint '{joint}'; there are {listed(list(joints))}; {hint}"
            elif joint in known:
                problem = f"'{joint}' stands twice; a joint has one actuator; leave one out"
            if problem:
                raise typer.BadParameter(problem, param_hint="--actuator")
            known[joint] = label
        if missing := [joint for joint in free if joint not in known]:
            problem = f"nothing is said of {listed(missing)}; each joint needs its actuator; add it"
            raise typer.BadParameter(problem, param_hint="--actuator")
        return known

    def _asked(self, driver: str, joints: Sequence[str], free: Sequence[str]) -> dict[str, str]:
        typer.echo("a wrong answer here would move another joint; turn a joint by hand to see which it is")
        known: dict[str, str] = {}

        def read(label: str) -> str:
            if label == NONE and joint not in free:
                return label
            if problem := self._problem(driver, label, known.values()):
                raise ValueError(problem)
            return label

        for joint in joints:
            left = [label for label in self._labels[driver] if label not in known.values()]
            default = (joint if joint in left else left[0]) if joint in free else NONE
            question = f"the {KINDS[driver]} of joint '{printable(joint)}' ({printable(', '.join(left))})"
            if (label := self._questions.ask(question, default, read, "--actuator")) != NONE:
                known[joint] = label
        return known

    def _problem(self, driver: str, label: str, taken: Collection[str]) -> str:
        """Return why an actuator cannot be taken; '' where it can."""
        if label in taken:
            return f"'{label}' moves another joint already; choose another"
        if label not in self._labels[driver]:
            there = f"there are {printable(listed(list(self._labels[driver])))}"
            return f"no {KINDS[driver]} '{label}' answered; {there}; choose one"
        return ""


def _pair(text: str) -> tuple[str, str]:
    """Take `joint=label` apart; a label may hold further signs, a joint none."""
    joint, _, label = text.partition("=")
    if not joint or not label:
        problem = f"'{text}' is no JOINT=ID or JOINT=NAME; write both"
        raise typer.BadParameter(problem, param_hint="--actuator")
    return joint, label


def _counted(count: int, called: str) -> str:
    return f"{count} {called}{'' if count == 1 else 's'}"
