"""The catalogue, and whole robots made of its parts, compared with those of hebi-py's own HRDF parser."""

import itertools
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motiond.formats import hrdf
from motiond.formats.hrdf.catalog import Catalog, load_catalog
from motiond.formats.io.source import Source

SCRIPT = Path(__file__).parents[3] / "scripts" / "make_hrdf_catalog.py"
STYLES = ("RightAngle", "Inline")
SINGLE_PRECISION = 2e-6  # hebi-py computes in it

hebi = pytest.importorskip("hebi.robot_model", reason="hebi-py is not installed")


def vendor_robot(text: str) -> Any:
    return hebi.import_from_hrdf_string(text)


def assert_agrees_with_vendor(text: str, rng: np.random.Generator) -> None:
    theirs = vendor_robot(text)
    (ours,) = hrdf.load(text.encode(), Source(Path("robot.hrdf")))
    assert ours.dof == theirs.dof_count, text
    q = rng.uniform(-3, 3, ours.dof)
    poses = ours.forward_kinematics(q)
    for kind, theirs_kind in (("com", "com"), ("output", "output"), ("end_effector", "endeffector")):
        names = [frame.name for frame in ours.frames if frame.kind == kind]
        expected = theirs.get_forward_kinematics(theirs_kind, q)
        assert len(names) == len(expected), text
        for name, pose in zip(names, expected, strict=True):
            np.testing.assert_allclose(poses[name], pose, atol=SINGLE_PRECISION, err_msg=f"{name} of {text}")
    masses = [link.mass for link in ours.links if f"{link.name}/com" in poses]
    np.testing.assert_allclose(masses, theirs.masses, atol=SINGLE_PRECISION, err_msg=text)
    if ours.dof:
        coordinates = [joint.coordinates[0] for joint in ours.joints]
        np.testing.assert_allclose([c.velocity_limit for c in coordinates], theirs.max_speeds, rtol=1e-6)
        np.testing.assert_allclose([c.effort_limit for c in coordinates], theirs.max_efforts, rtol=1e-6)


def all_parts(catalog: Catalog) -> list[str]:
    links = (
        f'<link type="{part}" extension="{extension}" twist="{twist}" input="{entry}" output="{leave}"/>'
        for part, entry, leave in itertools.product(catalog.links, STYLES, STYLES)
        if catalog.has_link(part, entry, leave)
        for extension, twist in ((0, 0), (0.325, "pi"), (0.1, 0.7), (1.5, -2))
    )
    return [
        *(f'<actuator type="{part}"/>' for part in catalog.actuators),
        *(f'<bracket type="{part}"/>' for part in catalog.brackets),
        *(f'<end-effector type="{part}"/>' for part in ("Custom", *catalog.end_effectors)),
        *links,
    ]


def test_every_part_is_as_hebi_py_has_it() -> None:
    rng = np.random.default_rng(1)
    parts = all_parts(load_catalog())
    assert len(parts) == 21 + 18 + 3 + 4 * 14
    for part in parts:
        assert_agrees_with_vendor(f'<robot version="1.6.0">{part}</robot>', rng)


def test_catalogue_is_what_the_script_writes() -> None:
    script = runpy.run_path(str(SCRIPT))
    made = [line for line in script["catalog"]().splitlines() if not line.startswith("hebi_py:")]
    kept = [line for line in script["CATALOG"].read_text().splitlines() if not line.startswith("hebi_py:")]
    assert made == kept


def random_vector(rng: np.random.Generator) -> str:
    return " ".join(f"{value:.3f}" for value in rng.uniform(-1, 1, 3))


def random_rotation(rng: np.random.Generator) -> str:
    return "*".join(
        f"R{rng.choice(list('xyz'))}({rng.uniform(-3, 3):.3f})" for _ in range(rng.integers(1, 4))
    )


def random_dynamics(rng: np.random.Generator) -> str:
    choices = (
        f'mass="{rng.uniform(0, 2):.3f}"',
        f'mass_offset="{rng.uniform(0, 2):.3f}"',
        f'com_trans="{random_vector(rng)}"',
        f'com_trans_offset="{random_vector(rng)}"',
        f'com_rot="{random_rotation(rng)}"',
    )
    return str(rng.choice([*choices, ""]))


def random_chain(rng: np.random.Generator, depth: int) -> str:
    """Return a random chain of elements that fit, which may end in a body with a chain on each output."""
    parts = []
    for _ in range(rng.integers(0, 4)):
        parts += [
            f'<actuator type="X{rng.choice(["5-1", "5-9", "8-3", "8-16"])}" {random_dynamics(rng)}/>',
            (
                f'<link type="X5" extension="{rng.uniform(0, 1):.3f}" twist="{rng.uniform(-3, 3):.3f}" '
                f'input="{rng.choice(STYLES)}" output="{rng.choice(STYLES)}" {random_dynamics(rng)}/>'
            ),
        ]
    if rng.random() < 0.5:
        axis = rng.choice(["rx", "-ry", "rz", "-tx", "ty", "-tz"])
        parts.append(f'<joint axis="{axis}" gear_ratio="-2.5"/>')
    if depth and rng.random() < 0.7:
        outputs = "".join(
            f'<output rot="{random_rotation(rng)}" trans="{random_vector(rng)}">'
            f"{random_chain(rng, depth - 1)}</output>"
            for _ in range(rng.integers(1, 4))
        )
        parts.append(f'<rigid-body mass="1" com_trans="{random_vector(rng)}">{outputs}</rigid-body>')
    elif rng.random() < 0.5:
        parts.append(f'<end-effector {random_dynamics(rng)} output_rot="{random_rotation(rng)}"/>')
    return "".join(parts)


@pytest.mark.parametrize("seed", range(40))
def test_random_robots_agree_with_the_vendor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = f'rot="{random_rotation(rng)}" trans="{random_vector(rng)}"'
    assert_agrees_with_vendor(f'<robot version="1.6.0" {base}>{random_chain(rng, 2)}</robot>', rng)


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_implicit_end_effector_agrees_with_the_vendor(version: str) -> None:
    body = '<actuator type="X5-1"/><link type="X5" extension="0.2" twist="1"/><joint axis="tx"/>'
    assert_agrees_with_vendor(f'<robot version="{version}">{body}</robot>', np.random.default_rng(0))
    assert_agrees_with_vendor(f'<robot version="{version}"/>', np.random.default_rng(0))
