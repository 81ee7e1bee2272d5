"""A humanoid of thirty joints, as a SKEL file describes it."""

from __future__ import annotations

from typing import NamedTuple

BODY = """
<body name="{name}">
    <transformation>{x:g} {y:g} {z:g} 0 0 0</transformation>
    <inertia> <mass>1</mass> </inertia>
    <collision_shape>
        <transformation>0 0 {middle:g} 0 0 0</transformation>
        <geometry> <{kind}>{size}</{kind}> </geometry>
    </collision_shape>
</body>
<joint type="revolute" name="{name}_{letter}">
    <parent>{parent}</parent>
    <child>{name}</child>
    <axis> <xyz>{axis}</xyz> <limit> <lower>{lower:g}</lower> <upper>{upper:g}</upper> </limit> </axis>
</joint>"""
AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}


class Part(NamedTuple):
    """A body, which its joint carries at its upper end, and whose shape goes down from there.

    - `place`: of the joint, in the posture where all are at 0
    - `length`, `width`: in m; negative lengths go up
    """

    name: str
    parent: str
    letter: str
    place: tuple[float, float, float]
    length: float
    width: float
    lower: float = -1.5
    upper: float = 1.5

    def skel(self) -> str:
        x, y, z = self.place
        is_box = self.letter != "y"
        width, height = self.width, abs(self.length)
        box = f"<size>{width:g} {width:g} {height:g}</size>"
        cylinder = f"<radius>{width / 2:g}</radius> <height>{height:g}</height>"
        return BODY.format(
            name=self.name,
            parent=self.parent,
            letter=self.letter,
            axis=AXES[self.letter],
            middle=-self.length / 2,
            kind="box" if is_box else "cylinder",
            size=box if is_box else cylinder,
            x=x,
            y=y,
            z=z,
            lower=self.lower,
            upper=self.upper,
        )


def _arm(side: str, sign: float) -> list[Part]:
    y, top = sign * 0.25, 1.4
    return [
        Part(f"{side}_shoulder", "chest", "y", (0, y, top), 0.06, 0.08),
        Part(f"{side}_swing", f"{side}_shoulder", "x", (0, y, top - 0.04), 0.06, 0.08),
        Part(f"{side}_upper", f"{side}_swing", "z", (0, y, top - 0.1), 0.2, 0.08),
        Part(f"{side}_fore", f"{side}_upper", "y", (0, y, top - 0.35), 0.1, 0.07, 0.0, 2.4),
        Part(f"{side}_turn", f"{side}_fore", "z", (0, y, top - 0.46), 0.1, 0.06),
        Part(f"{side}_wrist", f"{side}_turn", "y", (0, y, top - 0.6), 0.04, 0.05),
        Part(f"{side}_hand", f"{side}_wrist", "x", (0, y, top - 0.66), 0.12, 0.08, -0.8, 0.8),
    ]


def _leg(side: str, sign: float) -> list[Part]:
    y = sign * 0.1
    return [
        Part(f"{side}_hip", "pelvis", "z", (0, y, 0.86), 0.04, 0.08, -0.7, 0.7),
        Part(f"{side}_spread", f"{side}_hip", "x", (0, y, 0.81), 0.04, 0.08, -0.4, 0.4),
        Part(f"{side}_thigh", f"{side}_spread", "y", (0, y, 0.76), 0.28, 0.1),
        Part(f"{side}_shin", f"{side}_thigh", "y", (0, y, 0.44), 0.28, 0.08, 0.0, 2.2),
        Part(f"{side}_ankle", f"{side}_shin", "y", (0, y, 0.12), 0.03, 0.06, -0.7, 0.7),
        Part(f"{side}_foot", f"{side}_ankle", "x", (0, y, 0.07), 0.05, 0.11, -0.4, 0.4),
    ]


PARTS = [
    Part("waist", "pelvis", "z", (0, 0, 1.0), -0.06, 0.14),
    Part("chest", "waist", "y", (0, 0, 1.08), -0.3, 0.24, -0.5, 0.7),
    Part("neck", "chest", "z", (0, 0, 1.42), -0.06, 0.08),
    Part("head", "neck", "y", (0, 0, 1.5), -0.2, 0.16, -0.6, 0.6),
    *_arm("left", 1.0),
    *_arm("right", -1.0),
    *_leg("left", 1.0),
    *_leg("right", -1.0),
]
PELVIS = """
<body name="pelvis">
    <transformation>0 0 0.92 0 0 0</transformation>
    <inertia> <mass>8</mass> </inertia>
    <collision_shape> <geometry> <box> <size>0.16 0.26 0.1</size> </box> </geometry> </collision_shape>
</body>
<joint type="weld" name="stand"> <parent>world</parent> <child>pelvis</child> </joint>"""
SKEL = f"""<?xml version="1.0" ?>
<skel version="1.0">
<world name="world">
<skeleton name="humanoid">{PELVIS}{"".join(part.skel() for part in PARTS)}
</skeleton>
</world>
</skel>
"""
