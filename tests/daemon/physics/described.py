"""Descriptions that chance has made, in each format of robots: trees of joints with one coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

LINKS = 10
TYPES = ("revolute", "continuous", "prismatic", "fixed")


def numbers(rng: np.random.Generator, count: int = 3, size: float = 1.0) -> str:
    return " ".join(f"{value:.17g}" for value in rng.uniform(-size, size, count))


def pose(rng: np.random.Generator) -> str:
    """Return x, y, z and three angles."""
    return f"{numbers(rng)} {numbers(rng, size=3.0)}"


def urdf(rng: np.random.Generator) -> str:
    moments = 'ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.2" iyz="0.3"'
    links = "".join(
        f'<link name="l{number}"><inertial><origin xyz="{numbers(rng)}" rpy="{numbers(rng)}"/>'
        f'<mass value="{rng.uniform(0.1, 2)}"/><inertia {moments}/></inertial></link>'
        for number in range(LINKS)
    )
    joints, leaders = "", list[str]()
    for number in range(1, LINKS):
        kind, follows = "revolute" if number == 1 else rng.choice(TYPES), ""
        if leaders and kind != "fixed" and rng.random() < 0.3:
            follows = (
                f'<mimic joint="{rng.choice(leaders)}" multiplier="{rng.uniform(-2, 2)}" offset="0.25"/>'
            )
        elif kind != "fixed":
            leaders.append(f"j{number}")
        joints += f"""<joint name="j{number}" type="{kind}">
            <parent link="l{rng.integers(number)}"/><child link="l{number}"/>
            <origin xyz="{numbers(rng)}" rpy="{numbers(rng, size=3.0)}"/><axis xyz="{numbers(rng)}"/>
            <limit lower="-3" upper="3" velocity="1" effort="1"/>{follows}</joint>"""
    return f'<robot name="r">{links}{joints}</robot>'


def sdf(rng: np.random.Generator) -> str:
    kinds = (*TYPES, "screw")
    links = "".join(f'<link name="l{number}"><pose>{pose(rng)}</pose></link>' for number in range(LINKS))
    joints = ""
    for number in range(1, LINKS):
        kind = "screw" if number == 1 else rng.choice(kinds)
        axis = f"<axis><xyz>{numbers(rng)}</xyz></axis>" if kind != "fixed" else ""
        pitch = (
            f"<screw_thread_pitch>{rng.uniform(0.01, 0.1)}</screw_thread_pitch>" if kind == "screw" else ""
        )
        joints += f"""<joint name="j{number}" type="{kind}"><parent>l{rng.integers(number)}</parent>
            <child>l{number}</child><pose>{pose(rng)}</pose>{axis}{pitch}</joint>"""
    return f'<sdf version="1.11"><model name="r"><pose>{pose(rng)}</pose>{links}{joints}</model></sdf>'


def skel(rng: np.random.Generator) -> str:
    bodies, joints = "", '<joint type="weld" name="foot"><parent>world</parent><child>l0</child></joint>'
    for number in range(LINKS):
        bodies += f'<body name="l{number}"><transformation>{pose(rng)}</transformation></body>'
    for number in range(1, LINKS):
        kind = "screw" if number == 1 else rng.choice(["revolute", "prismatic", "screw", "weld"])
        axis = f"<axis><xyz>{numbers(rng)}</xyz><pitch>0.03</pitch></axis>" if kind != "weld" else ""
        joints += f"""<joint type="{kind}" name="j{number}"><parent>l{rng.integers(number)}</parent>
            <child>l{number}</child><transformation>{pose(rng)}</transformation>{axis}</joint>"""
    skeleton = f"<transformation>{pose(rng)}</transformation>{bodies}{joints}"
    return f"""<skel version="1.0"><world name="w"><skeleton name="r">{skeleton}</skeleton></world></skel>"""


def hrdf(rng: np.random.Generator) -> str:
    place = f'rot="Rx({rng.uniform(-3, 3)})*Rz({rng.uniform(-3, 3)})" trans="{numbers(rng)}"'
    return f'<robot version="1.6.0" {place}>{_chain(rng, 2)}</robot>'


def _chain(rng: np.random.Generator, depth: int) -> str:
    """Return parts one after the other, and a body with a chain on each output."""
    part = f'<actuator type="X{rng.choice(["5-1", "8-9", "8-16"])}"/>'
    arm = f'<link type="X5" extension="{rng.uniform(0.1, 1)}" twist="{rng.uniform(-3, 3)}"/>'
    axis = rng.choice(["rx", "-ry", "rz", "-tx", "ty", "-tz"])
    geared = f'<joint axis="{axis}" gear_ratio="{rng.choice([-1.0, -2.5, 50.0])}"/>'
    if not depth:
        return f'{part}{arm}<end-effector mass="0.1" output_trans="{numbers(rng)}"/>'
    outputs = "".join(
        f'<output rot="Rz({rng.uniform(-3, 3)})*Ry({rng.uniform(-3, 3)})" trans="{numbers(rng)}">'
        f"{_chain(rng, depth - 1)}</output>"
        for _ in range(2)
    )
    return f'{part}{arm}{geared}<rigid-body mass="1" com_trans="{numbers(rng)}">{outputs}</rigid-body>'


FORMATS: dict[str, Callable[[np.random.Generator], str]] = {
    "hrdf": hrdf,
    "skel": skel,
    "sdf": sdf,
    "urdf": urdf,
}
