"""Several drivers as one robot's.

driver   the driver: asks every part at its own rate, and deals with failed ones
options  its options, checked part by part
delay    holds setpoints back for parts of lower latency
"""

from .driver import CompositeDriver

__all__ = ["CompositeDriver"]
