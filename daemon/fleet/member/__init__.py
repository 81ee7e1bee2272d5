"""Stops a daemon's robots when another robot of their start does not play."""

from .group_member import SEEN_WITHIN_S, GroupMember

__all__ = ["SEEN_WITHIN_S", "GroupMember"]
