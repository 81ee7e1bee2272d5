"""HEBI modules, by the vendor's library hebi-py.

driver    the driver: opening, torque, and what it refuses
options   its options
setup     merges them with HEBI's own robot configuration: modules, efforts, and what it describes
config    reads that configuration
plugins   its arm plugins: which are applied
lookup    finds modules on the network; what the driver uses of hebi-py
gains     controller gains: sent and read back
sender    sends setpoints, also to second modules of a joint, but none to modules that must stay loose
listener  receives feedback, and finds silent modules
feedback  a group's feedback as arrays; m-stop, heat, position limits, and who commands the modules
stored_limits  limits that the modules have stored, and whether they count the right turn
feed_forward  efforts that are added to commanded ones
gravity   efforts that carry the arm
"""

from .driver import HebiDriver
from .lookup import LOOKUP_POLL_S, HebiLookup, Module, import_hebi, missing_modules, open_lookup, present
from .options import HebiOptions

__all__ = [
    "LOOKUP_POLL_S",
    "HebiDriver",
    "HebiLookup",
    "HebiOptions",
    "Module",
    "import_hebi",
    "missing_modules",
    "open_lookup",
    "present",
]
