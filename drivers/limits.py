"""What actuators themselves allow: their limits, and where each of these comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

LimitKind = Literal["lower", "upper", "velocity", "acceleration", "effort", "continuous_effort"]
KINDS: tuple[LimitKind, ...] = get_args(LimitKind)


@dataclass(frozen=True, slots=True, eq=False)
class ActuatorLimits:
    """Limits of all actuators of a driver; infinite where none is known. Changed by `narrowed` alone.

    `lower`, `upper`, `velocity`, `acceleration`, `effort`, `continuous_effort` (actuators,): in rad, rad/s,
    rad/s², N·m (or m, m/s, m/s², N), on the actuator's side of any reduction; the last is what an actuator
    bears for any time, as the root mean square. `sources`: by kind (`lower`, …), for each
    actuator: where its limit comes from, as a user would look for it (`driver.profile_velocity_rad_s`, `servo
    3's own max_position_limit`); '' where there is none.
    """

    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats
    effort: Floats
    continuous_effort: Floats
    sources: Mapping[str, tuple[str, ...]]

    @classmethod
    def none(cls, count: int) -> Self:
        """Return no limits for so many actuators."""
        values = np.full((len(KINDS), count), np.inf)
        values[0] = -np.inf
        values.flags.writeable = False
        return cls(**dict(zip(KINDS, values, strict=True)), sources=dict.fromkeys(KINDS, ("",) * count))

    def narrowed(self, kind: LimitKind, values: ArrayLike, source: str | Sequence[str]) -> Self:
        """Return these limits, narrowed where others are tighter.

        `values` (actuators,): one number stands for all; NaN and infinity for none. `source`: where they come
        from, for all actuators or for each.
        """
        before: Floats = getattr(self, kind)
        others = np.broadcast_to(np.asarray(values, float), before.shape)
        tighter = np.isfinite(others) & (others > before if kind == "lower" else others < before)
        if not tighter.any():
            return self
        found = [source] * before.size if isinstance(source, str) else source
        after = np.where(tighter, others, before)
        after.flags.writeable = False
        named = zip(tighter, found, self.sources[kind], strict=True)
        sources = {**self.sources, kind: tuple(new if is_new else old for is_new, new, old in named)}
        return replace(self, **{kind: after}, sources=sources)

    def spread(self, columns: Sequence[int], count: int, prefix: str = "") -> Self:
        """Return these limits as those of some of `count` actuators.

        `columns`: the places of these actuators among them. `prefix`: stands before each source.
        """
        whole = type(self).none(count)
        for kind in KINDS:
            values, sources = np.full(count, np.nan), [""] * count
            values[columns] = getattr(self, kind)
            for column, source in zip(columns, self.sources[kind], strict=True):
                sources[column] = f"{prefix}{source}"
            whole = whole.narrowed(kind, values, sources)
        return whole

    def joined(self, others: Iterable[Self]) -> Self:
        """Return the tightest of these limits and others of the same actuators."""
        joined = self
        for other in others:
            for kind in KINDS:
                joined = joined.narrowed(kind, getattr(other, kind), other.sources[kind])
        return joined

    def as_lists(self) -> dict[str, Any]:
        """Return the limits JSON-ready, to cross the process border; None for infinity."""
        lists: dict[str, Any] = {
            kind: [float(value) if np.isfinite(value) else None for value in getattr(self, kind)]
            for kind in KINDS
        }
        return lists | {"sources": {kind: list(self.sources[kind]) for kind in KINDS}}

    @classmethod
    def from_lists(cls, lists: Mapping[str, Any]) -> Self:
        """Return the limits that `as_lists` wrote."""
        limits = cls.none(len(lists["lower"]))
        for kind in KINDS:
            values = np.array(lists[kind], float)  # None becomes NaN
            limits = limits.narrowed(kind, values, lists["sources"][kind])
        return limits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActuatorLimits) and self.as_lists() == other.as_lists()

    __hash__ = None  # type: ignore[assignment]
