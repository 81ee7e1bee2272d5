"""HEBI's parts by name: mass, geometry, interfaces, and limits of velocity and effort.

`scripts/make_hrdf_catalog.py` writes `catalog.yaml` from hebi-py. Interfaces are those of the section
"Interface types" of the HEBI Robot Configuration format 1.6.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from ..model.poses import identity_pose
from .formula import axis_rotation, parse_rotation

if TYPE_CHECKING:
    from ..arrays import Floats

X, Y = 0, 1


@dataclass(frozen=True, slots=True)
class Part:
    """A rigid part, in the frame of its input interface."""

    mass: float = 0.0  # in kg
    # com, output: shape (4, 4); the poses of its mass centre and its output interface
    com: Floats = field(default_factory=identity_pose)
    output: Floats = field(default_factory=identity_pose)
    # input_interface, output_interface: type and polarity, as `X-AO-B`; '' fits anything
    input_interface: str = ""
    output_interface: str = ""
    # velocity_limit, effort_limit: of its joint, in rad/s and N·m; infinite where it has none
    velocity_limit: float = np.inf
    effort_limit: float = np.inf


@dataclass(frozen=True, slots=True)
class Catalog:
    """All parts, by the names that they have in HRDF."""

    # actuators, links, brackets, end_effectors: the columns of `catalog.yaml`
    actuators: dict[str, Any]
    links: dict[str, Any]
    brackets: dict[str, Any]
    end_effectors: dict[str, Any]

    def actuator(self, name: str) -> Part:
        """Return an actuator at position zero."""
        return _part(self.actuators[name], "AH-A", "AO-A")

    def bracket(self, name: str) -> Part:
        """Return a bracket."""
        return _part(self.brackets[name], "AO-B", "AH-B")

    def end_effector(self, name: str) -> Part:
        """Return an end effector; a custom one has no mass and no length."""
        return Part() if name == "Custom" else _part(self.end_effectors[name], "AO-B", "")

    def has_link(self, name: str, entry: str, leave: str) -> bool:
        """Whether HEBI makes a link with these two ends."""
        return f"{entry}-{leave}" in self.links[name]["mass_kg"]

    def link(self, name: str, entry: str, leave: str, extension_m: float, twist_rad: float) -> Part:
        """Return a link.

        A link is a tube along x from its input end to its output end, which the twist turns about the tube. A
        right-angle end is `offset_m` beside the tube, an inline end is its cross-section. The mass centre is
        half way along the tube. This geometry was inferred from hebi-py, with which it agrees for every type,
        extension and twist.
        """
        row = self.links[name]
        offset_m = row["offset_m"]
        beside = pose(translation=(0, 0, offset_m))
        tube = beside if entry == "RightAngle" else pose(axis_rotation(Y, -np.pi / 2))
        end = beside if leave == "RightAngle" else pose(axis_rotation(Y, np.pi / 2))
        along = pose(axis_rotation(X, twist_rad), (extension_m, 0, 0))
        com = tube @ pose(translation=(extension_m / 2, 0, 0))
        return Part(
            mass=row["mass_kg"][f"{entry}-{leave}"] + row["mass_kg_per_m"] * extension_m,
            com=pose(translation=com[:3, 3]),
            output=tube @ along @ end,
            input_interface=f"{row['input_series']}-AO-B",
            output_interface=f"{row['output_series']}-AH-B",
        )


def pose(rotation: Floats | None = None, translation: Any = (0.0, 0.0, 0.0)) -> Floats:
    """Return the pose (4, 4) of a (3, 3) rotation and a translation of three numbers in m."""
    matrix = np.eye(4)
    if rotation is not None:
        matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    return matrix


@cache
def load_catalog() -> Catalog:
    """Read the catalogue that comes with the package."""
    text = files(__package__).joinpath("catalog.yaml").read_text(encoding="utf-8")
    tables = yaml.load(text, yaml.CSafeLoader)
    return Catalog(tables["actuators"], tables["links"], tables["brackets"], tables["end_effectors"])


def _part(row: dict[str, Any], input_end: str, output_end: str) -> Part:
    return Part(
        mass=row["mass_kg"],
        com=pose(translation=row["com_m"]),
        output=pose(parse_rotation(row.get("output_rot", "Rx(0)")), row["output_m"]),
        input_interface=f"{row['series']}-{input_end}",
        output_interface=f"{row['series']}-{output_end}" if output_end else "",
        velocity_limit=row.get("velocity_limit_rad_s", np.inf),
        effort_limit=row.get("effort_limit_nm", np.inf),
    )
