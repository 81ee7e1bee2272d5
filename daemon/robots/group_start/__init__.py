"""The part of one robot in a start of its group, from `fleet/prepare` to the end of its motion."""

from .reservation import PREPARATION_S, Reservation

__all__ = ["PREPARATION_S", "Reservation"]
