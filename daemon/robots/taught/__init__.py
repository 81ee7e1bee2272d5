"""What one robot was taught by hand.

- `draft`: what was moved and which poses were kept, until the robot is taught again
- `saving`: a draft becomes a motion in the folder for uploads
"""

from .draft import Draft
from .saving import Saving

__all__ = ["Draft", "Saving"]
