"""HEBI modules on the network: whether all are there that the configuration names."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from motiond.drivers import DriverError
from motiond.drivers.hebi import LOOKUP_POLL_S, Module, missing_modules, open_lookup, present

from .report import Check, Verdict, nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from motiond.drivers.hebi import HebiLookup

    from ..config.robot import DriverSettings

    Look = Callable[[Sequence[str]], HebiLookup]

KIND = "hebi:"
PATIENCE_S = 3.0


async def check_modules(
    devices: Mapping[str, Sequence[str]], drivers: Iterable[DriverSettings], look: Look = open_lookup
) -> Check:
    """Look for the modules of all robots; looking moves nothing, and takes no module from a daemon."""
    names = [name.removeprefix(KIND) for each in devices.values() for name in each if name.startswith(KIND)]
    wanted = [Module(*name.split("/", 1)) for name in names]
    if not wanted:
        means = "the network is not searched for any"
        return nothing("hebi", "the configuration names no HEBI module", means)
    now = asyncio.get_running_loop().time
    begun_s = now()
    try:
        lookup = look(interfaces_of(drivers))
        while not present(lookup).keys() >= set(wanted):
            if now() - begun_s >= PATIENCE_S:
                raise missing_modules(wanted, set(present(lookup)), PATIENCE_S)
            await asyncio.sleep(LOOKUP_POLL_S)
    except DriverError as error:
        return Check(
            check="hebi",
            verdict=Verdict.FAILURE,
            found="; ".join(filter(None, (error.problem, error.reason))),
            means="robots with these modules stay offline until they are there",
            hint=error.hint,
        )
    return _judged(wanted, present(lookup), now() - begun_s)


def _judged(wanted: Sequence[Module], found: Mapping[Module, int], took_s: float) -> Check:
    twice = [f"{found[module]} modules are called {module}" for module in wanted if found[module] > 1]
    return Check(
        check="hebi",
        verdict=Verdict.FAILURE if twice else Verdict.OK,
        found=", ".join(twice) or f"all {len(wanted)} modules, in {took_s:.1f} s",
        means="hebi-py would take any of them"
        if twice
        else "power, cables and the network are as they should be",
        hint="rename all but one with HEBI Scope" if twice else None,
        figures={"modules": len(wanted), "found_in_s": took_s},
    )


def interfaces_of(drivers: Iterable[DriverSettings]) -> list[str]:
    """Return the network interfaces that HEBI drivers name, those within `composite` too; none means all."""
    found: list[str] = []
    for driver in drivers:
        parts = list(driver.options["parts"].values()) if driver.type == "composite" else []
        for kind, options in [(driver.type, driver.options), *((part["type"], part) for part in parts)]:
            if kind == "hebi":
                named = options.get("interfaces") or ()
                if not named:
                    return []  # one of them looks everywhere
                found += named
    return sorted(set(found))
