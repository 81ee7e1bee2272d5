"""Simulated actuators in a physical world, stepped by MuJoCo, which is loaded when a world is first made.

- `options`: the options of a world
- `refusals`: which options do not go with one
- `world`: the world in MuJoCo, with a servo at each actuator
- `oddities`: what a user should know of how one begins
- `plant`: actuators that move in it
"""

from __future__ import annotations

from .oddities import oddities
from .options import WorldOptions, packed
from .plant import PhysicalPlant
from .refusals import refuse_what_no_world_has
from .world import ARMATURE, World

__all__ = [
    "ARMATURE",
    "PhysicalPlant",
    "World",
    "WorldOptions",
    "oddities",
    "packed",
    "refuse_what_no_world_has",
]
