"""Which options of the `sim` driver do not go with a physical world, or go with one alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...options import OptionProblem, OptionsError, unknown_actuators
from .options import WorldOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..options import SimOptions


def refuse_what_no_world_has(where: str, options: SimOptions, actuators: Sequence[str]) -> None:
    """Raise OptionsError with all that does not go with `physics`, or goes with it alone."""
    if problems := list(_problems(where, options, actuators)):
        raise OptionsError(problems)


def _problems(where: str, options: SimOptions, actuators: Sequence[str]) -> Iterator[OptionProblem]:
    for option, is_set in (("floor", options.floor), ("scene", options.scene is not None)):
        if is_set and options.physics is not True:
            reason = "it stands in the world of the description"
            yield OptionProblem(
                where, (option,), f"`{option}` needs `physics: true`", reason, "set that as well"
            )
    if options.physics is False:
        return
    orders = options.order.values() if isinstance(options.order, Mapping) else (options.order,)
    has_bodies = options.gravity is not None and "bodies" in options.gravity.model_fields_set
    for option, is_set, reason in (
        ("calculate_dynamics", not options.calculate_dynamics, "what is at its goal at once feels nothing"),
        ("order", 1 in orders, "what has no inertia feels nothing"),
        ("gravity.bodies", has_bodies, "the world has bodies of its own; an `acceleration` is taken"),
        ("plant", options.plant is not None, "the file holds no world"),
    ):
        if is_set:
            what = f"`{option}` does not go with `physics`"
            yield OptionProblem(where, tuple(option.split(".")), what, reason, "leave one of them out")
    if isinstance(options.physics, WorldOptions):
        yield from _joints_that_do_not_fit(where, options.physics, actuators)


def _joints_that_do_not_fit(
    where: str, world: WorldOptions, actuators: Sequence[str]
) -> Iterator[OptionProblem]:
    path = ("physics", "joints")
    named = [joint.actuator for joint in world.joints]
    yield from unknown_actuators(where, (("physics.joints", name) for name in named), actuators)
    for name in actuators:
        if (times := named.count(name)) != 1:
            what = f"actuator '{name}' moves {times} joints of the world"
            yield OptionProblem(where, path, what, "it has to move one", "name one for it")
    moved = Counter(joint.joint for joint in world.joints)
    for name in (name for name, times in moved.items() if times > 1):
        what = f"joint '{name}' of the world is moved by {moved[name]} actuators"
        yield OptionProblem(where, path, what, "one moves it", "name another joint for the others")
