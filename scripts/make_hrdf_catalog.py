"""Write `formats/hrdf/catalog.yaml`: mass, geometry, and limits of velocity and effort of HEBI's parts.

hebi-py is asked through its own HRDF reader about one part at a time. The file has one line for each part, so
that a new release of hebi-py shows as a small diff. Run it as `python scripts/make_hrdf_catalog.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from hebi.robot_model import import_from_hrdf_string

if TYPE_CHECKING:
    from numpy.typing import NDArray

CATALOG = Path(__file__).parents[1] / "formats" / "hrdf" / "catalog.yaml"
VERSIONS = ("1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0")
NEWEST = VERSIONS[-1]

ACTUATORS = {
    "X": ("X5-1", "X5-4", "X5-9", "X8-3", "X8-9", "X8-16"),
    "R8": ("R8-3", "R8-9", "R8-16", "T5-1", "T5-4", "T5-9", "T8-3", "T8-9", "T8-16"),
    "R25": ("R25-8", "R25-20", "R25-40", "T25-8", "T25-20", "T25-40"),
}
BRACKETS = {
    series: tuple(
        f"{prefix}{bracket}"
        for bracket in (
            "LightLeft", "LightRight",
            "HeavyLeftInside", "HeavyLeftOutside", "HeavyRightInside", "HeavyRightOutside",
        )
    )
    for series, prefix in (("X", "X5"), ("R8", "R8"), ("R25", "R25"))
}  # fmt: skip
LINKS = {"X5": ("X", "X"), "R8": ("R8", "R8"), "R25": ("R25", "R25"), "R25-R8": ("R25", "R8")}
END_EFFECTORS = {"X": ("X5Parallel",), "R8": ("R8Parallel",)}
STYLES = ("RightAngle", "Inline")
ROTATIONS = {
    "Rx(0)": np.eye(3),
    "Rx(pi/2)": np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "Rx(-pi/2)": np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]]),
}


@dataclass(frozen=True)
class Measured:
    """One part as hebi-py has it: its mass in kg, and the poses (4, 4) of its mass centre and output."""

    robot: Any
    mass_kg: float
    com: NDArray[np.float64]
    output: NDArray[np.float64]


def measure(xml: str, hrdf_version: str = NEWEST) -> Measured:
    """Ask hebi-py about one part."""
    robot = import_from_hrdf_string(f'<robot version="{hrdf_version}">{xml}</robot>')
    rest = np.zeros(robot.dof_count)
    com, output = (robot.get_forward_kinematics(kind, rest)[0] for kind in ("com", "output"))
    if not np.allclose(com[:3, :3], np.eye(3)):
        raise SystemExit(f"{xml}: its mass centre is turned; the catalogue has no column for that")
    return Measured(robot, float(robot.masses[0]), com, output)


def knows(xml: str, hrdf_version: str = NEWEST) -> bool:
    """Whether a version has a part."""
    try:
        measure(xml, hrdf_version)
    except RuntimeError:
        return False
    return True


def since(xml: str) -> str:
    """Return the first version that has a part."""
    return next(hrdf_version for hrdf_version in VERSIONS if knows(xml, hrdf_version))


def number(value: float) -> str:
    """Return the text of a length, mass or limit; six decimals undo hebi-py's single precision."""
    return f"{round(float(value), 6) + 0.0:g}" if abs(value) < 1e-3 else repr(round(float(value), 6))


def vector(pose: NDArray[np.float64]) -> str:
    """Return the text of a pose's translation."""
    return "[" + ", ".join(number(value) for value in pose[:3, 3]) + "]"


def rotation(pose: NDArray[np.float64]) -> str:
    """Return a pose's rotation as an HRDF formula."""
    return next(text for text, matrix in ROTATIONS.items() if np.allclose(pose[:3, :3], matrix, atol=1e-6))


def actuator(series: str, part: str) -> str:
    """Return the line of an actuator."""
    xml = f'<actuator type="{part}"/>'
    found = measure(xml)
    return (
        f"{{series: {series}, since: {since(xml)}, mass_kg: {number(found.mass_kg)}, "
        f"com_m: {vector(found.com)}, output_m: {vector(found.output)}, "
        f"velocity_limit_rad_s: {number(found.robot.max_speeds[0])}, "
        f"effort_limit_nm: {number(found.robot.max_efforts[0])}}}"
    )


def body(element: str, series: str, part: str) -> str:
    """Return the line of a bracket or an end effector."""
    xml = f'<{element} type="{part}"/>'
    found = measure(xml)
    return (
        f"{{series: {series}, since: {since(xml)}, mass_kg: {number(found.mass_kg)}, "
        f"com_m: {vector(found.com)}, output_m: {vector(found.output)}, "
        f"output_rot: {rotation(found.output)}}}"
    )


def link_xml(part: str, entry: str, leave: str, extension_m: float = 0.0) -> str:
    """Return a link in HRDF."""
    return f'<link type="{part}" extension="{extension_m}" twist="0" input="{entry}" output="{leave}"/>'


def link(part: str, series: tuple[str, str]) -> str:
    """Return the line of a link.

    A link is a tube along x between two ends. A right-angle end is `offset_m` beside the tube, an inline end
    is on its axis, and each pair of ends has its own mass. `Catalog.link` puts them together.
    """
    straight, long = measure(link_xml(part, *STYLES[:1] * 2)), measure(link_xml(part, *STYLES[:1] * 2, 1.0))
    masses = ", ".join(
        f"{entry}-{leave}: {number(measure(link_xml(part, entry, leave)).mass_kg)}"
        for entry, leave in product(STYLES, STYLES)
        if knows(link_xml(part, entry, leave))
    )
    first = since(f'<link type="{part}" extension="0" twist="0"/>')
    return (
        f"{{input_series: {series[0]}, output_series: {series[1]}, since: {first}, "
        f"offset_m: {number(straight.com[2, 3])}, mass_kg_per_m: {number(long.mass_kg - straight.mass_kg)}, "
        f"mass_kg: {{{masses}}}}}"
    )


def catalog() -> str:
    """Return the text of the whole file."""
    lines = [
        "# HEBI's parts as hebi-py has them: mass, mass centre and output in the part's input frame, limits.",
        "# Written by the generator below; not to be edited. hebi-py has no moments of inertia.",
        "generator: scripts/make_hrdf_catalog.py",
        f"hebi_py: {version('hebi-py')}",
        "actuators:",
        *(f"  {part}: {actuator(series, part)}" for series, parts in ACTUATORS.items() for part in parts),
        "links:",
        *(f"  {part}: {link(part, series)}" for part, series in LINKS.items()),
        "brackets:",
        *(
            f"  {part}: {body('bracket', series, part)}"
            for series, parts in BRACKETS.items()
            for part in parts
        ),
        "end_effectors:",
        *(
            f"  {part}: {body('end-effector', series, part)}"
            for series, parts in END_EFFECTORS.items()
            for part in parts
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    CATALOG.write_text(catalog(), encoding="utf-8")
    print(f"wrote {CATALOG}")
