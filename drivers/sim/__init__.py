"""Simulated actuators that move, and fail, as real ones do.

driver          the driver: opening, the log of commands, and the errors of the contract
options         its options
simulation      lets time pass: when commands take effect, and faults
plant           the physics, in a block of numbers, and how warm motors get
layout          where each number of that block stands, and the grid of time
propagator      the exact motion of free actuators over any number of steps
integrator      one step of actuators under limits, friction, load, stops or faults
gravity         the weight of the robot in any posture
wire            what arrives of commands and feedback, and when; measured positions
faults          the faults that there are, with their parameters and effects
fault_injector  when faults begin and end; the present ones, summed up and applied
plant_file      a simulated robot in a file
command_log     a file with every command received
"""

from .command_log import read_trace
from .driver import SimDriver
from .options import SimOptions
from .plant_file import PlantReading, read_plant

__all__ = ["PlantReading", "SimDriver", "SimOptions", "read_plant", "read_trace"]
