"""Actuators in a world: what their motors, gears and ends do there, and what faults do to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import ActuatorState, DriverConfigError, DriverError
from motiond.drivers.sim.faults import FAULTS
from motiond.drivers.sim.layout import STEP_S
from motiond.drivers.testing.rig import Clock
from tests.drivers.sim.joints import TICK_S
from tests.drivers.sim.physics.worlds import ARM, LIFT, MOTOR, PENDULUM, G, Mechanism

if TYPE_CHECKING:
    from motiond.drivers.base import Floats

BEAM = (
    '<body><joint name="beam" axis="0 1 0" {} /><geom name="bob" size="0.05" mass="2" pos="0.5 0 0"/></body>'
)
WEIGHT = 2 * G * 0.5  # N·m, of a beam that is level
FLOOR = '<geom name="floor" type="plane" size="5 5 0.1" pos="0 0 -0.3"/>'
PAIR = (
    BEAM.format("")
    + '<body pos="0 1 0"><joint name="other" axis="0 1 0"/><geom size="0.05" mass="1"/></body>'
)


def beam(clock: Clock, attributes: str = "", **options: Any) -> Mechanism:
    return Mechanism(clock, BEAM.format(attributes), ["beam"], **options)


def test_without_torque_a_beam_sinks_against_the_friction_of_its_gear(clock: Clock) -> None:
    sinking = beam(clock)
    positions = [sinking.read(TICK_S)[0] for _ in range(400)]
    assert (np.diff(positions[:100]) > 0).all()
    assert max(positions) < np.pi / 2 + 1e-3  # it does not swing through
    assert positions[-1] == pytest.approx(np.pi / 2, abs=1e-3)
    assert sinking.state.effort[0] == 0.0


def test_what_falls_comes_to_rest_on_the_floor(clock: Clock) -> None:
    sinking = Mechanism(clock, BEAM.format("") + FLOOR, ["beam"])
    sinking.read(3.0)
    assert sinking.state.position[0] == pytest.approx(np.arcsin((0.3 - 0.05) / 0.5), abs=2e-3)
    assert sinking.state.velocity[0] == pytest.approx(0.0, abs=1e-6)


def test_a_servo_that_is_switched_on_holds_what_was_falling(clock: Clock) -> None:
    caught = beam(clock, effort_limit=40.0)
    at = caught.read(0.3)[0]
    caught.driver.enable()
    caught.read(1.0)
    assert caught.state.position[0] == pytest.approx(at, abs=0.1)
    assert caught.state.effort[0] == pytest.approx(-WEIGHT * np.cos(caught.state.position[0]), rel=1e-3)


def test_a_servo_follows_with_the_chosen_frequency_and_damping(clock: Clock) -> None:
    frequency, ratio = 2 * np.pi * 4, 0.3
    level = Mechanism(
        clock, PENDULUM, ["swing"], holds=True, gravity={"acceleration": [0, 0, 0]},
        natural_frequency_hz=4, damping_ratio=ratio,
    )  # fmt: skip
    time_s = TICK_S * np.arange(1, 101)
    damped = frequency * (1 - ratio**2) ** 0.5
    expected = 1 - np.exp(-ratio * frequency * time_s) * (
        np.cos(damped * time_s) + ratio * frequency / damped * np.sin(damped * time_s)
    )
    np.testing.assert_allclose(level.play([0.5], 1.0)[:, 0], 0.5 * expected, atol=0.003)


def test_gains_are_for_the_largest_inertia_of_any_posture(clock: Clock) -> None:
    folded = Mechanism(clock, ARM, ["shoulder", "elbow"], initial={"elbow": np.pi})
    stretched = Mechanism(clock, ARM, ["shoulder", "elbow"])
    np.testing.assert_array_equal(folded.mujoco.inertia, stretched.mujoco.inertia)
    upper, fore = 2 * 0.4**2 / 3, 0.6**2 * 1.0
    assert 0.9 * (upper + fore) < stretched.mujoco.inertia[0] < 1.2 * (upper + fore)


@pytest.mark.parametrize("frequency_hz", [1, 30, 500])
def test_servos_of_any_frequency_are_stable_also_where_the_arm_is_folded(
    clock: Clock, frequency_hz: float
) -> None:
    folded = Mechanism(
        clock,
        ARM,
        ["shoulder", "elbow"],
        holds=True,
        natural_frequency_hz=frequency_hz,
        initial={"elbow": 3.0},
    )
    folded.play([0.1, 2.9], 1.0)
    folded.play([0.1, 2.9], 2.0)
    assert np.abs(folded.state.velocity).max() < (0.5 if frequency_hz == 1 else 1e-6)


def test_a_chosen_inertia_is_what_gains_are_made_of(clock: Clock) -> None:
    soft = beam(clock, holds=True, inertia=0.2, natural_frequency_hz=5)
    sag = soft.read(3.0)[0]
    assert sag == pytest.approx(WEIGHT * np.cos(sag) / (0.2 * (2 * np.pi * 5) ** 2), rel=1e-3)


@pytest.mark.parametrize(("attributes", "options"), [
    ("", {"effort_limit": 8.0}),
    ('actuatorfrcrange="-8 8"', {}),
    ('actuatorfrcrange="-8 8"', {"effort_limit": 20.0}),
])  # fmt: skip
def test_no_motor_pushes_more_than_its_limit_or_that_of_the_description(
    clock: Clock, attributes: str, options: dict[str, Any]
) -> None:
    weak = beam(clock, attributes, holds=True, viscous_friction=2.0, **options)
    efforts = []
    for _ in range(300):
        weak.play([0.0])
        efforts.append(weak.state.effort[0])
    assert min(efforts) == -8.0
    assert weak.state.position[0] == pytest.approx(np.arccos(8.0 / WEIGHT), abs=1e-2)


def test_a_drive_asks_for_no_more_than_its_velocity_limit_whatever_hangs_on_it(clock: Clock) -> None:
    slow = beam(clock, holds=True, velocity_limit=0.5)
    velocities = []
    for _ in range(300):
        slow.play([-1.0])
        velocities.append(slow.state.velocity[0])
    assert min(velocities) == pytest.approx(-0.5, abs=2e-3)
    assert slow.state.position[0] == pytest.approx(-1.0, abs=1e-3)


def test_at_its_velocity_limit_it_keeps_up_under_load(clock: Clock) -> None:
    slow = beam(clock, holds=True, velocity_limit=0.5)
    for number in range(1, 301):
        slow.play([-0.5 * number * TICK_S], velocity=[-0.5])
    assert slow.state.position[0] == pytest.approx(-1.5, abs=0.01)


def test_velocities_and_efforts_are_fed_forward(clock: Clock) -> None:
    follows = Mechanism(clock, LIFT, ["lift"], holds=True, gravity={"acceleration": [0, 0, 0]})
    follows.driver.set_period(TICK_S)
    follows.play(velocity=0.2, duration_s=1.0)
    assert follows.state.position[0] == pytest.approx(0.2, abs=0.002)
    assert follows.state.velocity[0] == pytest.approx(0.2, rel=1e-3)
    held = beam(clock, holds=True)
    held.play([0.0], 1.0, effort=[-WEIGHT])
    assert held.state.position[0] == pytest.approx(0.0, abs=1e-6)


WEIGHTLESS: dict[str, Any] = {"gravity": {"acceleration": [0, 0, 0]}}


@pytest.mark.parametrize("velocity_limit", [None, 5.0])
def test_between_two_commands_the_goal_goes_on_at_its_velocity(
    clock: Clock, velocity_limit: float | None
) -> None:
    moved = Mechanism(clock, LIFT, ["lift"], holds=True, velocity_limit=velocity_limit, **WEIGHTLESS)
    moved.driver.set_period(TICK_S)
    off, efforts = [], []
    for time_s in TICK_S * np.arange(100):
        moved.write(0.2 * time_s, 0.2)
        for part_s in TICK_S * np.arange(1, 6) / 5:
            off.append(moved.read(TICK_S / 5)[0] - 0.2 * (time_s + part_s))
            efforts.append(moved.state.effort[0])
    assert np.abs(off[250:]).max() < 1e-6
    assert np.abs(efforts[250:]).max() < 1e-3


def test_what_speeds_up_evenly_is_pushed_evenly(clock: Clock) -> None:
    moved = Mechanism(clock, LIFT, ["lift"], holds=True, **WEIGHTLESS)
    moved.driver.set_period(0.002)
    efforts = []
    for time_s in 0.002 * np.arange(500):
        moved.write(time_s**2 / 2, time_s)
        for _ in range(4):
            moved.read(STEP_S)
            efforts.append(moved.state.effort[0])
    np.testing.assert_allclose(efforts[1000:], (2 + MOTOR) * 1.0, rtol=0.01)


def test_without_another_command_the_goal_stands_still_after_a_period(clock: Clock) -> None:
    moved = Mechanism(clock, LIFT, ["lift"], holds=True, **WEIGHTLESS)
    moved.driver.set_period(TICK_S)
    for time_s in TICK_S * np.arange(100):
        moved.play(0.2 * time_s, velocity=0.2)
    lead = 2 / (2 * np.pi * 30)
    assert moved.read(1.0)[0] == pytest.approx(0.2 * (1.0 + lead), abs=1e-6)


@pytest.mark.parametrize("how", ["halt", "enable", "stop"])
def test_nothing_goes_on_once_it_is_held(clock: Clock, how: str) -> None:
    moved = Mechanism(clock, LIFT, ["lift"], holds=True, **WEIGHTLESS)
    moved.driver.set_period(TICK_S)
    for time_s in TICK_S * np.arange(100):
        moved.play(0.2 * time_s, velocity=0.2)
    moved.write(0.2, 0.2)
    at = moved.read()[0]
    if how == "stop":
        moved.plant.stop(np.array([True]))
    else:
        getattr(moved.driver, how)()
    assert moved.read(0.5)[0] == pytest.approx(at, abs=1e-6)


@pytest.mark.parametrize("how", ["enable", "set_faults"])
def test_a_first_velocity_is_not_taken_for_a_change(clock: Clock, how: str) -> None:
    moved = Mechanism(clock, LIFT, ["lift"], holds=True, **WEIGHTLESS)
    moved.driver.set_period(TICK_S)
    for time_s in TICK_S * np.arange(100):
        moved.play(0.2 * time_s, velocity=0.2)
    if how == "enable":
        moved.driver.enable()
    else:
        none = np.array([False])
        moved.plant.set_faults(stuck=none, limp=none, grip=np.array([np.inf]))
    efforts = []
    for time_s in TICK_S * np.arange(100, 110):
        moved.write(0.2 * time_s, 0.2)
        for _ in range(20):
            moved.read(STEP_S)
            efforts.append(moved.state.effort[0])
    assert np.abs(efforts).max() < 0.05


def test_goals_that_come_without_a_velocity_stand_still(clock: Clock) -> None:
    moved = Mechanism(clock, LIFT, ["lift"], holds=True, **WEIGHTLESS)
    moved.driver.set_period(0.5)
    moved.play(0.1, 0.5)
    moved.play(0.2, 0.5)
    assert moved.state.position[0] == pytest.approx(0.2, abs=1e-6)


def test_friction_and_load_act_beside_the_weight(clock: Clock) -> None:
    rubbing = beam(clock, coulomb_friction=1.01 * WEIGHT)
    rubbing.read(10.0)
    assert rubbing.state.position[0] == pytest.approx(0.0, abs=1e-3)  # it creeps, but does not fall
    viscous = Mechanism(clock, LIFT, ["lift"], viscous_friction=100.0)
    viscous.read(2.0)
    assert viscous.state.velocity[0] == pytest.approx(-2 * G / 100.0, rel=1e-3)
    carried = Mechanism(clock, LIFT, ["lift"], load=2 * G)
    carried.read(2.0)
    assert carried.state.position[0] == pytest.approx(0.0, abs=1e-9)


def test_friction_of_the_description_acts_in_place_of_a_gear(clock: Clock) -> None:
    lift = Mechanism(clock, LIFT.replace('name="lift"', 'name="lift" damping="50"'), ["lift"])
    lift.read(2.0)
    assert lift.state.velocity[0] == pytest.approx(-2 * G / 50.0, rel=1e-3)


# -- ends ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("holds", [True, False])
def test_neither_weight_nor_a_goal_takes_a_joint_beyond_its_stop(clock: Clock, *, holds: bool) -> None:
    stopped = beam(clock, holds=holds, effort_limit=40.0, upper_stop=0.4, lower_stop=-0.6)
    positions = stopped.play([2.0], 2.0)
    assert positions.max() < 0.4 + 1e-3
    assert positions[-1, 0] == pytest.approx(0.4, abs=2e-4)
    assert stopped.state.velocity[0] == pytest.approx(0.0, abs=1e-6)


def test_ends_of_the_description_count_where_no_option_is_narrower(clock: Clock) -> None:
    falling = beam(clock, 'range="-0.5 0.3"', lower_stop=-0.2, upper_stop=0.9)
    assert falling.read(2.0)[0] == pytest.approx(0.3, abs=1e-4)
    raised = beam(clock, 'range="-0.5 0.3"', lower_stop=-0.2, holds=True)
    assert raised.play([-1.0], 1.0)[-1, 0] == pytest.approx(-0.2, abs=2e-3)


@pytest.mark.parametrize("how", ["initial", "displaced"])
def test_a_joint_beyond_a_stop_goes_no_further_out_and_may_come_back(clock: Clock, how: str) -> None:
    out = beam(clock, upper_stop=0.3, effort_limit=60.0, initial=0.8 if how == "initial" else None)
    if how == "displaced":
        out.inject("displaced", by=0.8)
    assert out.read(2.0)[0] == pytest.approx(0.8, abs=1e-3)
    out.driver.enable()
    out.play([0.1], 1.0)
    assert out.state.position[0] == pytest.approx(0.1, abs=1e-3)
    out.play([1.0], 1.0)
    assert out.state.position[0] == pytest.approx(0.3, abs=1e-3)


def test_switching_torque_does_not_let_it_creep_through_a_stop(clock: Clock) -> None:
    stopped = beam(clock, holds=True, upper_stop=0.3, effort_limit=60.0)
    for _ in range(200):
        stopped.play([0.6], 0.02)
        stopped.driver.disable()
        stopped.driver.enable()
    stopped.play([0.6], 0.5)
    assert stopped.state.position[0] < 0.3 + 1e-3


# -- joints that follow others ------------------------------------------------------------------------------

FOLLOWS = '<equality><joint joint1="other" joint2="beam" polycoef="0.1 -0.5 0 0 0"/></equality>'


def test_what_follows_a_joint_goes_with_it_and_weighs_on_its_motor(clock: Clock) -> None:
    heavy = PAIR.replace('mass="1"', 'mass="4" pos="0.5 0 0"')
    pair = Mechanism(clock, heavy, ["beam"], holds=True, others=FOLLOWS, initial=0.2)
    data = pair.mujoco.data
    assert data.joint("other").qpos[0] == pytest.approx(0.1 - 0.5 * 0.2)
    pair.play([0.8], 1.0)
    other = data.joint("other").qpos[0]
    assert other == pytest.approx(0.1 - 0.5 * 0.8, abs=2e-3)
    expected = -WEIGHT * np.cos(pair.state.position[0]) + 0.5 * 4 * G * 0.5 * np.cos(other)
    assert pair.state.effort[0] == pytest.approx(expected, rel=1e-2)
    pair.driver.guide()
    before = pair.state.position[0]
    assert pair.play(duration_s=1.0)[-1, 0] == pytest.approx(before, abs=1e-3)


def test_joints_with_motors_of_their_own_follow_by_these_alone(clock: Clock) -> None:
    pair = Mechanism(clock, PAIR, ["beam", "other"], holds=True, others=FOLLOWS)
    pair.play([0.3, 0.7], 1.0)
    np.testing.assert_allclose(pair.state.position, [0.3, 0.7], atol=2e-3)


def test_what_follows_in_a_scene_is_left_to_it(clock: Clock) -> None:
    hinge = '<joint name="{}" axis="1 0 0" range="-0.3 0.3"/>'
    door = f'<body pos="0 {{}} 3">{hinge}<geom size="{{}}" pos="0 0.3 0"/></body>'
    rule = '<equality><joint joint1="right" joint2="left" polycoef="0 -1 0 0 0"/></equality>'
    doors = door.format(5, "left", 0.2) + door.format(7, "right", 0.1)
    room = Mechanism(clock, LIFT + doors, ["lift"], holds=True, others=rule)
    room.read(1.0)
    left, right = (room.mujoco.data.joint(name).qpos[0] for name in ("left", "right"))
    assert -0.32 < left < 0.0 < right < 0.32
    room.inject("displaced", by=0.1)
    room.read(0.0)
    assert room.mujoco.data.joint("left").qpos[0] == left


def test_what_is_held_in_the_description_stays_there(clock: Clock) -> None:
    held = '<equality><joint joint1="other" polycoef="0.4 0 0 0 0"/></equality>'
    pair = Mechanism(clock, PAIR.replace('mass="1"', 'mass="4" pos="0.5 0 0"'), ["beam"], others=held)
    pair.read(2.0)
    assert pair.mujoco.data.joint("other").qpos[0] == pytest.approx(0.4, abs=1e-3)


# -- faults and hands ---------------------------------------------------------------------------------------


def arm(clock: Clock, **options: Any) -> Mechanism:
    return Mechanism(clock, ARM, ["shoulder", "elbow"], holds=True, **options)


def test_a_stuck_joint_stands_exactly_still_and_its_motor_pushes(clock: Clock) -> None:
    stuck = arm(clock, effort_limit=60.0)
    stuck.play([0.2, 0.4], 1.0)
    at = stuck.state.position[1]
    stuck.inject("stuck", actuator="elbow", for_s=1.0)
    stuck.play([-0.4, 1.4], 0.9)
    assert stuck.state.position[1] == at
    assert stuck.state.velocity[1] == 0.0
    assert stuck.state.effort[1] == pytest.approx(60.0)
    assert stuck.state.position[0] == pytest.approx(-0.4, abs=2e-3)
    carried = 0.4 * np.cos(-0.4) + 0.2 * np.cos(-0.4 + at)
    shoulder = -G * (2 * 0.2 * np.cos(-0.4) + carried)
    assert stuck.state.effort[0] == pytest.approx(shoulder, rel=1e-2)
    stuck.play([-0.4, 1.4], 1.0)
    assert stuck.state.position[1] == pytest.approx(1.4, abs=2e-3)


def test_a_limp_joint_falls_while_the_others_hold(clock: Clock) -> None:
    limp = arm(clock)
    limp.play([0.0, 0.0], 0.5)
    limp.inject("torque_drop", actuator="elbow")
    with pytest.raises(DriverError, match="elbow: its torque is off"):
        limp.play([0.0, 0.0], 1.0)
    limp.read(0.3)
    assert limp.state.position[1] > 0.3
    assert limp.state.effort[1] == 0.0
    assert limp.state.position[0] == pytest.approx(0.0, abs=5e-3)


def test_a_slipping_joint_sinks_as_far_as_its_grip_is_too_weak(clock: Clock) -> None:
    slips = beam(clock, holds=True)
    slips.play([0.0], 0.5)
    slips.inject("slipping", effort=WEIGHT / 2)
    slips.play([0.0], 4.0)
    assert slips.state.position[0] == pytest.approx(np.pi / 3, abs=1e-2)


def test_a_joint_is_displaced_at_once_and_its_servo_brings_it_back(clock: Clock) -> None:
    pushed = arm(clock)
    pushed.play([0.0, 0.0], 0.5)
    pushed.inject("displaced", actuator="elbow", by=0.3)
    assert pushed.read()[1] == pytest.approx(0.3, abs=2e-3)
    pushed.play([0.0, 0.0], 1.0)
    assert pushed.state.position[1] == pytest.approx(0.0, abs=2e-3)


def test_setpoints_that_end_let_it_fall(clock: Clock) -> None:
    released = beam(clock, holds=True, command_lifetime_s=0.2)
    released.play([0.0], 0.5)
    assert released.read(0.15)[0] == pytest.approx(0.0, abs=1e-3)
    assert released.read(0.5)[0] > 0.2
    assert released.state.torque[0] == 0.0


def test_a_stuck_joint_gets_hot_by_its_effort(clock: Clock) -> None:
    stuck = arm(clock, effort_limit=60.0)
    stuck.inject("stuck", actuator="elbow")
    stuck.play([0.0, 1.0], 5.0)
    assert 30.0 < stuck.state.temperature_c[1] < 45.0
    assert stuck.state.temperature_c[0] < 27.0


def test_guided_it_stays_where_a_hand_leaves_it(clock: Clock) -> None:
    guided = arm(clock)
    guided.driver.guide()
    before = guided.read()
    assert np.abs(guided.play(duration_s=3.0) - before).max() < 1e-3
    guided.inject("hand", actuator="elbow", to=0.9, for_s=1.0)
    guided.play(duration_s=1.5)
    assert guided.state.position[1] == pytest.approx(0.9, abs=0.05)
    left = guided.state.position.copy()
    assert np.abs(guided.play(duration_s=2.0)[-1] - left).max() < 2e-2


def test_a_hand_carries_what_has_no_torque_and_then_it_falls(clock: Clock) -> None:
    loose = beam(clock, lower_stop=-1.0, upper_stop=1.0)
    loose.read(2.0)
    assert loose.state.position[0] == pytest.approx(1.0, abs=1e-3)
    loose.inject("hand", to=-0.5, for_s=1.0)
    raised = np.array([loose.read(TICK_S)[0] for _ in range(100)])
    assert raised[-1] == pytest.approx(-0.5, abs=1e-3)
    assert np.abs(np.diff(raised)).max() < 1.5 * 1.9 * TICK_S
    assert loose.read(1.0)[0] > 0.0


@pytest.mark.parametrize("fault", [
    {"fault": "delay", "delay_s": 0.01},
    {"fault": "packet_loss", "probability": 0.3},
    {"fault": "m_stop", "for_s": 0.2},
    {"fault": "power_cycle"},
    {"fault": "watchdog_trip"},
    {"fault": "reset"},
    {"fault": "overheating"},
    {"fault": "lost_feedback", "for_s": 0.3},
    {"fault": "stale_feedback", "actuator": "elbow", "for_s": 0.3},
    {"fault": "lifetime_expiry", "for_s": 0.7},
    {"fault": "bus_lost", "for_s": 0.3},
    {"fault": "torque_drop"},
    {"fault": "overload"},
], ids=lambda fault: fault["fault"])  # fmt: skip
def test_after_a_fault_it_plays_on_as_before(clock: Clock, fault: dict[str, Any]) -> None:
    faulty = arm(clock, command_lifetime_s=0.5)
    faulty.play([0.0, 0.0], 0.3)
    faulty.inject(**fault)
    for _ in range(80):
        try:
            faulty.play([0.0, 0.0])
        except DriverError:
            clock.now_s += TICK_S
    faulty.inject("clear")
    faulty.read(TICK_S)
    if fault["fault"] == "overload":
        faulty.driver.clear(faulty.driver.actuators)
    faulty.driver.enable()
    turns = 2 * np.pi * (fault["fault"] == "power_cycle")
    faulty.play([turns + 0.2, turns - 0.2], 1.0)
    np.testing.assert_allclose(faulty.state.position, [turns + 0.2, turns - 0.2], atol=2e-3)


def test_every_fault_is_tried_in_a_world() -> None:
    text = Path(__file__).read_text()
    tried = {name for name in FAULTS if f'"{name}"' in text}
    assert " ".join(sorted(FAULTS.keys() - tried)) == "blocks crash"  # they are of the process


def test_commands_and_feedback_may_take_their_time(clock: Clock) -> None:
    late = Mechanism(clock, LIFT, ["lift"], holds=True, latency_s=0.05, gravity={"acceleration": [0, 0, 0]})
    positions = late.play([0.1], 0.6)[:, 0]
    assert np.abs(positions[:9]).max() < 1e-9
    assert positions[-1] == pytest.approx(0.1, abs=1e-3)


# -- determinism, and worlds that fail ----------------------------------------------------------------------


def run(clock: Clock, tick_s: float) -> bytes:
    falling = Mechanism(clock, ARM + FLOOR, ["shoulder", "elbow"], noise=1e-4)
    states: list[Floats] = []
    for _ in range(round(1.0 / tick_s)):
        falling.read(tick_s)
        if round((clock.now_s - 1000.0) * 1e4) % 500 == 0:
            states.append(falling.plant.rows[1:4].copy())
    return np.array(states).tobytes()


def test_the_motion_depends_on_neither_tick_rate_nor_run() -> None:
    runs = [run(Clock(), tick_s) for tick_s in (0.05, 0.01, 0.05, 0.0005)]
    assert len(set(runs)) == 1
    assert len(runs[0]) == 20 * 3 * 2 * 8


@pytest.mark.parametrize("loose", [False, True])
def test_a_world_that_fails_is_an_error_and_begins_anew_when_opened_again(
    clock: Clock, *, loose: bool
) -> None:
    ball = '<body name="ball" pos="0 0 9"><freejoint/><geom size="0.1"/></body>'
    load = 0.0 if loose else 1e200
    lift = Mechanism(clock, LIFT + ball, ["lift"], holds=True, initial=0.5, load=load)
    if loose:  # what lies about fails; the robot itself is as it was
        lift.mujoco.data.joint(1).qvel[0] = 1e300
    with pytest.raises(DriverError) as caught:
        lift.read(0.5)
    assert str(caught.value) == (
        "driver sim: the simulated world has failed; something in it moves too fast to be computed; "
        "look for bodies that begin inside each other, or lower `natural_frequency_hz`"
    )
    lift.driver.close()
    lift.driver.open()
    state = ActuatorState(1)
    lift.driver.read(state)
    assert state.position[0] == 0.5
    assert state.effort[0] == 0.0


def test_touches_for_which_there_is_no_memory_are_an_error(clock: Clock) -> None:
    ball = '<body pos="{} 0 1"><freejoint/><geom size="0.1"/></body>'
    balls = "".join(ball.format(3 + number) for number in range(40))
    small = '<size memory="100K"/>'
    crowd = Mechanism(clock, LIFT + FLOOR + balls, ["lift"], others=small, load=2 * G)
    with pytest.raises(DriverError, match=r"the simulated world has failed; .*memory"):
        crowd.read(2.0)
    with pytest.raises(DriverConfigError, match=r"MuJoCo cannot have the world; .*memory"):
        Mechanism(clock, LIFT + FLOOR + balls.replace(' 1"', ' -0.25"'), ["lift"], others=small)


def test_what_nobody_looks_at_for_long_has_come_to_rest(clock: Clock) -> None:
    sinking = beam(clock)
    sinking.read(3600.0)
    assert sinking.state.position[0] == pytest.approx(np.pi / 2, abs=1e-3)
    assert sinking.state.stamp_s[0] == clock.now_s
