"""Simulated actuators that move, and fail, as real ones do."""

from .command_log import read_trace
from .driver import SimDriver
from .options import SimOptions
from .physics import ARMATURE, packed
from .plant_file import PlantReading, read_plant

__all__ = ["ARMATURE", "PlantReading", "SimDriver", "SimOptions", "packed", "read_plant", "read_trace"]
