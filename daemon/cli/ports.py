"""Serial ports that a daemon of this machine drives."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def naming_its_robot(port: str, hint: str) -> Iterator[None]:
    """Refuse a port that a daemon of this machine drives with the name of its robot.

    `hint`: what can be done while that runs; `{robot}` stands for the name.
    """
    from motiond.drivers import DriverError

    from ..stream.locks import robot_at

    try:
        yield
    except DriverError as error:
        robot = robot_at(f"serial:{name}" for name in dict.fromkeys((Path(port), Path(port).resolve())))
        if not robot:
            raise
        problem, reason = f"a daemon drives robot '{robot}' by it", "one port has one master"
        raise DriverError(port, problem, reason, hint.format(robot=robot)) from error
