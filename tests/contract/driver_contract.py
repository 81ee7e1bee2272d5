"""The contract suite, from where it ships."""

from drivers.testing.contract import DriverContract
from drivers.testing.rig import ACTUATORS, LIFETIME_S, TICK_S, Rig

__all__ = ["ACTUATORS", "LIFETIME_S", "TICK_S", "DriverContract", "Rig"]
