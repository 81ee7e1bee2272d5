"""Takes part in starts of groups, for the robots of one daemon."""

from .group_start import CONFIRM_S, PULSE_S, SILENCE_S
from .listener import Listener

__all__ = ["CONFIRM_S", "PULSE_S", "SILENCE_S", "Listener"]
