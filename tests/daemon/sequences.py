"""Random robots, motions and commands: a seed gives one sequence, the same on every machine.

`tests.daemon.engine` plays the `Sequence` of a seed. Motions use up the limits of their
robot to the last digit now and then, since that is where an engine goes wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from motiond.daemon.config.robot import (
    ApproachSettings,
    DriverSettings,
    JointSettings,
    RobotSettings,
    ToleranceSettings,
)
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.planning.planner import plan
from motiond.daemon.planning.violations import PlanError
from motiond.formats import Motion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from motiond.daemon.joints.joint_map import JointMap
    from motiond.daemon.planning.planner import Plan

    Floats: TypeAlias = NDArray[np.float64]
    Chance: TypeAlias = np.random.Generator

MAX_RATE_HZ = 1000.0
BEYOND = 0.1  # of all robots
LONG_WAY = 600  # ticks, in which most of them have come back
RATES_HZ = (50.0, 100.0, 125.0, 200.0, 250.0, 500.0)
VERBS = {
    "play": 5,
    "goto": 1,
    "pause": 4,
    "resume": 4,
    "speed": 4,
    "seek": 4,
    "stop": 3,
    "estop": 1,
    "reset": 2,
    "enable": 2,
    "disable": 1,
    "late": 4,
    "too_late": 1,
    "driver_fails": 0.4,
    "bus_is_lost": 0.3,
    "shutdown": 0.3,
    "daemon_dies": 0.3,
}
"""What may be asked for or happen, and how often beside the others."""


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens."""

    after: int
    verb: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sequence:
    """A robot, what it can play, and what happens to it."""

    seed: int
    settings: RobotSettings
    joint_map: JointMap
    plans: dict[str, Plan]
    start: list[float]
    acts: tuple[Act, ...]


def sequence(seed: int) -> Sequence:
    """Return the sequence of a seed."""
    chance = np.random.default_rng(seed)
    settings = _robot(chance)
    joint_map = build_joint_map("arm", None, settings.joints)
    plans = dict(filter(None, (_planned(name, settings, joint_map, chance) for name in ("wave", "nod"))))
    start = _near(plans, joint_map, chance)
    acts = tuple(_acts(plans, chance))
    return _beyond(Sequence(seed, settings, joint_map, plans, start, acts), np.random.default_rng((seed, 1)))


def _beyond(sequence: Sequence, chance: Chance) -> Sequence:
    """Put a joint of some robots beyond a limit at first; then some `goto` are asked to come from there."""
    if chance.random() > BEYOND:
        return sequence
    limits, start = sequence.joint_map.limits, list(sequence.start)
    joint = int(chance.integers(len(start)))
    away = float(chance.choice([1e-9, 0.02, 0.06, 0.5, 3.0])) * (limits.upper - limits.lower)[joint]
    start[joint] = float(limits.upper[joint] + away if chance.random() < 0.5 else limits.lower[joint] - away)
    acts = [
        replace(act, values={**act.values, "from_beyond": bool(chance.random() < 0.7)})
        if act.verb == "goto"
        else act
        for act in sequence.acts
    ]
    opening = Act(5, "goto", {"fraction": float(chance.random()), "from_beyond": bool(chance.random() < 0.8)})
    undisturbed = [replace(act, after=act.after + LONG_WAY) for act in acts[1:2] if chance.random() < 0.5]
    quick = ApproachSettings(velocity=10.0, acceleration=1000.0, jerk=50_000.0)
    return replace(
        sequence,
        settings=sequence.settings.model_copy(update={"approach": quick}),
        start=start,
        acts=(Act(0, "enable"), opening, *(undisturbed or acts[1:2]), *acts[2:]),
    )


def _robot(chance: Chance) -> RobotSettings:
    bounded = chance.random() < 0.7
    joints = {
        f"joint{number}": {"limits": _limits(chance, bounded)} for number in range(chance.integers(1, 7))
    }
    dynamics = bool(chance.random() < 0.2)
    options: dict[str, Any] = {
        "calculate_dynamics": dynamics,
        "command_lifetime_s": float(chance.choice([0.2, 0.5])) if chance.random() < 0.5 else None,
    }
    # Not validated: each time, that looks through all installed packages for drivers.
    return RobotSettings.model_construct(
        joints={name: JointSettings.model_validate(joint) for name, joint in joints.items()},
        driver=DriverSettings.model_construct(type="sim", **options),
        interpolation=str(chance.choice(["cubic", "smooth", "linear", "hold"])),
        on_violation=str(chance.choice(["reject", "slow"])),
        stop_duration_s=float(chance.choice([0.02, 0.05, 0.1, 0.3])),
        start_tolerance=float(chance.choice([0.0, 0.002, 0.05])),
        max_skip_s=float(chance.choice([0.005, 0.02, 0.05])),
        max_lateness_s=float(chance.choice([0.03, 0.1])),
        approach=ApproachSettings(
            velocity=float(chance.uniform(0.5, 5.0)),
            acceleration=float(chance.uniform(2.0, 40.0)),
            jerk=float(chance.uniform(50.0, 2000.0)),
        ),
        tolerances=ToleranceSettings(path=0.02, goal=0.01, goal_time_s=0.1)
        if dynamics
        else ToleranceSettings(),
    )


def _limits(chance: Chance, bounded: bool) -> dict[str, float]:  # noqa: FBT001 - read by one caller above
    velocity = float(chance.uniform(0.5, 6.0))
    limits = {
        "lower": float(chance.uniform(-3.0, -0.2)),
        "upper": float(chance.uniform(0.2, 3.0)),
        "velocity": velocity,
    }
    return limits | ({"acceleration": velocity * float(chance.uniform(2.0, 40.0))} if bounded else {})


# -- motions -------------------------------------------------------------------------------------------


def _planned(
    name: str, settings: RobotSettings, joint_map: JointMap, chance: Chance
) -> tuple[str, Plan] | None:
    """Plan a random motion, made smaller where it does not fit."""
    driven = chance.random(len(joint_map.joints)) < 0.8
    if not driven.any():
        driven[chance.integers(driven.size)] = True
    rate_hz = float(chance.choice(RATES_HZ))
    shape = _shape(chance, round(chance.integers(1, 160) ** chance.uniform(0.5, 1.0)), int(driven.sum()))
    scale, middle = _fit(shape, rate_hz, driven, joint_map)
    scale *= float(chance.choice([1.0, 1.0 - 1e-9, 0.8, 0.3]))
    names = tuple(np.array(joint_map.joints)[driven])
    for _ in range(6):
        rows = middle + scale * shape
        motion = Motion(name, names, rate_hz, np.arange(len(rows)) / rate_hz, rows)
        try:
            return name, plan(motion, joint_map, settings, MAX_RATE_HZ)
        except PlanError:
            scale = 0.7 * scale
    return None


def _shape(chance: Chance, count: int, joints: int) -> Floats:
    """Return rows around 0, shape (count, joints): smooth, jagged, straight, with rests, or to and fro."""
    at = np.linspace(0.0, 1.0, count)[:, None]
    kind = chance.choice(["smooth", "jagged", "straight", "rests", "cycle", "steps"])
    if kind == "smooth":
        swings = chance.uniform(-3.0, 3.0, (3, joints))
        rows = sum(swing * np.sin(np.pi * order * at) ** 2 for order, swing in enumerate(swings, 1))
    elif kind == "straight":
        rows = at * chance.uniform(-1.0, 1.0, joints)
    elif kind == "cycle":
        rows = np.sin(2 * np.pi * (at + chance.random(joints)))
    elif kind == "steps":
        rows = np.round(3 * np.sin(2 * np.pi * at * chance.uniform(0.5, 3.0, joints)))
    else:
        rows = np.cumsum(np.cumsum(chance.normal(size=(count, joints)), axis=0), axis=0)
        rows = rows if kind == "jagged" else np.where((at * 5).astype(int) % 2, rows, rows[count // 2])
    return np.asarray(rows - rows.mean(axis=0), dtype=float) * np.ones((1, joints))


def _fit(
    shape: Floats, rate_hz: float, driven: NDArray[np.bool_], joint_map: JointMap
) -> tuple[Floats, Floats]:
    """Return by how much to stretch each joint's rows so that they just keep its limits, and their middle."""
    limits = joint_map.limits
    middle = (limits.lower + limits.upper)[driven] / 2
    rested = np.concatenate((shape[:1], shape, shape[-1:]))
    needs = np.stack(
        [
            np.abs(shape).max(axis=0) / ((limits.upper - limits.lower)[driven] / 2),
            np.abs(np.diff(rested, axis=0)).max(axis=0) * rate_hz / limits.velocity[driven],
            np.abs(np.diff(rested, 2, axis=0)).max(axis=0) * rate_hz**2 / limits.acceleration[driven],
            np.full(int(driven.sum()), 1e-6),
        ]
    )
    return 1.0 / needs.max(axis=0), middle


def _near(plans: dict[str, Plan], joint_map: JointMap, chance: Chance) -> list[float]:
    """Return a start near the first row of a motion, mostly, so that the way to it is short."""
    limits = joint_map.limits
    start = chance.uniform(limits.lower, limits.upper)
    if plans:
        first = next(iter(plans.values()))
        away = float(chance.choice([0.0, 1e-4, 0.002, 0.02, 0.05, 1.0]))
        start = np.where(first.driven, first.positions[0] + away * (start - first.positions[0]), start)
    return [float(one) for one in np.clip(start, limits.lower, limits.upper)]


# -- commands ------------------------------------------------------------------------------------------


def _acts(plans: dict[str, Plan], chance: Chance) -> list[Act]:
    verbs, weights = list(VERBS), np.array(list(VERBS.values()), dtype=float)
    chosen = chance.choice(verbs, size=chance.integers(2, 16), p=weights / weights.sum())
    opening = ["enable", "play"] if chance.random() < 0.9 else []
    return [_act(str(verb), plans, chance) for verb in (*opening, *chosen)]


def _act(verb: str, plans: dict[str, Plan], chance: Chance) -> Act:
    after = int(
        chance.choice([0, 1, 2, chance.integers(1, 20), chance.integers(1, 20), chance.integers(1, 80)])
    )
    values: dict[str, Any] = {}
    if verb == "play":
        values = _play(plans, chance)
    elif verb == "goto":
        values = {"fraction": float(chance.random())}
    elif verb == "speed":
        values = {"share": float(chance.random())}
    elif verb == "seek":
        values = {
            "share": float(chance.choice([0.0, 1.0, chance.random()])),
            "goes_on": bool(chance.random() < 0.6),
        }
    elif verb == "late":
        values = {"periods": float(chance.choice([0.5, 1.5, 3.5, chance.integers(1, 12) + 0.5]))}
    elif verb == "too_late":
        values = {"late_s": float(chance.choice([0.11, 0.15, 0.4]))}
    elif verb in {"driver_fails", "bus_is_lost"}:
        values = {"during": str(chance.choice(["write", "read", "enable", "disable"]))}
    return Act(after, verb, values)


def _play(plans: dict[str, Plan], chance: Chance) -> dict[str, Any]:
    """Return a play request, with its speed and range as shares of what there is."""
    motion = str(chance.choice(list(plans) or ["none"]))
    asked: dict[str, Any] = {"motion": motion, "seam": str(chance.choice(["reject", "approach"]))}
    asked["speed_share"] = float(chance.choice([-1.0, 0.0, 1.0, chance.random()], p=[0.5, 0.1, 0.15, 0.25]))
    if chance.random() < 0.5:
        asked["loop"] = "forever" if chance.random() < 0.3 else int(chance.integers(1, 5))
        asked["ping_pong"] = bool(chance.random() < 0.4)
    if chance.random() < 0.3:
        asked["ends"] = tuple(float(one) for one in chance.random(2))
    if chance.random() < 0.1:
        asked["in_s"] = float(chance.uniform(-0.1, 0.5))
    return asked
