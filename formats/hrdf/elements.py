"""The elements of HRDF as data: their attributes and children, and the version that introduced each.

Follows the HEBI Robot Configuration format 1.6.0. Its change log names which version introduced what; HEBI's
own parser treats each version accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .catalog import load_catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VERSIONS = ("1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0")
FORMULAS_SINCE = "1.1.0"
LAST_IMPLICIT_END_EFFECTOR = "1.1.0"


@dataclass(frozen=True, slots=True)
class Attribute:
    """The rule for an attribute."""

    # how its text is read
    type: Literal["number", "translation", "rotation", "enum", "axis", "text", "path", "mesh_path"]
    since: str = VERSIONS[0]  # the first version that knows it
    required: bool = False  # whether its element needs it
    # for an enum or an axis, each value and the first version that knows it
    choices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for an element."""

    attributes: Mapping[str, Attribute]
    since: str = VERSIONS[0]  # the first version that knows it
    children: tuple[str, ...] = ()  # the elements that it may hold


def _each(names: str, attribute: Attribute) -> dict[str, Attribute]:
    """Return one rule for several attributes."""
    return dict.fromkeys(names.split(), attribute)


def _enum(choices: Mapping[str, str], *, required: bool = False, since: str = VERSIONS[0]) -> Attribute:
    return Attribute("enum", since, required, choices)


def _always(choices: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(choices, VERSIONS[0])


def _since(rows: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {name: row["since"] for name, row in rows.items()}


_CATALOG = load_catalog()
_INERTIA = "ixx iyy izz ixy ixz iyz"
_TAG = {"tag": Attribute("text", "1.4.0")}
_STYLES = _always(("RightAngle", "Inline"))
_DYNAMICS = {
    **_each(f"mass mass_offset {_INERTIA}", Attribute("number", "1.1.0")),
    **_each("com_trans com_trans_offset", Attribute("translation", "1.1.0")),
    **_each("com_rot", Attribute("rotation", "1.1.0")),
}
_CHAIN = ("actuator", "bracket", "link", "rigid-body", "joint", "end-effector", "include")

RULES: dict[str, Rule] = {
    "robot": Rule(
        {
            "version": Attribute("text"),
            "rot": Attribute("rotation"),
            "trans": Attribute("translation"),
            "description": Attribute("text", "1.2.0"),
        },
        children=_CHAIN,
    ),
    "actuator": Rule({"type": _enum(_since(_CATALOG.actuators), required=True), **_DYNAMICS, **_TAG}),
    "link": Rule(
        {
            "type": _enum(_since(_CATALOG.links), required=True),
            "extension": Attribute("number", required=True),
            "twist": Attribute("number", required=True),
            "input": _enum(_STYLES, since="1.2.0"),
            "output": _enum(_STYLES, since="1.2.0"),
            **_DYNAMICS,
            **_TAG,
        }
    ),
    "bracket": Rule(
        {"type": _enum(_since(_CATALOG.brackets), required=True), **_DYNAMICS, **_TAG}, children=("output",)
    ),
    "rigid-body": Rule(
        {
            "mass": Attribute("number", required=True),
            **_each("com_trans output_trans", Attribute("translation")),
            **_each("com_rot output_rot", Attribute("rotation")),
            **_each(_INERTIA, Attribute("number", "1.1.0")),
            "mesh_path": Attribute("mesh_path", "1.3.0"),
            "mesh_rot": Attribute("rotation", "1.3.0"),
            "mesh_trans": Attribute("translation", "1.3.0"),
            **_TAG,
        },
        children=("output",),
    ),
    "joint": Rule(
        {
            "axis": Attribute("axis", required=True, choices=_always(("rx", "ry", "rz", "tx", "ty", "tz"))),
            "gear_ratio": Attribute("number", "1.5.0"),
            **_TAG,
        }
    ),
    "end-effector": Rule(
        {
            "type": _enum(_always(("Custom", *_CATALOG.end_effectors))),
            "output_rot": Attribute("rotation"),
            "output_trans": Attribute("translation"),
            **_DYNAMICS,
            **_TAG,
        },
        since="1.2.0",
    ),
    "include": Rule({"path": Attribute("path", required=True)}, since="1.3.0"),
    "output": Rule({"rot": Attribute("rotation"), "trans": Attribute("translation")}, "1.3.0", _CHAIN),
}

# An element may have one of each pair: the first replaces the catalogue's value, the second adds to it.
EITHER_OR = (("mass", "mass_offset"), ("com_trans", "com_trans_offset"))
