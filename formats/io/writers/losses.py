"""Refusal to write what a format cannot hold of a motion or a robot, unless the caller agrees to lose it.

FormatError
└── NothingToDropError   what may be lost is not there
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from motiond.text import listed, nearest

from ...errors import FormatError, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Loss(Problem):
    """Something that would be lost, by the name that permits it in `drop`."""

    name: str = ""


class NothingToDropError(FormatError):
    """What may be lost is not there; nothing else would be lost.

    Attributes
    ----------
    names : tuple of str
        What is not there.
    """

    def __init__(self, problems: Sequence[Problem], names: Sequence[str]) -> None:
        super().__init__(problems)
        self.names = tuple(names)


def refuse_losses(
    path: Path, losses: Mapping[str, str], drop: Collection[str], held: Collection[str]
) -> None:
    """Refuse to write a motion if something would be lost that may not be dropped.

    `losses`: what would be lost, and why.
    `drop`: what may be lost.
    `held`: what the motion holds that can be dropped; any other name in `drop` is a mistake.
    Raises `FormatError` with everything that would be lost, and every name in `drop` that is a mistake.
    Raises `NothingToDropError` if the latter is all.
    """
    lost = [loss(path, name, f"{name} would be lost", reason) for name, reason in losses.items()]
    refuse(path, lost, drop, {*held, *losses}, "motion")


def loss(path: Path, name: str, problem: str, reason: str) -> Loss:
    """Return something that would be lost, by the name that permits it."""
    return Loss(str(path), 0, problem, reason, f"to lose it, name it in drop: '{name}'", name)


def refuse(
    path: Path, losses: Sequence[Loss], drop: Collection[str], known: Collection[str], holder: str
) -> None:
    """Refuse as `refuse_losses` does; the `holder` of what is `known` is a motion or a robot."""
    lost: list[Problem] = [one for one in losses if one.name not in drop]
    unknown = [name for name in drop if name not in known]
    held = f"the {holder} holds {listed(sorted(known)) if known else 'nothing to drop'}"
    problems = [
        Problem(str(path), 0, f"there is no '{name}' to drop", held, nearest(name, known)) for name in unknown
    ]
    if lost:
        raise FormatError(lost + problems)
    if unknown:
        raise NothingToDropError(problems, unknown)
