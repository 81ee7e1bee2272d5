"""Random robots and what is asked of their daemon: a seed gives one life, the same on every machine.

The robot and its motions are those of `tests.daemon.sequences`; `tests.daemon.daemon_engine` lives a `Life`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from motiond.daemon.config.robot import CheckSettings, LeaseSettings
from tests.daemon.sequences import Act, Sequence, _play, sequence

if TYPE_CHECKING:
    from motiond.daemon.planning.planner import Plan

    Chance: TypeAlias = np.random.Generator

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
class Life:
    """What happens to one robot's daemon from its start to its end."""

    sequence: Sequence
    opens_in_s: float
    rests_first: bool


def life(seed: int) -> Life:
    """Return the life of a seed."""
    base, chance = sequence(seed), np.random.default_rng((seed, 2))
    limits = base.joint_map.limits
    park = limits.lower + chance.random(len(limits.lower)) * (limits.upper - limits.lower)
    ends = ("hold", "hold", "release", "park")
    settings = base.settings.model_copy(
        update={
            "on_end": str(chance.choice(ends)),
            "on_exit": str(chance.choice(ends)),
            "poses": {"park": dict(zip(base.joint_map.joints, park.tolist(), strict=True))},
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
    )
    acts = tuple(_acts(base.plans, settings, chance))
    opens_in_s = float(chance.choice([0.0, 0.0, 0.05, 1.0]))
    return Life(replace(base, settings=settings, acts=acts), opens_in_s, bool(chance.random() < 0.5))


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
