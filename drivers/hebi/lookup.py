"""Looks up HEBI modules on the network by family and name, and makes groups of them."""

from __future__ import annotations

import contextlib
import io
import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from motiond.text import nearest

from ..base import DriverConfigError, DriverError, DriverTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WHERE = "driver hebi"
LOOKUP_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Module:
    """A module as it is addressed on the network."""

    family: str
    name: str

    def __str__(self) -> str:
        return f"{self.family}/{self.name}"


HebiGroup: TypeAlias = Any
"""A `hebi.Group`; its times are in milliseconds, frequencies in Hz."""
HebiLookup: TypeAlias = Any
"""A `hebi.Lookup`, of which `entrylist` and `get_group_from_names` are used."""


def import_hebi() -> Any:
    """Import hebi-py, without what it prints about missing optional packages.

    Raises DriverConfigError if it is not installed.
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            import hebi  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise DriverConfigError(
            WHERE, "hebi-py cannot be imported", str(error), "pip install 'motiond[hebi]'"
        ) from error
    return hebi


def open_lookup(interfaces: Sequence[str]) -> HebiLookup:
    """Start to look for modules."""
    return import_hebi().Lookup(list(interfaces))


def find_group(
    lookup: HebiLookup,
    modules: Sequence[Module],
    timeout_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> HebiGroup:
    """Wait until all modules are there, and make a group of them.

    `sleep`: waits for so many s between two looks; a simulated network brings its own. Raises DriverTimeout
    if modules are missing; names them and those that were found. Raises DriverError if several modules have
    the name of a wanted one.
    """
    looks_left = math.ceil(timeout_s / LOOKUP_POLL_S)
    while not (found := present(lookup)).keys() >= set(modules):
        if not looks_left:
            raise missing_modules(modules, set(found), timeout_s)
        looks_left -= 1
        sleep(LOOKUP_POLL_S)
    _refuse_namesakes(modules, found)
    families, names = [module.family for module in modules], [module.name for module in modules]
    group: HebiGroup | None = lookup.get_group_from_names(families, names, timeout_ms=timeout_s * 1000)
    if group is None:
        raise DriverTimeout(WHERE, f"no group of {len(modules)} modules in {timeout_s:g} s", hint="try again")
    return group


def single_groups(lookup: HebiLookup, modules: Sequence[Module]) -> list[HebiGroup]:
    """Make a group of each module, which reports only when asked.

    Raises DriverTimeout if a module has left in the meantime.
    """
    groups = [lookup.get_group_from_names([module.family], [module.name]) for module in modules]
    made = [group for group in groups if group is not None]
    if len(made) < len(modules):
        gone = [str(module) for module, group in zip(modules, groups, strict=True) if group is None]
        raise DriverTimeout(WHERE, f"no longer there: {', '.join(gone)}", hint="check power and network")
    for group in made:
        group.feedback_frequency = 0.0
    return made


def present(lookup: HebiLookup) -> Counter[Module]:
    """Return the modules that are on the network now, with how many have each name."""
    return Counter(
        Module(entry.family, entry.name)
        for entry in lookup.entrylist
        if entry is not None and not entry.is_stale
    )


def missing_modules(wanted: Sequence[Module], found: set[Module], timeout_s: float) -> DriverTimeout:
    """Return the error that names missing modules, those that were found, and the nearest names."""
    known = sorted(map(str, found))
    missing = [str(module) for module in wanted if module not in found]
    hints = [hint for hint in (nearest(name, known) for name in missing) if hint]
    return DriverTimeout(
        WHERE,
        f"not found in {timeout_s:g} s: {', '.join(missing)}",
        f"found {', '.join(known) or 'no modules at all'}",
        " ".join(hints) or "check power, cables and the network",
    )


def _refuse_namesakes(wanted: Sequence[Module], found: Counter[Module]) -> None:
    twice = [f"{found[module]} modules are called {module}" for module in wanted if found[module] > 1]
    if twice:
        raise DriverError(
            WHERE, ", ".join(twice), "hebi-py would take any of them", "rename all but one with HEBI Scope"
        )
