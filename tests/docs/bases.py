"""What completes the parts of configurations that pages show, by the names that their sources give them."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.docs.blocks import Block

JOINTS = ("base", "shoulder", "elbow")
LISTED = ", ".join(
    f"{joint}: {{limits: {{lower: -1, upper: 1, velocity: 1, acceleration: 1}}}}" for joint in JOINTS
)
ROBOT = f"robots:\n  arm:\n    joints: {{{LISTED}}}\n"
BASES = {
    "daemon": (f"{ROBOT}    driver: {{type: sim}}\n", 0),
    "robot": (ROBOT, 4),
    "driver": (f"{ROBOT}    driver:\n      type: sim\n", 6),
}


def whole(block: Block) -> str:
    """Return the configuration that a block shows, completed by the base that it declares."""
    declared = block.told("base")
    if not declared:
        return block.text
    base, depth = BASES[declared[0]]
    return base + indent(block.text, " " * depth)
