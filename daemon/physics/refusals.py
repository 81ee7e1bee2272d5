"""Why robots of a configuration cannot be made, of all of them at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from motiond.drivers import DriverConfigError, DriverError

from .extra import PhysicsError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Refusals:
    """What drivers and physics refuse, collected by robot."""

    def __init__(self) -> None:
        self._found: list[DriverError | PhysicsError] = []

    @contextmanager
    def of(self, robot: str) -> Iterator[None]:
        """Keep what a robot is refused for, with its name; the rest of the block is left out then."""
        try:
            yield
        except DriverError as error:
            named = DriverConfigError(robot, str(error).replace("\n", f"\n{robot}: "))
            named.__cause__ = error
            self._found.append(named)
        except PhysicsError as error:
            self._found.append(error)

    def raise_if_any(self) -> None:
        """Raise DriverConfigError or PhysicsError with all that was kept, by what came first."""
        if not self._found:
            return
        first, text = self._found[0], "\n".join(map(str, self._found))
        if len(self._found) == 1:
            raise first
        if isinstance(first, DriverError):
            raise DriverConfigError(first.where, text.removeprefix(f"{first.where}: "))
        raise PhysicsError(text)
