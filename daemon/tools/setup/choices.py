"""What a first configuration is made of, once everything is answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .hardware import HebiModule, Servo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .hardware import Actuator

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Model:
    """The robot's description.

    Attributes
    ----------
    file : Path
        Relative to the configuration's folder where it lies there.
    name : str or None
        Which robot of the file, where it holds several.
    """

    file: Path
    name: str | None


@dataclass(frozen=True, slots=True)
class JointLimits:
    """Limits of every joint of a robot without a description, in rad and rad/s."""

    lower: float
    upper: float
    velocity: float


@dataclass(frozen=True, slots=True)
class Choices:
    """One robot, and how it is reached.

    Attributes
    ----------
    robot : str
        Its name in topics.
    joints : tuple of str
        All that move, in the order of the actuators.
    actuators : mapping of str to Actuator
        What moves each joint; empty where the actuators are simulated.
    are_guessed : bool
        Whether nobody has said which actuator moves which joint.
    limits : JointLimits or None
        None where there is a description.
    motions : tuple of str
        Files and folders, as they are written.
    http : str or None
        Where the page is served; None serves none.
    """

    robot: str
    model: Model | None
    joints: tuple[str, ...]
    actuators: Mapping[str, Actuator] = field(default_factory=dict)
    are_guessed: bool = False
    limits: JointLimits | None = None
    motions: tuple[str, ...] = ()
    broker: str = EMBEDDED
    http: str | None = "127.0.0.1:8080"

    @property
    def modules(self) -> list[tuple[str, HebiModule]]:
        """The HEBI modules that move joints, with these."""
        return [(joint, one) for joint, one in self.actuators.items() if isinstance(one, HebiModule)]

    @property
    def servos(self) -> list[tuple[str, Servo]]:
        """The servos that move joints, with these."""
        return [(joint, one) for joint, one in self.actuators.items() if isinstance(one, Servo)]

    @property
    def driver(self) -> str:
        """The type of the driver."""
        return "hebi" if self.modules else "dynamixel" if self.servos else "sim"
