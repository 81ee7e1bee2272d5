"""Waking on time."""

from .clocks import Clock, FastForwardClock, RealClock, VirtualClock
from .realtime import prepare
from .schedule import CHECK_PERIOD_S, Schedule

__all__ = ["CHECK_PERIOD_S", "Clock", "FastForwardClock", "RealClock", "Schedule", "VirtualClock", "prepare"]
