"""Random robots, motions and what is asked of their daemon: a seed gives one life, the same on every machine.

`tests.daemon.engine` lives a `Life`. Motions use up the limits of their robot to the last digit now and then,
since that is where an engine goes wrong.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from motiond.daemon.config.robot import (
    ApproachSettings,
    CheckSettings,
    DriverSettings,
    JointSettings,
    LeaseSettings,
    RobotSettings,
    ToleranceSettings,
)
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.planning.planner import plan
from motiond.daemon.planning.violations import PlanError
from motiond.daemon.trajectory.turns import TURN
from motiond.formats import Motion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from motiond.daemon.joints.joint_map import JointMap
    from motiond.daemon.planning.planner import Plan

    Floats: TypeAlias = NDArray[np.float64]
    Chance: TypeAlias = np.random.Generator

MAX_RATE_HZ = 1000.0
MOST_JOINTS = 6
BEYOND = 0.1  # of all robots
TAUGHT = 0.25  # the same
TURNING = 0.25  # the same
FASTER = 8.0  # than others is a joint that turns without end
LONG_WAY = 600  # ticks, in which most of them have come back
RATES_HZ = (50.0, 100.0, 125.0, 200.0, 250.0, 500.0)
VERBS = {
    "play": 9,
    "goto": 2,
    "pause": 3,
    "resume": 3,
    "speed": 2,
    "seek": 3,
    "stop": 4,
    "estop": 1,
    "reset": 2.5,
    "enable": 1,
    "disable": 1,
    "torque": 0.7,
    "queue_remove": 0.7,
    "queue_move": 0.5,
    "queue_clear": 0.5,
    "acquire": 1,
    "take": 0.5,
    "renew": 1,
    "give_back": 0.4,
    "prepare": 2,
    "commit": 2,
    "release": 0.5,
    "break_off": 0.3,
    "reload": 1,
    "change_motion": 0.4,
    "status": 0.3,
    "give_up": 1.5,
    "late": 1,
    "too_late": 0.3,
    "driver_fails": 0.4,
    "bus_is_lost": 0.3,
    "kill": 0.4,
    "hang": 0.4,
    "crash": 0.2,
    "rest": 0.5,
}
"""What may be asked for or happen, and how often beside the others."""
TO_A_CHANGE = -1
"""In place of ticks after the act before: until the robot's state changes."""
ON_BUSY = ("reject", "queue", "replace")


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens."""

    after: int
    verb: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Life:
    """A robot, what it can play, and what happens to it and its daemon from its start to its end.

    `looks_s`: for how long a way is looked at on which a motion takes over; None where that is planned as it
    begins.
    """

    settings: RobotSettings
    joint_map: JointMap
    plans: dict[str, Plan]
    start: list[float]
    acts: tuple[Act, ...]
    opens_in_s: float
    rests_first: bool
    looks_s: float | None = None


def life(seed: int) -> Life:
    """Return the life of a seed."""
    chance = np.random.default_rng(seed)
    settings = _robot(chance)
    joint_map = build_joint_map("arm", None, settings.joints)
    plans = dict(filter(None, (_planned(name, settings, joint_map, chance) for name in ("wave", "nod"))))
    start = _near(plans, joint_map, chance)
    chance = np.random.default_rng((seed, 2))
    settings = settings.model_copy(update=_manners(joint_map, chance))
    acts = tuple(_acts(plans, settings, chance))
    opens_in_s = float(chance.choice([0.0, 0.0, 0.05, 1.0]))
    rests_first = bool(chance.random() < 0.5)
    lived = Life(settings, joint_map, plans, start, acts, opens_in_s, rests_first)
    lived = _taught(_beyond(lived, np.random.default_rng((seed, 1))), np.random.default_rng((seed, 3)))
    return _turning(lived, np.random.default_rng((seed, 4)))


def _manners(joint_map: JointMap, chance: Chance) -> dict[str, Any]:
    """Return what a robot does by itself, and who may command it."""
    limits = joint_map.limits
    park = limits.lower + chance.random(len(limits.lower)) * (limits.upper - limits.lower)
    ends = ("hold", "hold", "release", "park")
    return {
        "on_end": str(chance.choice(ends)),
        "on_exit": str(chance.choice(ends)),
        "poses": {"park": dict(zip(joint_map.joints, park.tolist(), strict=True))},
        "exit_timeout_s": float(chance.choice([0.5, 8.0])),
        "groups": ["choir"] if chance.random() < 0.3 else [],
        "lease": LeaseSettings(
            required=True,
            ttl_s=float(chance.choice([0.5, 5.0])),
            takeover=bool(chance.random() < 0.7),
            on_loss="stop" if chance.random() < 0.5 else "play_on",
        )
        if chance.random() < 0.25
        else LeaseSettings(),
        "checks": CheckSettings(),
        "stream_timeout_s": float(chance.choice([0.3, 1.0])),
    }


def _beyond(life: Life, chance: Chance) -> Life:
    """Put a joint of some robots beyond a limit at first; then some `goto` are asked to come from there."""
    if chance.random() > BEYOND:
        return life
    limits, start = life.joint_map.limits, list(life.start)
    joint = int(chance.integers(len(start)))
    away = float(chance.choice([1e-9, 0.02, 0.06, 0.5, 3.0])) * (limits.upper - limits.lower)[joint]
    start[joint] = float(limits.upper[joint] + away if chance.random() < 0.5 else limits.lower[joint] - away)
    values = {"fraction": float(chance.random()), "on_busy": "replace"}
    opening = Act(5, "goto", values | {"from_beyond": bool(chance.random() < 0.8)})
    quick = ApproachSettings(velocity=10.0, acceleration=1000.0, jerk=50_000.0)
    settings = life.settings.model_copy(update={"approach": quick})
    rest = Act(0, "rest", {"ticks": LONG_WAY})
    acts = (life.acts[0], opening, *([rest] if chance.random() < 0.5 else []), *life.acts[1:])
    return replace(life, settings=settings, start=start, acts=acts)


def _turning(life: Life, chance: Chance) -> Life:
    """Let joints of some robots turn without end, and motions go round; at first they are on any turn."""
    limits, start = life.joint_map.limits, np.array(life.start)
    is_beyond = ((start < limits.lower) | (start > limits.upper)).any()
    if chance.random() > TURNING or is_beyond:
        return life
    turns = chance.random(start.size) < 0.6
    joints = {
        name: _endless(joint) if turns[column] else joint
        for column, (name, joint) in enumerate(life.settings.joints.items())
    }
    settings = life.settings.model_copy(update={"joints": joints})
    joint_map = build_joint_map("arm", None, joints)
    plans = {
        name: _going_round(plan, turns * chance.integers(-2, 3, start.size), joint_map, settings)
        for name, plan in life.plans.items()
    }
    start += TURN * turns * chance.choice([0, 1, -1, 40, -1000], start.size)
    return replace(life, settings=settings, joint_map=joint_map, plans=plans, start=start.tolist())


def _endless(joint: JointSettings) -> JointSettings:
    limits = joint.limits
    faster = {
        kind: FASTER * value for kind in ("velocity", "acceleration") if (value := getattr(limits, kind))
    }
    limits = limits.model_copy(update={"lower": None, "upper": None} | faster)
    return joint.model_copy(update={"limits": limits, "continuous": True})


def _going_round(planned: Plan, turns: Floats, joint_map: JointMap, settings: RobotSettings) -> Plan:
    """Return a motion that makes so many turns besides, shape (joints,), or none where those are too fast."""
    rows, driven, rate_hz = planned.positions, planned.driven, planned.rate_hz
    names = tuple(np.array(joint_map.joints)[driven])
    times = np.arange(len(rows)) / rate_hz
    at = np.linspace(0.0, 1.0, len(rows))[:, None]
    for further in (TURN * turns * at, 0.0):
        motion = Motion(planned.motion, names, rate_hz, times, (rows + further)[:, driven])
        with suppress(PlanError):
            return plan(motion, joint_map, settings, MAX_RATE_HZ)
    return planned


def span_of(joint_map: JointMap) -> tuple[Floats, Floats]:
    """Return between which places joints are sent or moved, each (joints,); where there is no end, turns."""
    limits, endless = joint_map.limits, joint_map.continuous
    return np.where(endless, -3.0 * TURN, limits.lower), np.where(endless, 3.0 * TURN, limits.upper)


def _taught(life: Life, chance: Chance) -> Life:
    """Let some robots be taught now and then, by hands that go too far and too fast as well."""
    if chance.random() > TAUGHT:
        return life
    acts = list(life.acts)
    for _ in range(chance.integers(1, 4)):
        place = int(chance.integers(len(acts) + 1))
        acts[place:place] = _teaching(len(life.start), chance)
    return replace(life, acts=tuple(acts))


def _teaching(joints: int, chance: Chance) -> list[Act]:
    """Return a stop, most often, and what somebody does who teaches a robot, up to some end or none."""
    before = [Act(0, "reset"), Act(1, "stop")] if chance.random() < 0.8 else []
    modes = ("released", "gravity")
    begin = Act(int(chance.choice([TO_A_CHANGE, 1, 60])), "teach", {"mode": str(chance.choice(modes))})
    hands = [
        Act(
            int(chance.integers(1, 60)),
            "hand",
            {
                "joint": int(chance.integers(joints)),
                "fraction": float(chance.uniform(-0.2, 1.2)),
                "for_s": float(chance.choice([0.1, 0.5, 2.0])),
            },
        )
        for _ in range(chance.integers(0, 4))
    ]
    ends = ("teach_stop", "teach_stop", "stop", "pose", "estop", "status")
    return [*before, begin, *hands, Act(int(chance.integers(0, 60)), str(chance.choice(ends)))]


def chains(seed: int, *, rates_hz: tuple[float, ...] = ()) -> Life:
    """Return a life of the robot of a seed whose motions flow into each other, whatever happens meanwhile."""
    base, chance = life(seed), np.random.default_rng((seed, 6))
    limits, gentle = base.joint_map.limits, dict(_gentle(base, chance, rates_hz))
    acts = [Act(1, "enable")]
    for _ in range(chance.integers(2, 6)):
        motions = gentle if gentle and chance.random() < 0.8 else base.plans | gentle
        acts += _chaining(sorted(motions) or ["none"], chance)
    return replace(
        base,
        settings=base.settings.model_copy(update={"lease": LeaseSettings(), "groups": []}),
        plans=base.plans | gentle,
        start=np.clip(base.start, limits.lower, limits.upper).tolist(),
        acts=tuple(acts),
    )


def mixed_chains(seed: int) -> Life:
    """Return the same with motions of two rates, so that one is planned again at the other's."""
    rates_hz = np.random.default_rng((seed, 8)).choice(RATES_HZ, size=2, replace=False)
    return chains(seed, rates_hz=tuple(rates_hz.tolist()))


def foreseen_chains(seed: int) -> Life:
    """Return a life of motions of one rate or two that take over on ways which are looked at before."""
    chance = np.random.default_rng((seed, 9))
    looks_s = float(chance.choice([0.0, 0.01, 0.05, 0.2, 0.35]))
    base = (chains if chance.random() < 0.5 else mixed_chains)(seed)
    acts = [_taking_over(act, chance) for act in base.acts]
    return replace(base, acts=tuple(acts), looks_s=looks_s)


def _taking_over(act: Act, chance: Chance) -> Act:
    """Return an act that takes over, mostly, where it would wait."""
    queues = act.verb == "play" and act.values["on_busy"] == "queue" and chance.random() < 0.6
    values = {key: value for key, value in act.values.items() if key != "blend_s"} | {"on_busy": "blend"}
    return Act(int(chance.integers(1, 150)), "play", values) if queues else act


def follows(seed: int) -> Life:
    """Return a life of the robot of a seed that follows targets, whatever comes and happens meanwhile."""
    base, chance = life(seed), np.random.default_rng((seed, 7))
    acts = [Act(1, "enable")]
    for _ in range(chance.integers(2, 6)):
        acts += _following(sorted(base.plans) or ["none"], chance)
    settings = base.settings.model_copy(update={"lease": LeaseSettings(), "groups": []})
    limits = base.joint_map.limits
    start = np.clip(base.start, limits.lower, limits.upper).tolist()
    return replace(base, settings=settings, start=start, acts=tuple(acts))


def _following(motions: list[str], chance: Chance) -> list[Act]:
    """Return a follow, targets, mostly within limits, what happens meanwhile, and what ends it."""
    asked = {
        "timeout_s": float(chance.choice([0.05, 0.2, 1.0])),
        "rate_hz": float(chance.choice(RATES_HZ)),
        "mode": str(chance.choice(["position", "velocity"])),
        "on_busy": str(chance.choice(["replace", "replace", "reject"])),
    }
    acts = [Act(1, "reset"), Act(int(chance.choice([1, TO_A_CHANGE])), "follow", asked)]
    play = {"motion": str(chance.choice(motions)), "seam": "reject", "speed_share": -1.0}
    meanwhile: dict[str, dict[str, Any]] = {
        "play": play | {"on_busy": str(chance.choice(ON_BUSY))},
        "goto": {"fraction": float(chance.random()), "on_busy": str(chance.choice(ON_BUSY))},
        "late": {"periods": float(chance.choice([1.5, 3.5, 8.5]))},
        "driver_fails": {"during": "write"},
        "bus_is_lost": {"during": "read"},
    }
    meanwhile |= {verb: {} for verb in ("pause", "stop", "estop", "kill", "disable", "reload", "follow_stop")}
    for _ in range(chance.integers(1, 25)):
        acts.append(Act(int(chance.choice([0, 1, 2, 10, chance.integers(1, 60)])), *_target(chance)))
        if chance.random() < 0.06:
            verb = str(chance.choice(list(meanwhile)))
            acts.append(Act(int(chance.integers(0, 30)), verb, meanwhile[verb]))
    end = str(chance.choice(["follow_stop", "follow_stop", "stop", "estop", "status", "play"]))
    return [*acts, Act(int(chance.integers(0, 60)), end, meanwhile.get(end, {}))]


def _target(chance: Chance) -> tuple[str, dict[str, Any]]:
    """Return a target or a chunk, by where each joint goes of its span, and how fast of its limit."""
    reach = (0.05, 0.95) if chance.random() < 0.7 else (-0.3, 1.3)
    if chance.random() < 0.25:
        rows = chance.uniform(*reach, (int(chance.integers(1, 30)), MOST_JOINTS)).tolist()
        return "chunk", {"fractions": rows, "period_s": float(chance.choice([0.01, 0.05, 0.2]))}
    return "target", {
        "fractions": chance.uniform(*reach, MOST_JOINTS).tolist(),
        "shares": (chance.uniform(-1.2, 1.2, MOST_JOINTS) * (chance.random() < 0.8)).tolist(),
        "left": (chance.random(MOST_JOINTS) < 0.15).tolist(),
    }


def _gentle(life: Life, chance: Chance, rates_hz: tuple[float, ...]) -> Iterator[tuple[str, Plan]]:
    """Yield motions to and fro, from rest to rest, that leave room for a blend.

    They have one rate, or each one of its own among the first of `rates_hz`.
    """
    joint_map, names = life.joint_map, np.array(life.joint_map.joints)
    one_hz = float(chance.choice(RATES_HZ))
    for name, rate_hz in zip(("bow", "sway"), rates_hz or (one_hz, one_hz), strict=True):
        driven = chance.random(names.size) < 0.8
        driven[chance.integers(names.size)] = True
        at = np.linspace(0.0, 1.0, int(chance.integers(30, 250)))[:, None]
        shape = np.sin(np.pi * at) ** 2 * chance.choice([-1.0, 1.0], int(driven.sum()))
        scale, middle = _fit(shape, rate_hz, driven, joint_map)
        rows = middle + chance.uniform(-0.02, 0.02) + chance.uniform(0.02, 0.4) * scale * shape
        motion = Motion(name, tuple(names[driven]), rate_hz, np.arange(len(rows)) / rate_hz, rows)
        with suppress(PlanError):
            yield name, plan(motion, joint_map, life.settings, MAX_RATE_HZ)


def _chaining(motions: list[str], chance: Chance) -> list[Act]:
    """Return a motion, what waits for it to flow into, and what happens before or within a blend."""
    plays = [_link(motions, chance) for _ in range(chance.integers(2, 5))]
    acts = [Act(1, "reset"), Act(1, "play", plays[0] | {"on_busy": "replace"})]
    if chance.random() < 0.3:
        steps = [_step(motions, chance) for _ in range(chance.integers(1, 5))]
        repeat = "forever" if chance.random() < 0.2 else int(chance.integers(1, 3))
        acts = [Act(1, "reset"), Act(1, "sequence", {"steps": steps, "repeat": repeat, "on_busy": "replace"})]
    for play in plays[1:]:
        acts.append(Act(0, "play", play | {"on_busy": "queue", "blend_s": _blend_s(chance)}))
    for play in [_link(motions, chance) for _ in range(chance.integers(0, 3))]:
        after = int(chance.choice([TO_A_CHANGE, 1, 2, chance.integers(1, 200)]))
        acts.append(Act(after, "play", play | {"on_busy": "blend"}))
    meanwhile = ["rest", "pause", "resume", "speed", "seek", "stop", "queue_remove", "queue_move", "late"] * 2
    meanwhile += ["queue_clear", "estop", "kill", "driver_fails", "bus_is_lost", "reload", "late"]
    values: dict[str, dict[str, Any]] = {
        "rest": {"ticks": 100},
        "speed": {"share": float(chance.random())},
        "seek": {"share": float(chance.random())},
        "queue_move": {"place": int(chance.integers(1, 4))},
        "late": {"periods": float(chance.choice([1.5, 3.5, 8.5]))},
        "driver_fails": {"during": "write"},
        "bus_is_lost": {"during": "read"},
    }
    for verb in chance.choice(meanwhile, size=chance.integers(0, 4)):
        after = int(chance.choice([TO_A_CHANGE, 1, chance.integers(1, 150)]))
        acts.append(Act(after, str(verb), values.get(str(verb), {})))
    return [*acts, Act(int(chance.integers(1, 200)), "status")]


def _link(motions: list[str], chance: Chance) -> dict[str, Any]:
    """Return how a motion is played among others, most often once and at its own speed."""
    asked: dict[str, Any] = {"motion": str(chance.choice(motions)), "seam": "approach", "speed_share": -1.0}
    if chance.random() < 0.3:
        asked["speed_share"] = float(chance.random())
    if chance.random() < 0.3:
        asked |= {"loop": int(chance.integers(1, 4)), "ping_pong": bool(chance.random() < 0.5)}
    if chance.random() < 0.2:
        asked["ends"] = tuple(float(one) for one in chance.random(2))
    return asked


def _blend_s(chance: Chance) -> float:
    return float(chance.choice([0.01, 0.05, 0.2, chance.uniform(0.01, 1.0)]))


def _step(motions: list[str], chance: Chance) -> dict[str, Any]:
    step: dict[str, Any] = {"motion": str(chance.choice(motions))}
    if chance.random() < 0.25:
        step["blend_s"] = _blend_s(chance)
    if chance.random() < 0.3:
        step |= {"pause_s": float(chance.uniform(0.0, 0.5)), "repeat": int(chance.integers(1, 4))}
    if chance.random() < 0.3:
        step["speed"] = float(chance.uniform(0.3, 1.0))
    return step


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
    limits, (lower, upper) = joint_map.limits, span_of(joint_map)
    middle = (lower + upper)[driven] / 2
    rested = np.concatenate((shape[:1], shape, shape[-1:]))
    needs = np.stack(
        [
            np.abs(shape).max(axis=0) / ((upper - lower)[driven] / 2),
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


# -- acts ----------------------------------------------------------------------------------------------


def _acts(plans: dict[str, Plan], settings: Any, chance: Chance) -> list[Act]:
    weights = dict(VERBS)
    if not settings.groups:
        weights |= dict.fromkeys(("prepare", "commit", "release", "break_off"), 0.0)
    if not settings.lease.required:
        weights |= dict.fromkeys(("acquire", "take", "renew", "give_back"), 0.02)
    shares = np.array(list(weights.values()), dtype=float)
    chosen = chance.choice(list(weights), size=chance.integers(8, 40), p=shares / shares.sum())
    opening = ["acquire"] if settings.lease.required else []
    if chance.random() < 0.9:
        opening += ["enable", "play"]
    acts = [_act(str(verb), plans, chance) for verb in (*opening, *chosen)]
    if settings.groups:
        place = int(chance.integers(len(opening), len(acts)))
        acts[place:place] = _start_of_group(plans, chance)
    return acts


def _start_of_group(plans: dict[str, Plan], chance: Chance) -> list[Act]:
    """Return what a coordinator asks for, in its order, of a robot that was brought to rest."""
    rest = [_act(verb, plans, chance) for verb in ("reset", "stop")]
    acts = [_act(verb, plans, chance) for verb in ("prepare", "commit")]
    afters = (60, chance.choice([3, 5, 20]))
    return [*rest, *(replace(act, after=int(after)) for act, after in zip(acts, afters, strict=True))]


def _act(verb: str, plans: dict[str, Plan], chance: Chance) -> Act:  # noqa: C901, PLR0912 - a table of verbs
    few = [
        TO_A_CHANGE,
        TO_A_CHANGE,
        0,
        0,
        0,
        1,
        2,
        chance.integers(1, 12),
        chance.integers(1, 30),
        chance.integers(1, 120),
    ]
    values: dict[str, Any] = {"turns": int(chance.choice([0, 0, 1, 2, 3]))}
    match verb:
        case "play" | "prepare":
            values |= _play(plans, chance)
            if verb == "play":
                values["on_busy"] = str(chance.choice(ON_BUSY))
            else:
                values.pop("in_s", None)
                values["expires_s"] = float(chance.choice([1.0, 10.0]))
        case "goto":
            values |= {"fraction": float(chance.random()), "on_busy": str(chance.choice(ON_BUSY))}
        case "speed":
            values["share"] = float(chance.random())
        case "seek":
            values["share"] = float(chance.choice([0.0, 1.0, chance.random()]))
        case "torque":
            values["on"] = bool(chance.random() < 0.5)
        case "queue_move":
            values["place"] = int(chance.integers(1, 4))
        case "commit":
            values["in_s"] = float(chance.uniform(0.0, 1.0))
        case "change_motion":
            values["share"] = float(chance.uniform(0.3, 1.0))
        case "late":
            values["periods"] = float(chance.choice([0.5, 1.5, 3.5, chance.integers(1, 12) + 0.5]))
        case "too_late":
            values["late_s"] = float(chance.choice([0.11, 0.15, 0.4]))
        case "driver_fails" | "bus_is_lost":
            values["during"] = str(chance.choice(["write", "read", "enable", "disable"]))
        case "hang":
            values["for_s"] = float(chance.choice([0.02, 0.2, 2.0]))
        case "rest":
            values["ticks"] = int(chance.choice([50, 200, 600]))
    return Act(int(chance.choice(few)), verb, values)


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
