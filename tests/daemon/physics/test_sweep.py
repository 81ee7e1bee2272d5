"""What comes near along a path is found, between its rows as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.physics.sweeping import TOLERANCE_M, WORST, Canceled, JointPath, sweep
from motiond.formats import load_robot
from motiond.formats.model import pchip_slopes, spline_slopes
from tests.daemon.physics.robots import ARM, clearance_of, crane, humanoid, postures

if TYPE_CHECKING:
    import pathlib

    from motiond.daemon.physics.clearance import Clearance
    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

MARGIN_M = 0.005
FINER = 10


@pytest.fixture(params=["arm", "crane", "humanoid"])
def model(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> RobotModel:
    if request.param == "arm":
        return load_robot(ARM)
    return {"crane": crane, "humanoid": humanoid}[request.param](tmp_path)


def curve(rows: Floats, kind: str) -> JointPath:
    if kind == "linear":
        return JointPath(rows)
    slopes = (pchip_slopes if kind == "cubic" else spline_slopes)(np.arange(float(len(rows))), rows)
    return JointPath(rows, slopes)


def least_of_each(clearance: Clearance, path: JointPath, every: float) -> Floats:
    """Return how near each pair comes at places along a path, shape (pairs,)."""
    look, least = clearance.look(), np.full(len(clearance.first), np.inf)
    for place in np.arange(0.0, path.last + every, every):
        look.place(path.at(min(place, path.last)))
        near = np.flatnonzero(look.gaps(np.arange(least.size)) < np.minimum(least, 0.1))
        least[near] = [min(least[pair], look.distance(pair)) for pair in near.tolist()]
    return least


@pytest.mark.parametrize("kind", ["linear", "cubic", "smooth"])
@pytest.mark.parametrize("seed", range(3))
def test_no_place_is_nearer_than_what_was_found(model: RobotModel, kind: str, seed: int) -> None:
    """Ten places between two rows that are far apart, of paths that are near, or within, the margin."""
    clearance, joint_map = clearance_of(model)
    start = joint_map.initial
    rows = start + 0.35 * (postures(joint_map, 8, seed) - start)
    path = curve(rows, kind)
    found = sweep(clearance, path, MARGIN_M)
    least = least_of_each(clearance, path, 1 / FINER)
    assert found.nearest is not None
    within = {encounter.nearest.links: encounter.nearest.distance_m for encounter in found.violations}
    nearest_m = found.nearest.nearest.distance_m
    worst = [*within][:WORST]
    for links, distance in zip(clearance.links, least.tolist(), strict=True):
        if links in within and links not in worst:
            assert distance >= within[worst[-1]] - TOLERANCE_M, "of those that come nearest"
        elif links in within:
            assert distance >= within[links] - 0.001 - 0.1 * abs(within[links]) - TOLERANCE_M
        else:
            assert distance >= MARGIN_M - TOLERANCE_M
            assert within or distance >= min(0.9 * nearest_m, nearest_m) - TOLERANCE_M


def test_what_was_found_is_there(model: RobotModel) -> None:
    clearance, joint_map = clearance_of(model)
    path = curve(joint_map.initial + 0.5 * (postures(joint_map, 12) - joint_map.initial), "cubic")
    found = sweep(clearance, path, MARGIN_M)
    look = clearance.look()
    assert found.nearest is not None
    for encounter in (found.nearest, *found.violations):
        look.place(path.at(encounter.place))
        pairs = [pair for pair, links in enumerate(clearance.links) if links == encounter.nearest.links]
        distance = min(look.distance(pair) for pair in pairs)
        assert distance == pytest.approx(encounter.nearest.distance_m, abs=1e-6)
        apart = float(np.linalg.norm(np.diff(encounter.nearest.points, axis=0)))
        assert apart == pytest.approx(abs(encounter.nearest.distance_m), abs=1e-4)


def test_two_rows_on_both_sides_of_an_obstacle_do_not_jump_over_it(model: RobotModel) -> None:
    """Both rows are clear; half way between them something touches."""
    clearance, joint_map = clearance_of(model)
    ends, jumps = iter(postures(joint_map, 4000, seed=5)), 0
    for rows in map(np.array, zip(ends, ends, strict=True)):
        near = [clearance.nearest(posture) for posture in (rows[0], rows[1], rows.mean(axis=0))]
        first, last, middle = (one.distance_m if one else np.inf for one in near)
        if min(first, last) > MARGIN_M and middle < 0.0:
            found = sweep(clearance, JointPath(rows), MARGIN_M)
            assert found.violations
            assert found.violations[0].nearest.distance_m <= 0.9 * middle + 0.0015
            jumps += 1
            if jumps == 10:
                break
    assert jumps > 0


def test_a_path_of_one_row_is_that_posture(model: RobotModel) -> None:
    clearance, joint_map = clearance_of(model)
    for posture in postures(joint_map, 5, seed=4):
        found, nearest = sweep(clearance, JointPath(posture[None]), MARGIN_M), clearance.nearest(posture)
        assert found.nearest is not None
        assert nearest is not None
        assert found.nearest.nearest.distance_m == pytest.approx(nearest.distance_m, abs=1e-6)


def test_only_chosen_pairs_count(tmp_path: pathlib.Path) -> None:
    clearance, joint_map = clearance_of(crane(tmp_path))
    path = curve(postures(joint_map, 20), "cubic")
    pairs = np.array([clearance.links.index(("jib", "hook"))])
    found = sweep(clearance, path, MARGIN_M, pairs=pairs)
    assert found.nearest is not None
    assert found.nearest.nearest.links == ("jib", "hook")


def test_what_others_may_take_away_is_reserved(tmp_path: pathlib.Path) -> None:
    clearance, joint_map = clearance_of(crane(tmp_path))
    path = JointPath(np.zeros((2, len(joint_map.joints))))
    clear = sweep(clearance, path, MARGIN_M)
    assert clear.nearest is not None
    assert not clear.violations
    reserve = np.full(len(clearance.first), clear.nearest.nearest.distance_m - MARGIN_M + 0.001)
    assert [one.nearest.links for one in sweep(clearance, path, MARGIN_M, reserve_m=reserve).violations] == [
        clear.nearest.nearest.links
    ]


def test_a_pause_costs_no_more_than_its_first_row(tmp_path: pathlib.Path) -> None:
    clearance, joint_map = clearance_of(humanoid(tmp_path))
    asked = 0

    def stopped() -> bool:
        nonlocal asked
        asked += 1
        return False

    rows = np.repeat(joint_map.initial[None], 100_000, axis=0)
    assert sweep(clearance, JointPath(rows), MARGIN_M, stopped=stopped).nearest is not None
    assert asked < 100


def test_it_ends_when_it_is_to(tmp_path: pathlib.Path) -> None:
    clearance, joint_map = clearance_of(crane(tmp_path))
    with pytest.raises(Canceled):
        sweep(clearance, curve(postures(joint_map, 50), "cubic"), MARGIN_M, stopped=lambda: True)
