"""The arm plugins of HEBI's robot configurations: which are applied, which are not, and their keys.

Names, keys and defaults are those of `hebi.arm.create_from_config` of hebi-py 2.16 and of the README of
HEBI's repository `robot-config`. One that is switched off counts as if it were not there, as that says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, StrictBool

from motiond.text import nearest

from ..base import DriverOptions
from ..options import Finite, NotNegative, OptionProblem, OptionsError, PlainName, check, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    PluginType = TypeVar("PluginType", bound="Plugin")

IDLE = ("EndEffectorWrench", "OvertorqueFaultMonitor")
"""Types that change no command before a program asks them to."""
IMPEDANCE = "ImpedanceController"
SWITCH_OFF = "set its `enabled: false`"
LONGEST_TYPE = 60

STRONGEST_NM = 160.0
"""Two of the strongest modules on one joint; beyond that an effort is a mistake, such as of its unit."""
SAME_TURN = 0.02
"""How far products of a rotation's rows may be from 1 and 0: files have as few as two decimals."""


def _only_one(value: object) -> object:
    """Return the one item of a list; `get_group_from_names` of hebi-py takes a text or a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _rotation(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Refuse what turns nothing: gravity would get another size or hand, and the arm would fall or rise."""
    turn = np.array(numbers).reshape(3, 3)
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(turn @ turn.T - np.eye(3)).max()
    if not off <= SAME_TURN or np.linalg.det(turn) < 0:
        raise ValueError("it should be a rotation by rows: of length 1, at right angles, right-handed")
    return numbers


Offset = Annotated[float, Field(ge=-STRONGEST_NM, le=STRONGEST_NM, allow_inf_nan=False)]
OneName = Annotated[PlainName, BeforeValidator(_only_one)]


class Plugin(DriverOptions):
    """The keys of every plugin."""

    name: str = ""
    enabled: StrictBool = True
    ramp_time: NotNegative = 0.0


class GravityPlugin(Plugin):
    """Adds the efforts that carry the arm."""

    type: Literal["GravityCompensationEffort"]
    imu_feedback_index: Annotated[int, Field(ge=0)] = 0
    imu_frame_index: Annotated[int, Field(ge=0)] = 0
    imu_rotation_offset: Annotated[
        tuple[Finite, ...], Field(min_length=9, max_length=9), AfterValidator(_rotation)
    ] = (*(1, 0, 0), *(0, 1, 0), *(0, 0, 1))


class DynamicsPlugin(Plugin):
    """Adds the efforts that accelerate the arm's masses."""

    type: Literal["DynamicsCompensationEffort"]


class OffsetPlugin(Plugin):
    """Adds constant efforts in N·m, one for all modules or one for each, as against a gas spring."""

    type: Literal["EffortOffset"]
    offset: Annotated[list[Offset], BeforeValidator(_as_list), Field(min_length=1)]


class MirrorPlugin(Plugin):
    """Lets a second module follow the one of a joint that both of them move."""

    type: Literal["DoubledJointMirror", "DoubledJoint"]
    group_family: OneName
    group_name: OneName
    index: Annotated[int, Field(ge=0)]
    mirror: StrictBool = True


KINDS: dict[str, type[Plugin]] = {
    "GravityCompensationEffort": GravityPlugin,
    "DynamicsCompensationEffort": DynamicsPlugin,
    "EffortOffset": OffsetPlugin,
    "DoubledJointMirror": MirrorPlugin,
    "DoubledJoint": MirrorPlugin,
}
"""By type; HEBI's README calls `DoubledJoint` what hebi-py calls `DoubledJointMirror`."""


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plugins of a file that are switched on."""

    gravity: GravityPlugin | None = None
    dynamics: DynamicsPlugin | None = None
    offset: OffsetPlugin | None = None
    mirror: MirrorPlugin | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    switched_off: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_plugins(plugins: Iterable[tuple[str, Mapping[str, Any]]]) -> Plugins:
    """Check the plugins of a file, as far as they are switched on.

    Raises OptionsError with every wrong key, every plugin that motiond does not have, and every second one of
    a type, of which hebi-py would drop the second.
    """
    found: dict[type[Plugin], Plugin] = {}
    places: dict[str, str] = {}
    switched_off: list[str] = []
    warnings: list[str] = []
    problems: list[OptionProblem] = []
    for where, plugin in plugins:
        kind, called = plugin.get("type"), _called(plugin.get("type"))
        if plugin.get("enabled", True) is False:
            switched_off.append(f"{where}: {called} is switched off")
        elif kind in IDLE and plugin.get("enabled", True) is True:
            warnings.append(f"{where}: {called} is not applied; motiond has none; {SWITCH_OFF}")
        elif refusal := _refusal(plugin, called, found):
            problems.append(OptionProblem(where, ("plugins",), *refusal))
        else:
            name = str(kind)
            places[name] = where
            try:
                found[KINDS[name]] = check(where, KINDS[name], plugin)
            except OptionsError as error:
                problems += error.problems
    if problems:
        raise OptionsError(problems)

    def of_type(kind: type[PluginType]) -> PluginType | None:
        plugin = found.get(kind)
        return plugin if isinstance(plugin, kind) else None

    return Plugins(
        gravity=of_type(GravityPlugin),
        dynamics=of_type(DynamicsPlugin),
        offset=of_type(OffsetPlugin),
        mirror=of_type(MirrorPlugin),
        places=places,
        switched_off=tuple(switched_off),
        warnings=tuple(warnings),
    )


def _refusal(
    plugin: Mapping[str, Any], called: str, found: Mapping[type[Plugin], Plugin]
) -> tuple[str, str, str] | None:
    """Return why a plugin is refused whatever its keys are."""
    kind, enabled = plugin.get("type"), plugin.get("enabled", True)
    if not isinstance(enabled, bool):
        problem = f"option 'enabled' of {called} is {shown(enabled)}"
        return problem, "it takes true and false alone", "write one of them, without quotes"
    if not isinstance(kind, str) or kind not in KINDS:
        return (f"{called} cannot be applied", *_why_not(kind))
    if KINDS[kind] in found:
        hint = f"join them, or {SWITCH_OFF}" if KINDS[kind] is OffsetPlugin else SWITCH_OFF
        return f"a second {called}", "HEBI's library takes one of a type", hint
    return None


def _called(kind: object) -> str:
    if kind is None:
        return "plugin without a type"
    plain = isinstance(kind, str) and kind.isprintable() and len(kind) <= LONGEST_TYPE
    return f"plugin {kind if plain else shown(kind)}"


def _why_not(kind: object) -> tuple[str, str]:
    """Return why a plugin of this type cannot be applied, and what to do."""
    if kind == IMPEDANCE:
        return (
            "its spring needs a fast and steady loop of its own, and motiond sends a motion's rows",
            SWITCH_OFF,
        )
    known = f"motiond knows {', '.join(KINDS)}"
    return known, (nearest(kind, KINDS) if isinstance(kind, str) else "") or SWITCH_OFF
