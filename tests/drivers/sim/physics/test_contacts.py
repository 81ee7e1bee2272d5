"""What a driver in a world reports of what touches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import CONTACT, ActuatorState
from motiond.drivers.registry import make_driver
from tests.drivers.sim.joints import TICK_S
from tests.drivers.sim.physics.worlds import G, Mechanism

if TYPE_CHECKING:
    from motiond.drivers.base import Driver, Floats
    from motiond.drivers.testing.rig import Clock

FLOOR = '<geom name="floor" type="plane" size="5 5 0.1"/>'
PUCK = """<body name="puck" pos="0.1 0.2 0.1"><joint name="lift" type="slide" axis="0 0 1"/>
  <geom type="box" size="0.1 0.1 0.1" mass="2"/></body>"""
BALL = '<body name="ball" pos="2 0 {}"><freejoint/><geom size="0.1" mass="{}"/></body>'


def touching(driver: Driver, slots: int = 16) -> dict[tuple[str, str], Floats]:
    """Return places and forces by the names of two bodies, in the order in which they are reported."""
    state = ActuatorState(1, np.full((slots, CONTACT), 7.0))
    driver.read(state)
    rows = state.contacts[~np.isnan(state.contacts[:, 0])]
    assert np.isnan(state.contacts[len(rows) :]).all()
    assert (rows[:, 0] < rows[:, 1]).all()
    return {(driver.bodies[int(row[0])], driver.bodies[int(row[1])]): row[2:].copy() for row in rows}


def test_a_body_that_lies_on_the_floor_is_borne_by_it(clock: Clock) -> None:
    lying = Mechanism(clock, FLOOR + PUCK, ["lift"])
    lying.read(2.0)
    touching(lying.driver)
    clock.now_s += TICK_S
    ((pair, values),) = touching(lying.driver).items()
    assert pair == ("floor", "puck")
    np.testing.assert_allclose(values[:3], [0.1, 0.2, 0.0], atol=1e-3)
    np.testing.assert_allclose(values[3:], [0, 0, 2 * G], rtol=1e-3, atol=1e-6)


def test_a_touch_between_two_reads_is_reported_at_its_strongest_and_once(clock: Clock) -> None:
    bouncing = Mechanism(
        clock, FLOOR.replace("/>", ' solref="-50000 0"/>') + BALL.format(0.3, 1) + PUCK, ["lift"]
    )
    touching(bouncing.driver)
    clock.now_s += 0.4  # it falls for 0.2 s
    ((_, _), (pair, values)) = sorted(touching(bouncing.driver).items(), reverse=True)
    assert pair == ("floor", "ball")
    assert values[5] > 20 * G
    assert ("floor", "ball") in touching(bouncing.driver)  # no time has passed
    clock.now_s += TICK_S
    assert ("floor", "ball") not in touching(bouncing.driver)


def test_of_more_contacts_than_slots_the_strongest_are_reported(clock: Clock) -> None:
    balls = "".join(
        BALL.format(0.1, mass).replace("ball", f"ball{mass}").replace('"2 0', f'"2 {mass}')
        for mass in (3, 1, 2)
    )
    lying = Mechanism(clock, FLOOR + PUCK.replace("0.1 0.2 0.1", "0 0 5") + balls, ["lift"], holds=True)
    touching(lying.driver)
    lying.read(1.0)
    touching(lying.driver)
    lying.read(TICK_S)
    assert [pair[1] for pair in touching(lying.driver, slots=2)] == ["ball3", "ball2"]


def test_bodies_without_a_name_are_told_apart_by_their_numbers(clock: Clock) -> None:
    balls = "".join(
        BALL.replace(' name="ball"', "").format(0.1, 1).replace('"2 0', f'"2 {y}') for y in (1, 2)
    )
    lying = Mechanism(clock, FLOOR + PUCK.replace("0.1 0.2 0.1", "0 0 5") + balls, ["lift"], holds=True)
    touching(lying.driver)
    lying.read(1.0)
    assert sorted(touching(lying.driver)) == [("floor", "body 2"), ("floor", "body 3")]


def test_only_what_moves_in_a_world_reports_contacts(clock: Clock) -> None:
    driver = make_driver("sim", {}, ["lift"], clock)
    assert driver.contact_slots == 0
    options: dict[str, Any] = {
        "physics": {"mjcf": "<mujoco/>", "joints": [{"actuator": "lift", "joint": "x"}]}
    }
    assert make_driver("sim", options, ["lift"], clock).contact_slots == 16


@pytest.mark.parametrize("watched", [False, True])
def test_watching_changes_no_motion(clock: Clock, *, watched: bool) -> None:
    def fall(slots: int) -> bytes:
        falling = Mechanism(
            clock, FLOOR + BALL.format(0.2, 1) + PUCK.replace("0.1 0.2 0.1", "2 0.05 0.6"), ["lift"]
        )
        for _ in range(50):
            clock.now_s += TICK_S
            falling.driver.read(ActuatorState(1, np.empty((slots, CONTACT))))
        state: bytes = falling.mujoco.data.qpos.tobytes()
        return state

    assert fall(16 * watched) == fall(0)


def test_what_cannot_but_overlap_does_not_touch_and_is_named(clock: Clock) -> None:
    post = '<body name="post" pos="0 0 1"><geom size="0.1"/></body>'
    arm = '<geom size="0.1"/><geom size="0.1" pos="0.5 0 0"/>'
    hub = f'<body name="hub" pos="0 0 1"><joint name="turn"/>{arm}</body>'
    turning = Mechanism(clock, post + hub + BALL.format(0.1, 1) + FLOOR, ["turn"])
    assert turning.driver.rehearse() == (
        "post and hub overlap in nearly every posture; they do not touch in the simulation",
    )
    touching(turning.driver)
    clock.now_s += 1.0
    assert ("post", "hub") not in touching(turning.driver)
    assert ("floor", "ball") in touching(turning.driver)  # what lies about is another matter


ROOM = """<geom name="pedestal" type="box" size="0.1 0.1 0.1"/>
  <geom type="box" size="1 1 0.05" pos="1 0 {}"/>"""
BOOM = """<body name="boom"><joint name="lift" axis="0 1 0" range="0 1.5"/><geom size="0.08" mass="0.1"/>
  <geom type="capsule" fromto="0.2 0 0 0.8 0 0" size="0.05" mass="1"/></body>"""
"""Its hub is in the pedestal; it sinks onto the table beside that."""


@pytest.mark.parametrize("of_scene", [ROOM, f'<body name="cell">{ROOM}</body>'], ids=["world", "body"])
def test_what_overlaps_one_thing_around_it_meets_the_others(clock: Clock, of_scene: str) -> None:
    sinking = Mechanism(clock, of_scene.format(-0.45) + BOOM + BALL.format(0.6, 1), ["lift"])
    assert sinking.driver.rehearse() == (
        "pedestal and boom overlap in nearly every posture; they do not touch in the simulation",
    )
    touching(sinking.driver)
    clock.now_s += 3.0
    names = {frozenset(pair) for pair in touching(sinking.driver)}
    table = "shape 1" if of_scene is ROOM else "cell"
    assert names == {frozenset({table, "boom"}), frozenset({table, "ball"})}
    assert 0.4 < sinking.read()[0] < 0.5


def test_what_lies_about_rests_on_a_pedestal_that_the_robot_overlaps(clock: Clock) -> None:
    ball = BALL.format(0.2, 1).replace('"2 0', '"-0.05 0')
    standing = Mechanism(clock, ROOM.format(-5) + BOOM + ball, ["lift"], holds=True)
    standing.read(1.0)
    touching(standing.driver)
    standing.read(TICK_S)
    assert touching(standing.driver).keys() == {("pedestal", "ball")}


@pytest.mark.parametrize(("height", "named"), [(0.08, True), (0.11, False)])
def test_what_begins_in_something_else_is_named(clock: Clock, height: float, *, named: bool) -> None:
    arm = f'<body name="arm" pos="0 0 {height}"><joint name="turn" axis="1 0 0"/><geom size="0.1"/>'
    hand = '<body name="hand" pos="0 0.5 0"><joint name="bend"/><geom size="0.1"/></body></body>'
    lying = Mechanism(clock, arm + hand + FLOOR, ["turn", "bend"])
    begins = "the world begins with floor and hand (20 mm) in each other; that pushes them apart; "
    hint = "choose another posture by `initial`, or another place for what stands there"
    for warnings in (lying.driver.warnings, lying.driver.rehearse()):
        assert [line for line in warnings if "begins" in line] == [begins + hint] * named


@pytest.mark.parametrize(("around", "gravity", "falls"), [
    ("", -9.8, True),
    (FLOOR, -9.8, False),
    ("", 0.0, False),
    (FLOOR.replace("/>", ' contype="0" conaffinity="0"/>'), -9.8, True),
], ids=["nothing", "floor", "weightless", "picture of a floor"])  # fmt: skip
def test_what_falls_for_ever_is_named(clock: Clock, around: str, gravity: float, *, falls: bool) -> None:
    base = f'<body name="base" pos="0 0 1"><freejoint/><geom size="0.1"/>{PUCK}</body>'
    cup = BALL.format(1, 0.1).replace("ball", "cup")
    pull = {"acceleration": [0.0, 0.0, gravity]}
    robot = Mechanism(clock, around + base + cup, ["lift"], gravity=pull)
    said = (
        "what nothing holds falls for ever: base, cup; nothing that stands still is there to land on; "
        "set `floor: true`, or name a `scene`"
    )
    for warnings in (robot.driver.warnings, robot.driver.rehearse()):
        assert [line for line in warnings if "falls" in line] == [said] * falls
