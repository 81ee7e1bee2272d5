"""A robot that leads another: its measured joints are the other's targets.

- `leaders`: which robots may lead
- `joint_match`: which joint of the leader moves which of the follower
- `leader`: what it measures, and why it cannot lead
- `mirror`: passes on what a leader measures, until it cannot
"""

from .joint_match import JointMatch, match_joints
from .leader import Leader
from .leaders import leader_of
from .mirror import Mirror

__all__ = ["JointMatch", "Leader", "Mirror", "leader_of", "match_joints"]
