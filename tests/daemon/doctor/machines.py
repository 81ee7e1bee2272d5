"""Machines that tests make up: trees of files as the kernel has them in /sys and /proc."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from motiond.daemon.doctor.machine import Machine, Room

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PLENTY = Room(1, 50_000_000_000, 1_000_000)


def machine(root: Path, files: dict[str, str] | None = None) -> Machine:
    """Return a machine whose kernel tells what these files hold, by paths such as `proc/version`."""
    for name, text in (files or {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Machine(
        sys=root / "sys",
        proc=root / "proc",
        may_use=lambda _: True,
        room_at=lambda _: PLENTY,
        folders=lambda: {"state": root / "state" / "motiond"},
        ask_chrony=no_chrony,
        look=nowhere,
        version_of=lambda package: "1.2" if package == "motiond" else version(package),
    )


async def no_chrony() -> None:
    """Chrony does not run."""


def nowhere(_: Sequence[str]) -> Any:
    raise AssertionError("there is no network with HEBI modules")
