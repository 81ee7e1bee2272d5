"""Several drivers as one robot's.

driver   the driver: asks every part at its own rate, delays setpoints, and deals with failed parts
options  its options, checked part by part
"""

from .driver import CompositeDriver

__all__ = ["CompositeDriver"]
