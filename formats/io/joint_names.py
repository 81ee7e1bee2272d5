"""Names of joints, as any program may have written them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motiond.text import echoed, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..errors import Where

# As .seq has them.
MOST_JOINTS = 10_000
LONGEST_NAME = 1_000
NAME_RULE = f"it has at most {LONGEST_NAME} characters, all printable"


def can_be_shown(name: str) -> bool:
    """Whether a name is as `NAME_RULE` says."""
    return len(name) <= LONGEST_NAME and name == printable(name)


def check_joint_names(names: Sequence[str], where: Where) -> bool:
    """Note every name of a joint that is empty, repeated or cannot be shown; return whether all are sound."""
    before = len(where.problems.found)
    if len(names) > MOST_JOINTS:
        where.add(f"there are {len(names)} joints", f"{MOST_JOINTS} are read", "split the motion")
        return False
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if not name:
            where.add(f"joint {number} has an empty name", "each is called something", "name it")
        elif name in first:
            reason = f"joints {first[name]} and {number} are called that"
            where.add(f"joint '{echoed(name)}' stands twice", reason, "give each its own name")
        elif not can_be_shown(name):
            where.add(f"joint {number} is called '{echoed(printable(name))}'", NAME_RULE, "rename it")
        first.setdefault(name, number)
    return len(where.problems.found) == before
