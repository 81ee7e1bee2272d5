"""The reductions that a URDF's transmissions state: turns of the actuator for one of the joint.

They stand in the joint's or the actuator's `<mechanicalReduction>`, and in the oldest files in that of the
transmission. Nothing is moved by them: they are kept for the configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from motiond.text import echoed, nearest, quoted

from ..errors import MOST_PROBLEMS, BadText
from ..io.xml.element import Element
from ..io.xml.values import parse_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..io.xml.file import XmlFile
    from .elements import Node

TAG = "mechanicalReduction"


def read_reductions(robot: Node, joints: Collection[str], file: XmlFile) -> dict[str, float]:
    """Return the reduction of each joint that has one; what is odd is noted."""
    reductions: dict[str, float] = {}
    for node in robot.all("transmission"):
        file.spend(node)
        for joint, stated, text in _stated(Element(node.xml, node.problems)):
            name = joint.attribute("name")
            what = f"the reduction of joint '{echoed(name)}'"
            if name not in joints:
                few = len(robot.problems.warnings) < MOST_PROBLEMS
                guess = nearest(name, joints) if few else ""
                stated.where.warn(f"a <transmission> moves joint {quoted(name)}", "there is none", guess)
                continue
            try:
                value = parse_number(text)
            except BadText as error:
                stated.where.warn(f"{what}: {error.problem}", error.reason, "it is left out")
                continue
            if value == 0:
                stated.where.warn(f"{what} is 0", "the joint would not move", "it is left out")
            elif reductions.setdefault(name, value) != value:
                kept = f"{reductions[name]:g} is kept"
                stated.where.warn(f"{what} is {value:g}", "another <transmission> states another one", kept)
    return reductions


def _stated(transmission: Element) -> Iterator[tuple[Element, Element, str]]:
    """Return each joint with the element and the text of its reduction.

    Where a transmission has several joints or actuators, it mixes them, and only what stands in a joint is
    that joint's own.
    """
    joints, actuators = list(transmission.all("joint")), list(transmission.all("actuator"))
    for joint in joints:
        own = [joint, *actuators, transmission] if len(joints) == 1 and len(actuators) < 2 else [joint]
        found = next((stated for one in own for stated in one.all(TAG) if stated.text), None)
        if found is not None:
            yield joint, found, found.text
