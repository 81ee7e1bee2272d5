"""The weight of a robot: the effort that gravity exerts on each actuator, in any posture.

The robot is a set of bodies on joints. The effort on a joint is the weight of everything that the joint
carries, taken about its axis or along it:

    turning: axis · ((S - M p) x g),  sliding: M axis · g,  a screw: the first and its lead times the second

where p is a point of the axis, M the mass that the joint carries, S the sum over that mass of mass times
position, and g the acceleration of gravity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import AfterValidator, Field

from motiond.text import nearest

from .base import DriverOptions
from .options import Finite, NotNegative, OptionProblem, OptionsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .base import Floats


def _refuse_zero(value: float) -> float:
    if value == 0:
        raise ValueError("it divides positions; write 1 for none")
    return value


Vector = tuple[Finite, Finite, Finite]
Row4 = tuple[Finite, Finite, Finite, Finite]
NotZero = Annotated[Finite, AfterValidator(_refuse_zero)]
DOWN = (0.0, 0.0, -9.80665)
UNIT = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))


class Body(DriverOptions):
    """All that moves with one actuator's joint, up to the next joints."""

    actuator: str = Field(description="Which one moves it.")
    name: str | None = Field(
        default=None, description="The actuator's, unless that moves several joints, as of a gripper."
    )
    carried_by: str | None = Field(
        default=None, description="The name of the body that carries this joint; null: the base."
    )
    pose: tuple[Row4, Row4, Row4, Row4] = Field(
        default=UNIT, description="The joint's frame in the frame of what carries it, at zero; 4x4."
    )
    axis: Vector = Field(default=(0.0, 0.0, 1.0), description="A unit vector in the joint's frame.")
    slides: bool = Field(default=False, description="Whether the joint moves along its axis.")
    lead: Finite = Field(
        default=0.0, description="How far a screw moves along its axis while it turns, in m/rad."
    )
    mass: NotNegative = Field(default=0.0, description="In kg.")
    com: Vector = Field(default=(0.0, 0.0, 0.0), description="Centre of mass in the joint's frame, in m.")
    reduction: NotZero = Field(default=1.0, description="joint = actuator / reduction + offset")
    offset: Finite = Field(default=0.0, description="In rad or m.")

    @property
    def called(self) -> str:
        """Its name."""
        return self.name or self.actuator


class Gravity(DriverOptions):
    """The bodies of a robot and the acceleration of gravity; an actuator without a body carries nothing."""

    acceleration: Vector = Field(default=DOWN, description="In m/s², in the frame of the base.")
    bodies: tuple[Body, ...] = Field(default=(), description="All that joints carry, one for each joint.")
    from_model: bool = Field(
        default=False, description="Take the bodies from the robot description, whose masses they are."
    )


class Weights:
    """Computes the efforts of gravity from positions; call it.

    Raises OptionsError if there are no bodies, if they name unknown actuators or bodies, if two have one
    name, or if they carry each other in a loop.
    """

    def __init__(self, where: str, gravity: Gravity, actuators: Sequence[str]) -> None:
        bodies = _in_order(where, gravity.bodies, actuators)
        place = {body.called: index for index, body in enumerate(bodies)}
        self._columns = np.array([actuators.index(body.actuator) for body in bodies])
        self._carriers = [-1 if body.carried_by is None else place[body.carried_by] for body in bodies]
        self._poses = np.array([body.pose for body in bodies])
        self._slides = np.array([body.slides for body in bodies])
        self._travel = np.array([1.0 if body.slides else body.lead for body in bodies])
        self._reductions = np.array([body.reduction for body in bodies])
        self._offsets = np.array([body.offset for body in bodies])
        self._motions = np.array([_motions(body) for body in bodies])
        masses = np.array([body.mass for body in bodies])
        carried = _carried(self._carriers)
        self._masses = carried @ masses
        self._moments = carried * masses
        self._lines = np.array([((*body.axis, 0.0), (*body.com, 1.0)) for body in bodies]).transpose(0, 2, 1)
        self._to_actuators = np.zeros((len(actuators), len(bodies)))
        self._to_actuators[self._columns, np.arange(len(bodies))] = 1.0 / self._reductions
        self._fall = np.array(gravity.acceleration)
        self._place = np.empty((4, 4))

    def __call__(self, position: Floats, fall: Floats | None = None) -> Floats:
        """Return the effort of gravity on each actuator: (actuators,), in N·m or N.

        `position` (actuators,): in rad or m. `fall` (3,): the acceleration of gravity in m/s², in the frame
        of the base, where it is another than that of the options.
        """
        fall = self._fall if fall is None else fall
        x, y, z = fall.tolist()
        places = self._places(position[self._columns] / self._reductions + self._offsets)
        lines = places @ self._lines
        axes, centres = lines[:, :3, 0], lines[:, :3, 1]
        arms = self._moments @ centres - self._masses[:, np.newaxis] * places[:, :3, 3]
        moments = arms @ np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])  # arms x fall
        turning = (axes * moments).sum(axis=1)
        sliding = self._masses * (axes @ fall)
        efforts: Floats = self._to_actuators @ (np.where(self._slides, 0.0, turning) + self._travel * sliding)
        return efforts

    def _places(self, displacement: Floats) -> Floats:
        """Return the moved frame of each joint in the base: (bodies, 4, 4)."""
        along = np.empty((len(displacement), 1, 4))
        along[:, 0, 0], along[:, 0, 1] = 1.0, self._travel * displacement
        angles = np.where(self._slides, 0.0, displacement)
        along[:, 0, 2], along[:, 0, 3] = np.sin(angles), 1.0 - np.cos(angles)
        places: Floats = self._poses @ (along @ self._motions).reshape(-1, 4, 4)
        for index, carrier in enumerate(self._carriers):
            if carrier >= 0:
                np.dot(places[carrier], places[index], out=self._place)
                places[index] = self._place
        return places


def _motions(body: Body) -> Floats:
    """Return what a joint's motion is a sum of, (4, 16): nothing, sliding, turning by Rodrigues' formula.

    Their factors are 1, the distance, and of the angle the sine and 1 less the cosine.
    """
    still, slid, turned, twice = np.zeros((4, 4, 4))
    still[:] = np.eye(4)
    slid[:3, 3] = body.axis
    cross = np.cross(np.eye(3), body.axis)
    turned[:3, :3], twice[:3, :3] = cross, cross @ cross
    return np.array([still, slid, turned, twice]).reshape(4, 16)


def _in_order(where: str, bodies: Sequence[Body], actuators: Sequence[str]) -> list[Body]:
    """Sort bodies so that each comes after the one that carries it."""
    names = [body.called for body in bodies]
    problems = [
        _unknown(where, "actuator", body.actuator, actuators)
        for body in bodies
        if body.actuator not in actuators
    ]
    problems += [
        _unknown(where, "body", body.carried_by, names)
        for body in bodies
        if body.carried_by not in {None, *names}
    ]
    problems += [
        OptionProblem(where, ("gravity",), f"gravity: two bodies are called '{name}'", "", "join or rename")
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    if not bodies:
        problems.append(OptionProblem(where, ("gravity",), "gravity: there are no bodies", "", "name one"))
    ordered: list[Body] = []
    rest = list(bodies)
    while rest and not problems:
        carried = {None, *(body.called for body in ordered)}
        ready = [body for body in rest if body.carried_by in carried]
        if not ready:
            loop = ", ".join(body.called for body in rest)
            what = f"gravity: the bodies of {loop} carry each other in a loop"
            problems.append(OptionProblem(where, ("gravity",), what, "", "let one be carried by the base"))
        ordered += ready
        rest = [body for body in rest if body not in ready]
    if problems:
        raise OptionsError(problems)
    return ordered


def _unknown(where: str, kind: str, name: str | None, known: Sequence[str]) -> OptionProblem:
    what = f"gravity: there is no {kind} '{name}'"
    return OptionProblem(
        where, ("gravity",), what, f"there are {', '.join(known)}", nearest(str(name), known)
    )


def _carried(carriers: Sequence[int]) -> NDArray[np.float64]:
    """Return a matrix with 1 at [i, j] where joint i carries body j, its own included."""
    carried = np.eye(len(carriers))
    for body, carrier in enumerate(carriers):
        ancestor = carrier
        while ancestor >= 0:
            carried[ancestor, body] = 1.0
            ancestor = carriers[ancestor]
    return carried
