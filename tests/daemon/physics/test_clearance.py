"""How near links come to each other: as an independent library has it, and never nearer than bounds say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fcl
import numpy as np
import pytest

from motiond.daemon.physics import PhysicsError
from motiond.formats import load_robot
from motiond.formats.model import derived_shapes
from tests.daemon.physics.robots import ARM, WEDGE, clearance_of, crane, humanoid, postures

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.physics.clearance import Clearance
    from motiond.formats import RobotModel, Shape
    from motiond.formats.arrays import Floats

MARGIN_M = 0.005
DOUBTFUL_M = 0.0001


@pytest.fixture(params=["arm", "crane", "humanoid"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> RobotModel:
    if request.param == "arm":
        return load_robot(ARM)
    return {"crane": crane, "humanoid": humanoid}[request.param](tmp_path)


class Independent:
    """A robot's links as FCL has them, placed by our own kinematics."""

    def __init__(self, model: RobotModel) -> None:
        self._model, derived = model, derived_shapes(model)
        self._objects: dict[str, list[tuple[Floats, Any]]] = {
            link.name: [
                (shape.pose, fcl.CollisionObject(solid(shape)))
                for shape in link.shapes or derived.get(link.name, ())
            ]
            for link in model.links
        }

    def place(self, posture: Floats) -> None:
        places = self._model.forward_kinematics(posture)
        for name, shapes in self._objects.items():
            for pose, body in shapes:
                here = places[name] @ pose
                body.setTransform(fcl.Transform(here[:3, :3], here[:3, 3]))

    def distance(self, one: str, other: str) -> float:
        """Return how far apart two links are; 0 where they touch."""
        apart: list[float] = [
            fcl.distance(a, b, fcl.DistanceRequest(), fcl.DistanceResult())
            for _, a in self._objects[one]
            for _, b in self._objects[other]
        ]
        return max(min(apart), 0.0)


def solid(shape: Shape) -> Any:
    match shape.kind:
        case "box":
            return fcl.Box(*shape.size)
        case "sphere":
            return fcl.Sphere(*shape.size)
        case "cylinder":
            return fcl.Cylinder(*shape.size)
        case _:
            faces = np.array([[3, 0, 2, 1], [3, 0, 1, 3], [3, 1, 2, 3], [3, 0, 3, 2]])
            return fcl.Convex(WEDGE, 4, faces.ravel())


def distances(clearance: Clearance, posture: Floats, most_m: float) -> dict[tuple[str, str], float]:
    """Return how far links are apart, those that have several shapes by the nearest two."""
    look, found = clearance.look(), dict[tuple[str, str], float]()
    look.place(posture)
    for pair, links in enumerate(clearance.links):
        found[links] = min(look.distance(pair, most_m), found.get(links, most_m))
    return found


@pytest.mark.slow
def test_a_thousand_postures_are_judged_as_by_an_independent_library(model: RobotModel) -> None:
    clearance, joint_map = clearance_of(model)
    independent, near = Independent(model), 0
    for posture in postures(joint_map, 1000):
        independent.place(posture)
        for links, distance in distances(clearance, posture, 0.05).items():
            theirs = independent.distance(*links)
            near += distance < MARGIN_M
            for margin in (0.0, MARGIN_M):
                if abs(distance - margin) > DOUBTFUL_M:
                    assert (theirs > margin) == (distance > margin), (links, distance, theirs, posture)
    assert near > 100


def test_what_an_independent_library_finds_near_is_found(model: RobotModel) -> None:
    clearance, joint_map = clearance_of(model)
    independent = Independent(model)
    for posture in postures(joint_map, 30, seed=1):
        independent.place(posture)
        theirs = {links: independent.distance(*links) for links in dict.fromkeys(clearance.links)}
        nearest = clearance.nearest(posture)
        assert nearest is not None
        assert max(nearest.distance_m, 0.0) == pytest.approx(min(theirs.values()), abs=DOUBTFUL_M)


def test_no_distance_changes_by_more_than_the_joints_going_there_allow(model: RobotModel) -> None:
    clearance, joint_map = clearance_of(model)
    look, pairs = clearance.look(), range(len(clearance.first))
    before_all = postures(joint_map, 150, seed=2)
    steps = np.random.default_rng(3).normal(0, 0.2, before_all.shape)
    weights = clearance.weights(np.abs(before_all).max(axis=0) + np.abs(steps).max(axis=0))
    largest = 0.0
    for before, step in zip(before_all, steps, strict=True):
        found = []
        for posture in (before, before + step):
            look.place(posture)
            found.append([look.distance(pair) for pair in pairs])
        changes, bounds = np.abs(np.diff(found, axis=0)[0]), weights @ np.abs(step)
        assert (changes <= bounds + 1e-5).all()
        largest = max(largest, float((changes / bounds).max()))
    assert largest > 0.5  # the bound is of use


def test_neighbours_are_left_out_and_all_others_looked_at(tmp_path: Path) -> None:
    clearance, _ = clearance_of(crane(tmp_path))
    assert set(clearance.links) == {
        ("base", "jib"),
        ("base", "trolley"),
        ("base", "hook"),
        ("mast", "trolley"),
        ("mast", "hook"),
        ("jib", "hook"),
    }


def test_the_joints_that_make_a_distance_are_those_between(tmp_path: Path) -> None:
    clearance, joint_map = clearance_of(crane(tmp_path))
    moved_by = dict(zip(clearance.links, clearance.moved_by, strict=True))
    names = np.array(joint_map.joints)
    assert names[moved_by["mast", "hook"]].tolist() == ["nod", "drive", "swing"]
    assert names[moved_by["jib", "hook"]].tolist() == ["drive", "swing"]


def test_links_that_touch_in_any_posture_are_found_once(tmp_path: Path) -> None:
    bodies = "".join(
        f"<link name='{name}'><collision><geometry><sphere radius='{radius}'/></geometry></collision></link>"
        for name, radius in (("base", 0.2), ("wrist", 0.05), ("hand", 0.05))
    )
    joints = "".join(
        f"<joint name='{child}_turn' type='revolute'><parent link='{parent}'/><child link='{child}'/>"
        f"<origin xyz='{x} 0 0'/><axis xyz='0 0 1'/>"
        "<limit lower='-3' upper='3' velocity='1' effort='1'/></joint>"
        for parent, child, x in (("base", "wrist", 0.1), ("wrist", "hand", 0.05))
    )
    path = tmp_path / "ball.urdf"
    path.write_text(f"<robot name='ball'>{bodies}{joints}</robot>")
    clearance, _ = clearance_of(load_robot(path))
    assert clearance.touching == (("base", "hand"),)
    assert clearance.links == []


def test_links_that_touch_only_where_the_description_begins_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "crane.urdf"
    crane(tmp_path)
    path.write_text(path.read_text().replace('radius="0.06"', 'radius="0.16"'))
    clearance, joint_map = clearance_of(load_robot(path))
    assert clearance.touching == ()
    assert ("mast", "trolley") in clearance.links
    assert clearance.near(joint_map.initial, 0.005) == (("mast", "trolley"),)


def test_what_is_ignored_is_not_looked_at_whatever_the_order_of_its_names(tmp_path: Path) -> None:
    clearance, _ = clearance_of(crane(tmp_path), [("hook", "mast")])
    assert ("mast", "hook") not in clearance.links
    assert ("jib", "hook") in clearance.links


def test_names_that_no_link_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PhysicsError) as error:
        clearance_of(crane(tmp_path), [("hok", "mast"), ("jib", "floor")])
    assert str(error.value) == (
        "robot: collision: ignore names 'hok'; no link or shape with that name can touch; "
        "did you mean 'hook'?\n"
        "robot: collision: ignore names 'floor'; no link or shape with that name can touch; "
        "correct it, or take the pair out"
    )
