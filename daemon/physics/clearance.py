"""How near a robot's links come to each other, and to what stands around it.

Distances are those of MuJoCo (`mj_geomDistance`), negative where two shapes are in each other; meshes count
with their convex hulls. Left out are links with no joint or one between them, links that touch in each of
many random postures, and what the caller ignores.

How much a distance may change is bounded (`weights`): while a joint turns by an angle, no point of a shape
moves in the frame of the other by more than that times its distance from the joint's axis, and a distance,
negative or not, changes by no more than points move. That distance is at most the way from axis to axis to
the shape's farthest corner, whatever other joints do; of the two shapes, the nearer one counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from motiond.text import nearest

from .extra import PhysicsError, load_mujoco
from .reach import PLANE, WORLD, Reach
from .robot import PhysicalRobot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from motiond.formats.arrays import Booleans, Floats, Indices

    from ..joints import JointMap
    from .world import World

POSTURES = 1000
"""Links that touch in each of so many random postures touch always."""
FAR_M = 100.0
"""Of two shapes that are further apart, this is taken for the distance."""
LONGEST_M = 2.0
"""How far a slide without limits is taken to go, where random postures are looked at."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Two links, or a link and what stands around, and how near they are.

    - `links`: their names
    - `distance_m`: negative where they are in each other: how far one has to go to be out of the other
    - `points` (ndarray, shape (2, 3)): of each the place nearest to the other, in m, in the frame that the
      description places the robot in
    """

    links: tuple[str, str]
    distance_m: float
    points: Floats


class Columns(Protocol):
    """What has the joints of a robot, as columns of a posture."""

    @property
    def joints(self) -> Sequence[str]:
        """Their names."""


class Clearance:
    """The distances between a robot's links, and from these to what stands around.

    Parameters
    ----------
    world : World
        Of which MuJoCo's world has the shapes around the robot, by their names.
    joint_map : JointMap
        Whose limits postures are chosen from to find what always touches.
    ignore : sequence of (str, str)
        Links, or a link and a shape around, that may be near each other.
    touching : sequence of (str, str), optional
        Links that are known to touch always; then none are looked for, and of the joint map only its joints
        are of interest.

    Attributes
    ----------
    mujoco : module
    world : World
    robot : PhysicalRobot
        The world, loaded.
    touching : tuple of (str, str)
        Links that were found to touch always.
    first, second : ndarray of int, shape (pairs,)
        The shapes of each pair.
    links : list of (str, str)
        The names of their links.
    moved_by : ndarray of bool, shape (pairs, joints)
        The joints, as columns of the joint map, whose positions make a pair's distance.

    Raises
    ------
    PhysicsError
        If MuJoCo is not installed or cannot load the world, or a name in `ignore` is none.
    """

    def __init__(
        self,
        world: World,
        joint_map: JointMap | Columns,
        ignore: Sequence[tuple[str, str]] = (),
        touching: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        self.mujoco = load_mujoco(world.robot)
        self.robot, self.world = PhysicalRobot(world), world
        model = self.model = self.robot.model
        self._joints = len(joint_map.joints)
        self._names = [_name_of(model, geom) for geom in range(model.ngeom)]
        self._reach = Reach(self.robot, self.mujoco)
        touches = (model.geom_contype != 0) | (model.geom_bodyid == WORLD)
        ignored = self._ignored(ignore)
        # Planes come first in their pairs.
        shapes = np.flatnonzero(touches)[np.argsort(model.geom_type[touches] != PLANE, kind="stable")]
        pairs = [
            pair
            for pair in combinations(shapes.tolist(), 2)
            if self._reach.part(*pair) and frozenset(self._names[geom] for geom in pair) not in ignored
        ]
        self._take(pairs)
        if touching is None:
            touching = self._found_touching(cast("JointMap", joint_map))
        self.touching = tuple(touching)
        known = {frozenset(names) for names in self.touching}
        self._take([pair for pair in pairs if frozenset(self._names[geom] for geom in pair) not in known])

    def _take(self, pairs: Sequence[tuple[int, int]]) -> None:
        self._weights: tuple[Floats, Floats] | None = None
        table = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        self.first, self.second = table.T
        self.links = [(self._names[one], self._names[other]) for one, other in pairs]
        moved_by = np.zeros((len(pairs), self._joints), dtype=bool)
        for number, pair in enumerate(pairs):
            moved_by[number, self.robot.columns[self._reach.between(*pair)]] = True
        self.moved_by: Booleans = moved_by
        self.plane = self.model.geom_type[self.first] == PLANE
        radii = self.model.geom_rbound
        self.radii = radii[self.first] + radii[self.second]  # of a plane, MuJoCo has 0

    def _ignored(self, ignore: Iterable[Sequence[str]]) -> set[frozenset[str]]:
        known, problems = dict.fromkeys(self._names), []
        for pair in ignore:
            for name in pair:
                if name not in known:
                    problem, reason = f"ignore names '{name}'", "no link or shape with that name can touch"
                    hint = nearest(name, known) or "correct it, or take the pair out"
                    problems.append(f"{self.world.robot}: collision: {problem}; {reason}; {hint}")
        if problems:
            raise PhysicsError("\n".join(problems))
        return {frozenset(pair) for pair in ignore}

    # -- one posture ----------------------------------------------------------------------------------------

    def look(self) -> Look:
        """Return what looks at postures, one for each thread."""
        return Look(self)

    def nearest(self, positions: Floats) -> Nearest | None:
        """Return the nearest pair of a posture, shape (joints,); None where there are no pairs."""
        return self.look().nearest(positions)

    # -- what bounds distances ------------------------------------------------------------------------------

    def weights(self, farthest: Floats) -> Floats:
        """Return how much the distance of each pair changes at most, per unit of each joint, (pairs, joints).

        `farthest`: shape (joints,); the positions up to which slides go, without sign, in m.
        """
        robot, slides = self.robot, self._reach.slides
        factors = np.abs(robot.factors)
        travel = factors * farthest[robot.columns] + np.abs(robot.offsets)
        travel = np.where(slides, travel + np.abs(self.model.qpos0[robot.addresses]), 0.0)
        known = self._weights  # once for all, where nothing slides
        if known is None or not np.array_equal(known[0], travel):
            known = self._weights = travel, self._weighed(travel)
        return known[1]

    def _weighed(self, travel: Floats) -> Floats:
        robot, slides, weights = self.robot, self._reach.slides, np.zeros(self.moved_by.shape)
        factors = np.abs(robot.factors)
        for pair, (one, other) in enumerate(zip(self.first.tolist(), self.second.tolist(), strict=True)):
            way = self._reach.between(one, other)
            reach = np.where(slides[way], 1.0, self._reach.reaches(one, other, way, travel))
            np.add.at(weights[pair], robot.columns[way], factors[way] * reach)
        return weights

    def _found_touching(self, joint_map: JointMap) -> tuple[tuple[str, str], ...]:
        """Return the links that touch in each of many postures."""
        look, pairs_of = self.look(), self._pairs_of_links()
        for posture in _random_postures(joint_map):
            if not pairs_of:
                break
            look.place(posture)
            pairs_of = {links: pairs for links, pairs in pairs_of.items() if look.touch(pairs)}
        return tuple(pairs_of)

    def _pairs_of_links(self) -> dict[tuple[str, str], list[int]]:
        """Return the numbers of pairs by their links, but of those with what stands around."""
        bodies, found = self.model.geom_bodyid, dict[tuple[str, str], list[int]]()
        around = (bodies[self.first] == WORLD) | (bodies[self.second] == WORLD)
        for pair in np.flatnonzero(~around).tolist():
            found.setdefault(self.links[pair], []).append(pair)
        return found

    def near(self, positions: Floats, margin_m: float) -> tuple[tuple[str, str], ...]:
        """Return what is nearer than a margin in a posture, shape (joints,), by its names."""
        look, pairs = self.look(), np.arange(len(self.links))
        look.place(positions)
        near = [pair for pair in pairs[look.gaps(pairs) < margin_m] if look.distance(pair) < margin_m]
        return tuple(dict.fromkeys(self.links[pair] for pair in near))


class Look:
    """A robot in one posture after the other, and its distances there."""

    def __init__(self, clearance: Clearance) -> None:
        self._clearance = clearance
        self._robot, mujoco = clearance.robot, clearance.mujoco
        self._model, self._data = clearance.model, mujoco.MjData(clearance.model)
        self._kinematics, self._distance = mujoco.mj_kinematics, mujoco.mj_geomDistance
        self._line = np.zeros(6)
        self._first, self._second = clearance.first.tolist(), clearance.second.tolist()

    def place(self, positions: Floats) -> None:
        """Place the robot in a posture, shape (joints,), in rad or m."""
        self._data.qpos[self._robot.addresses] = self._robot.coordinates(positions)
        self._kinematics(self._model, self._data)

    def gaps(self, pairs: Indices) -> Floats:
        """Return how near each of some pairs could be at least, by spheres around its shapes; as `pairs`."""
        clearance, centres = self._clearance, self._data.geom_xpos
        first, second, plane = clearance.first[pairs], clearance.second[pairs], clearance.plane[pairs]
        away = centres[second] - centres[first]
        gaps: Floats = np.sqrt(np.einsum("ij,ij->i", away, away))
        if plane.any():
            normals = self._data.geom_xmat[first[plane]].reshape(-1, 3, 3)[:, :, 2]
            gaps[plane] = np.einsum("ij,ij->i", away[plane], normals)
        gaps -= clearance.radii[pairs]
        return gaps

    def distance(self, pair: int, most_m: float = FAR_M) -> float:
        """Return the distance of a pair in m, or `most_m` where it is larger."""
        first, second = self._first[pair], self._second[pair]
        found: float = self._distance(self._model, self._data, first, second, most_m, self._line)
        return found

    def distances(self, pairs: Iterable[int], most_m: Iterable[float]) -> Iterator[float]:
        """Yield the distance of one pair after the other, as `distance`."""
        measure, model, data, line = self._distance, self._model, self._data, self._line
        first, second = self._first, self._second
        for pair, most in zip(pairs, most_m, strict=True):
            yield measure(model, data, first[pair], second[pair], most, line)

    @property
    def points(self) -> Floats:
        """Of the pair whose distance was asked for last, the places nearest to each other, shape (2, 3)."""
        return self._line.reshape(2, 3).copy()

    def touch(self, pairs: Iterable[int]) -> bool:
        """Whether any of some pairs touches."""
        return any(self.distance(pair, 1e-6) <= 0.0 for pair in pairs)

    def nearest(self, positions: Floats) -> Nearest | None:
        """Return the nearest pair of a posture, shape (joints,); None where there are no pairs."""
        self.place(positions)
        gaps = self.gaps(np.arange(len(self._first)))
        found, least = -1, FAR_M
        for pair in np.argsort(gaps).tolist():
            if gaps[pair] >= least:
                break
            distance = self.distance(pair, least)
            if distance < least:
                found, least, points = pair, distance, self.points
        return Nearest(self._clearance.links[found], least, points) if found >= 0 else None


def _name_of(model: Any, geom: int) -> str:
    """Return the name of a shape's link; of a shape around the robot, its own."""
    body = int(model.geom_bodyid[geom])
    name: str = model.geom(geom).name if body == WORLD else model.body(body).name
    return name


def _random_postures(joint_map: JointMap) -> Floats:
    limits = joint_map.limits
    far = np.where(np.array(joint_map.units) == "m", LONGEST_M, np.pi)
    lower = np.where(np.isfinite(limits.lower), limits.lower, np.minimum(-far, limits.upper))
    upper = np.where(np.isfinite(limits.upper), limits.upper, np.maximum(far, limits.lower))
    postures = np.random.default_rng(0).uniform(lower, upper, (POSTURES, lower.size))
    joint_map.follow(postures)
    return postures
