"""How long large files take to load, in every format that is XML: a part of many, and one of few.

Parts are what a file may have many of: bodies, long names, includes, numbers.

python -m bench.load_xml
"""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Any

from motiond.formats.io import Source

FEWER, TIMES, GOAL = 8, 3, 2.0
GOOD = Path(__file__).parents[1] / "tests" / "files" / "good"
LONG_NAME = "q" * 900
SDF_JOINT = (
    '<link name="l{0}"/><joint name="j{0}" type="revolute"><parent>{1}</parent><child>l{0}</child>'
    '<axis><xyz expressed_in="m">0 1 0</xyz></axis></joint>\n'
)
SKEL_JOINT = (
    '<body name="b{0}"/><joint type="weld" name="j{0}"><parent>{1}</parent><child>b{0}</child></joint>\n'
)
URDF_JOINT = (
    '<link name="l{0}"/><joint name="j{0}" type="continuous">'
    '<parent link="{1}"/><child link="l{0}"/></joint>\n'
)
SERVO = '<servo name="s{0}"><position>0 1 2</position><frames>0 5 9</frames></servo>\n'


def hrdf(bodies: int) -> str:
    """Return a chain of actuators and links."""
    pair = '<actuator type="X5-4"/><link type="X5" extension="0.3" twist="0"/>\n'
    return f'<robot version="1.5.0">{pair * (bodies // 2)}</robot>'


def hrdf_formula(numbers: int) -> str:
    """Return a body whose mass is a sum."""
    return f'<robot version="1.6.0"><rigid-body mass="{"1+" * numbers}1"/></robot>'


def sdf_chain(bodies: int) -> str:
    """Return a model of links, each on a joint of the one before."""
    parts = (SDF_JOINT.format(n, f"l{n - 1}" if n else "world") for n in range(bodies))
    return f'<sdf version="1.9"><model name="m">{"".join(parts)}</model></sdf>'


def sdf_world(bodies: int) -> str:
    """Return a world of models of one link."""
    models = (f'<model name="m{n}"><link name="l"/></model>\n' for n in range(bodies))
    return f'<sdf version="1.9"><world name="w">{"".join(models)}</world></sdf>'


def sdf_flat(bodies: int) -> str:
    """Return a world of models whose links are named as old files flattened nested models."""
    models = (f'<model name="m{n}"><link name="a::l"/></model>\n' for n in range(bodies))
    return f'<sdf version="1.7"><world name="w">{"".join(models)}</world></sdf>'


def sdf_names(frames: int) -> str:
    """Return a model of a long name around frames."""
    inside = "".join(f'<frame name="f{n}"/>\n' for n in range(frames))
    return f'<sdf version="1.9"><model name="{LONG_NAME}"><link name="l"/>{inside}</model></sdf>'


def sdf_includes(includes: int) -> str:
    """Return a world that includes one file again and again."""
    inside = (f"<include><uri>crane.sdf</uri><name>c{n}</name></include>\n" for n in range(includes))
    return f'<sdf version="1.9"><world name="w">{"".join(inside)}</world></sdf>'


def skel_chain(bodies: int) -> str:
    """Return a skeleton of bodies, each welded to the one before."""
    return _skel("".join(SKEL_JOINT.format(n, f"b{n - 1}" if n else "world") for n in range(bodies)))


def skel_bodies(bodies: int) -> str:
    """Return a skeleton of bodies that nothing carries."""
    return _skel("".join(f'<body name="b{n}"/>\n' for n in range(bodies)))


def _skel(inside: str) -> str:
    world = f'<world name="w"><skeleton name="s">{inside}</skeleton></world>'
    return f'<skel version="1.0">{world}</skel>'


def urdf_chain(bodies: int) -> str:
    """Return a robot of links, each on a joint of the one before."""
    return _urdf("".join(URDF_JOINT.format(n, f"l{n - 1}" if n else "root") for n in range(bodies)))


def urdf_materials(shapes: int) -> str:
    """Return a robot of a link with shapes, each of a material that is defined after it."""
    geometry = '<geometry><sphere radius="1"/></geometry>'
    visuals = (f'<visual>{geometry}<material name="m{n}"/></visual>\n' for n in range(shapes))
    colours = (f'<material name="m{n}"><color rgba="0 0 0 1"/></material>\n' for n in range(shapes))
    return _urdf(f'<link name="l">{"".join(visuals)}</link>{"".join(colours)}', root="")


def urdf_mimics(bodies: int) -> str:
    """Return a robot of joints of which all but the first follow it."""
    joints = urdf_chain(bodies).replace("</joint>", '<mimic joint="j0"/></joint>')
    return joints.replace('<mimic joint="j0"/>', "", 1)


def _urdf(inside: str, root: str = '<link name="root"/>') -> str:
    return f'<robot name="r">{root}{inside}</robot>'


def xmdi(bodies: int) -> str:
    """Return a motion of servos."""
    servos = "".join(SERVO.format(n) for n in range(bodies))
    return f'<xmdi><motions><motion name="m">{servos}</motion></motions></xmdi>'


def xmdi_keys(keys: int) -> str:
    """Return a motion of a servo with many key frames."""
    servo = f"<position>{'0 ' * keys}</position><frames>{' '.join(map(str, range(keys)))}</frames>"
    return f'<xmdi><motions><motion name="m"><servo name="s">{servo}</servo></motion></motions></xmdi>'


def sdf_slips(comments: int) -> str:
    """Return a model after comments that hold two dashes."""
    return "<!-- -- -->" * comments + sdf_chain(1)


def sdf_openings(comments: int) -> str:
    """Return a model after comments that hold the beginning of another."""
    return "<!--<!-- -->" * comments + sdf_chain(1)


# The format, what makes a file, and about the most bodies that the format reads, or many of other parts.
FILES = {
    "hrdf": ("hrdf", hrdf, 8000),
    "hrdf, a formula": ("hrdf", hrdf_formula, 80_000),
    "sdf, a chain": ("sdf", sdf_chain, 4800),
    "sdf, a world": ("sdf", sdf_world, 4800),
    "sdf, an old world": ("sdf", sdf_flat, 4800),
    "sdf, long names": ("sdf", sdf_names, 4800),
    "sdf, includes": ("sdf", sdf_includes, 320),
    "sdf, slips": ("sdf", sdf_slips, 50_000),
    "sdf, openings": ("sdf", sdf_openings, 50_000),
    "skel, a chain": ("skel", skel_chain, 4800),
    "skel, free bodies": ("skel", skel_bodies, 9600),
    "urdf, a chain": ("urdf", urdf_chain, 4800),
    "urdf, materials": ("urdf", urdf_materials, 9600),
    "urdf, followers": ("urdf", urdf_mimics, 4800),
    "xmdi": ("xmdi", xmdi, 8000),
    "xmdi, key frames": ("xmdi", xmdi_keys, 160_000),
}


def cpu_s(what: str, parts: int, times: int = TIMES) -> float:
    """Return the processor time in which a file of so many parts loads, the least of some times."""
    name, make, _ = FILES[what]
    module: Any = importlib.import_module(f"motiond.formats.{name}")
    data, source = make(parts).encode(), Source(GOOD / f"many.{name}")
    taken = []
    for _ in range(times):
        start_s = time.process_time()
        module.load(data, source)
        taken.append(time.process_time() - start_s)
    return min(taken)


def main() -> None:
    print(f"load XML, µs a part; goal: of many within {GOAL:g} times that of few")
    for what, (_, _, parts) in FILES.items():
        few = cpu_s(what, parts // FEWER) / (parts // FEWER)
        many = cpu_s(what, parts) / parts
        verdict = "met" if many < GOAL * few else "MISSED"
        figures = f"{few * 1e6:>7.1f} of {parts // FEWER:>5}, {many * 1e6:>7.1f} of {parts}"
        print(f"  {what:<18} {figures}  {verdict}")


if __name__ == "__main__":
    main()
