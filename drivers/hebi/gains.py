"""Controller gains of HEBI modules: read from HEBI's XML, sent to the modules, and read back from them.

Sending waits for acknowledgements and answers, so it belongs before the loop. Nothing is stored in the
modules: they forget their gains when they are switched off.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import DriverConfigError, DriverError, DriverTimeout
from .feedback import WHERE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .lookup import HebiGroup, Module
    from .setup import HebiSetup

ATTEMPTS = 5
TIMEOUT_MS = 200
LOOPS = ("position", "velocity", "effort")
GAINS = (
    "kp",
    "ki",
    "kd",
    "feed_forward",
    "dead_zone",
    "i_clamp",
    "punch",
    "min_target",
    "max_target",
    "target_lowpass",
    "min_output",
    "max_output",
    "output_lowpass",
)
FIELDS = tuple(f"{loop}_{gain}" for loop, gain in product(LOOPS, GAINS))
EFFORT_STRATEGIES = frozenset({2, 3, 4})
SAME = 1e-5
"""Relative tolerance; modules compute in single precision."""


def read_gains(hebi: Any, path: Path, modules: int, order: Sequence[int]) -> Any:
    """Read a file of gains into a command.

    Raises DriverConfigError if the file cannot be read, is for another number of modules, or has no gains.
    """
    in_file, command = hebi.GroupCommand(modules), hebi.GroupCommand(len(order))
    try:
        in_file.read_gains(str(path))
    except Exception as error:
        # hebi-py raises OSError without a file, and otherwise an exception of its own, which it does not
        # export.
        raise _unreadable(path, modules, str(error)) from error
    if not _has_any(in_file):
        raise _unreadable(path, modules, "there are none in it")
    for index, source in enumerate(order):
        command[index].copy_gains_from(in_file[source])
    return command


def _unreadable(path: Path, modules: int, reason: str) -> DriverConfigError:
    return DriverConfigError(
        str(path), f"cannot be read as gains of {modules} modules", reason, "correct `gains`"
    )


def _has_any(command: Any) -> bool:
    """Return whether a command sets anything; hebi-py reads any XML, and skips what it does not know."""
    numbers = (np.isfinite(getattr(command, field)).any() for field in FIELDS)
    return any(numbers) or bool(np.any(command.control_strategy))


def read_setup(hebi: Any, setup: HebiSetup) -> Any:
    """Return a `hebi.GroupCommand` with the gains and the control strategy of a setup, or None without any.

    Second modules of doubled joints get the control strategy alone: a file has no gains for them.

    Raises DriverConfigError as `read_gains` does.
    """
    if setup.gains is None and setup.control_strategy is None:
        return None
    command = hebi.GroupCommand(len(setup.members))
    if setup.gains is not None:
        in_file = read_gains(hebi, setup.gains, setup.configured, setup.order)
        for index in range(in_file.size):
            command[index].copy_gains_from(in_file[index])
    if setup.control_strategy is not None:
        command.control_strategy = setup.control_strategy
    return command


def apply_gains(group: HebiGroup, command: Any, modules: Sequence[Module]) -> None:
    """Send gains until every module has acknowledged them, read them back, and compare.

    `d_on_error` is compared only where it is switched on: hebi-py does not show whether a file has it.

    Raises DriverTimeout if modules did not acknowledge, or did not report their gains. Raises DriverError if
    modules have other gains than were sent; with the first few.
    """
    if not any(group.send_command_with_acknowledgement(command, TIMEOUT_MS) for _ in range(ATTEMPTS)):
        raise DriverTimeout(
            WHERE,
            f"gains were sent {ATTEMPTS} times and not acknowledged",
            f"by one or more of {', '.join(map(str, modules))}",
            "check power, cables and the network",
        )
    info = ask_info(group)
    if info is None:
        raise DriverTimeout(
            WHERE,
            f"the modules did not report their gains in {ATTEMPTS * TIMEOUT_MS} ms",
            "so it is not sure that they have those that were sent",
            "check power, cables and the network",
        )
    wrong = _differences(command, info, modules)
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise DriverError(
            WHERE,
            "modules have other gains than were sent",
            ", ".join(wrong[:3]) + more,
            "update their firmware, or take these gains out of `gains`",
        )


def ask_info(group: HebiGroup) -> Any:
    """Return a `hebi.GroupInfo` with the modules' settings, or None if some did not answer."""
    for _ in range(ATTEMPTS):
        info = group.request_info(TIMEOUT_MS)
        if info is not None:
            return info
    return None


def deaf_to_efforts(info: Any, modules: Sequence[Module]) -> str:
    """Return which modules do not act on efforts alone, and why; '' if all do.

    Their control strategies 2, 3 and 4 have an effort controller, which works with whatever of position and
    velocity is commanded; 0 is off, and 1 takes PWM alone. `info`: their `hebi.GroupInfo`; None if unknown.
    """
    if info is None:
        return f"{', '.join(map(str, modules))} did not report a control strategy"
    for index, module in enumerate(modules):
        strategy = info.control_strategy[index]
        if strategy not in EFFORT_STRATEGIES:
            return f"the control strategy of {module} is {_shown(strategy)}"
        if not (info.effort_kp[index] or info.effort_feed_forward[index]):
            return f"the effort controller of {module} has neither `kp` nor `feed_forward`"
    return ""


def _differences(command: Any, info: Any, modules: Sequence[Module]) -> list[str]:
    found = []
    for field in FIELDS:
        sent, reported = np.asarray(getattr(command, field)), np.asarray(getattr(info, field))
        wrong = np.isfinite(sent) & ~np.isclose(sent, reported, rtol=SAME, atol=0)
        found += _deviations(field, sent, reported, wrong, modules)
    for field in ("control_strategy", *(f"{loop}_d_on_error" for loop in LOOPS)):
        sent, reported = np.asarray(getattr(command, field)), np.asarray(getattr(info, field))
        found += _deviations(field, sent, reported, (sent != 0) & (sent != reported), modules)
    return found


def _deviations(field: str, sent: Any, reported: Any, wrong: Any, modules: Sequence[Module]) -> list[str]:
    return [
        f"{modules[index]} {field}: {_shown(reported[index])} instead of {sent[index]:g}"
        for index in np.flatnonzero(wrong)
    ]


def _shown(value: Any) -> str:
    return "nothing" if np.isnan(value) else f"{value:g}"
