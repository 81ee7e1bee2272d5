"""Small worlds whose motion has a closed form, and joints in them that are commanded and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from motiond.drivers.sim import SimDriver
from motiond.drivers.sim.physics import PhysicalPlant
from tests.drivers.sim.joints import Joints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers.sim.physics import World
    from motiond.drivers.testing.rig import Clock

G = 9.80665
LENGTH, MASS, RADIUS = 0.8, 1.5, 0.05
MOTOR = 0.01
INERTIA = MASS * (LENGTH**2 + 0.4 * RADIUS**2) + MOTOR
PENDULUM = f"""<body><joint name="swing" axis="0 1 0"/>
  <geom name="bob" size="{RADIUS}" mass="{MASS}" pos="0 0 {-LENGTH}"/></body>"""
LIFT = '<body><joint name="lift" type="slide" axis="0 0 1"/><geom size="0.1" mass="2"/></body>'
ARM = """<body name="upper"><joint name="shoulder" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="2"/>
  <body name="fore" pos="0.4 0 0"><joint name="elbow" axis="0 1 0"/>
    <geom type="capsule" fromto="0.1 0 0 0.3 0 0" size="0.03" mass="1"/></body></body>"""
SLIPPERY: dict[str, Any] = {"viscous_friction": 1e-12}
"""Without friction of its own, a loose joint has that of a gear."""


def world(bodies: str, *names: str, others: str = "", **of_joints: Any) -> dict[str, Any]:
    """Return the option `physics` for joints of these names; `of_joints`: reduction and offset."""
    joints = [{"actuator": name, "joint": name} | of_joints for name in names]
    text = f"<mujoco><compiler angle='radian'/><worldbody>{bodies}</worldbody>{others}</mujoco>"
    return {"mjcf": text, "joints": joints}


class Mechanism(Joints):
    """Joints in a world; they are loose unless asked for."""

    def __init__(
        self, clock: Clock, bodies: str, actuators: Sequence[str], *, holds: bool = False, **options: Any
    ) -> None:
        others, of_joints = options.pop("others", ""), options.pop("of_joints", {})
        physics = world(bodies, *actuators, others=others, **of_joints)
        super().__init__(clock, holds=holds, actuators=actuators, physics=physics, **options)

    @property
    def plant(self) -> PhysicalPlant:
        return plant_of(self)

    @property
    def mujoco(self) -> World:
        """The world behind the plant, with MuJoCo's model and data."""
        return self.plant.world


def plant_of(joints: Joints) -> PhysicalPlant:
    assert isinstance(joints.driver, SimDriver)
    assert isinstance(joints.driver._plant, PhysicalPlant)
    return joints.driver._plant
