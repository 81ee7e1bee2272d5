"""SDFormat, Gazebo's robot descriptions, versions 1.4 to 1.12, read and written.

- `reader`: models to robots
- `document`: a file and those it includes to checked elements
- `elements`: these elements, and the vocabulary of the format
- `node`: one XML element, with its name and its pose
- `pose`: the text of a `<pose>`
- `link`, `joint`: `<link>` and `<joint>`
- `shape`: `<visual>` and `<collision>`
- `include`: what an `<include>` means; `urdf`: a robot of URDF as a model
- `names`: siblings with names of their own
- `frames`: where everything is, and what it moves with
- `writer`: a robot to a file
"""

from __future__ import annotations

from .reader import NAME, SUFFIXES, load, sniff
from .writer import dump

__all__ = ["NAME", "SUFFIXES", "dump", "load", "sniff"]
