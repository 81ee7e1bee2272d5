"""The options of the `sim` driver.

`position_state_following_offset`, `calculate_dynamics` and `disable_commands` are named as in ros2_control's
`mock_components/GenericSystem`.
"""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic resolves the annotations of the options
from typing import Annotated

from pydantic import Field

from ..base import DriverOptions
from ..options import Finite, NotNegative, PerActuatorOf, Positive  # noqa: TC001 - the same
from ..weights import Gravity  # noqa: TC001 - the same
from .faults import ScriptedFault  # noqa: TC001 - the same
from .physics.options import Physics  # noqa: TC001 - the same

Frequency = Annotated[float, Field(ge=1, le=500)]
Order = Annotated[int, Field(ge=1, le=2)]


class SimOptions(DriverOptions):
    """The options of `type: sim`; a number holds for all actuators, a mapping by actuator."""

    config: Path | None = Field(
        default=None,
        description="A robot configuration of HEBI's (`*.cfg.yaml`), whose robot is simulated.",
    )
    natural_frequency_hz: PerActuatorOf[Frequency] = Field(
        default=30.0, description="How fast an actuator follows."
    )
    damping_ratio: PerActuatorOf[Positive] = Field(
        default=1.0, description="1 follows without overshoot; less swings."
    )
    velocity_limit: PerActuatorOf[Positive] | None = Field(default=None, description="In rad/s or m/s.")
    effort_limit: PerActuatorOf[Positive] | None = Field(default=None, description="In N·m or N.")
    inertia: PerActuatorOf[Positive] | None = Field(
        default=None,
        description="In kg·m² or kg: what the actuator moves; effort is inertia times acceleration. "
        "null: 0.1, or with `physics` the largest that it finds.",
    )
    order: PerActuatorOf[Order] = Field(
        default=2, description="Of the dynamics: 1 has no inertia, so it starts and stops at once."
    )
    calculate_dynamics: bool = Field(
        default=True, description="false: actuators are where they are sent to, at once."
    )
    viscous_friction: PerActuatorOf[NotNegative] = Field(
        default=0.0, description="Friction by velocity, in N·m·s/rad or N·s/m."
    )
    coulomb_friction: PerActuatorOf[NotNegative] = Field(
        default=0.0, description="Friction of any velocity, in N·m or N."
    )
    load: PerActuatorOf[Finite] = Field(
        default=0.0, description="Pulls at the actuator all the time, in N·m or N."
    )
    gravity: Gravity | None = Field(default=None, description="What gravity pulls at, beside `load`.")
    physics: Physics = Field(
        default=False,
        description="true: the actuators move the robot of the description in a physical world (MuJoCo).",
    )
    floor: bool = Field(default=False, description="Whether that world has a floor, at z = 0.")
    scene: Path | None = Field(
        default=None, description="A file with what stands around the robot: MJCF, or another description."
    )
    initial: PerActuatorOf[Finite] | None = Field(
        default=None,
        description="Position at the start, in rad or m, also beyond a stop; null: where the description "
        "says, else 0, or as near to it as limits and stops allow.",
    )
    lower_stop: PerActuatorOf[Finite] | None = Field(
        default=None, description="Where the joint meets its lower stop, in rad or m; null: at its limit."
    )
    upper_stop: PerActuatorOf[Finite] | None = Field(
        default=None, description="Where it meets its upper stop; null: at its limit."
    )
    noise: PerActuatorOf[NotNegative] = Field(
        default=0.0, description="Standard deviation of the measured position, in rad or m."
    )
    encoder_resolution: PerActuatorOf[NotNegative] = Field(
        default=0.0, description="What measured positions are rounded to, in rad or m; 0: not at all."
    )
    position_state_following_offset: PerActuatorOf[Finite] = Field(
        default=0.0, description="How far measured positions are beside the true ones, in rad or m."
    )
    disable_commands: bool = Field(default=False, description="true: actuators hold, and ignore commands.")
    faults: tuple[ScriptedFault, ...] = Field(
        default=(), description="What goes wrong, and when after the first opening."
    )
    seed: int = Field(
        default=0, ge=0, description="Of all chance: the same seed and calls give the same feedback."
    )
    latency_s: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="One way: commands arrive and feedback comes back so much later."
    )
    command_lifetime_s: Positive | None = Field(
        default=0.5, description="The actuators release when no command came for so long; null: never."
    )
    trace: Path | None = Field(
        default=None, description="A .npy file that gets a row for each command received."
    )
    plant: Path | None = Field(
        default=None,
        description="A file that the simulated robot lives in, so that it outlives this process.",
    )
