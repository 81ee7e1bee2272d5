"""What the stream process asks of the kernel, so that it wakes on time."""

from __future__ import annotations

import ctypes
import gc
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_PR_SET_TIMERSLACK = 29


def prepare(priority: int | None, core: int | None, *, lock_memory: bool) -> list[str]:
    """Make the calling thread as punctual as the system allows, and freeze the garbage collector.

    `priority`: SCHED_FIFO priority, 1 to 99; None leaves ordinary scheduling. Returns what was refused, each
    as `problem; reason; hint`.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    refused: list[str] = []
    if priority is not None:
        _try(
            refused,
            f"SCHED_FIFO priority {priority}",
            "raise LimitRTPRIO or grant CAP_SYS_NICE",
            lambda: _fifo(priority),
        )
    if core is not None:
        _try(refused, f"processor {core}", "correct realtime.core", lambda: os.sched_setaffinity(0, {core}))
    if lock_memory:
        _try(refused, "locked memory", "raise LimitMEMLOCK or grant CAP_IPC_LOCK", _lock_memory)
    _try(refused, "a timer slack of 1 ns", "", lambda: _call("prctl", _PR_SET_TIMERSLACK, 1, 0, 0, 0))
    return refused


def _fifo(priority: int) -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def _lock_memory() -> None:
    _call("mlockall", _MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT)


def _call(function: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*(ctypes.c_ulong(argument) for argument in arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _try(refused: list[str], problem: str, hint: str, ask: Callable[[], object]) -> None:
    try:
        ask()
    except OSError as error:
        refused.append(
            "; ".join(part for part in (f"{problem} refused", error.strerror or str(error), hint) if part)
        )
