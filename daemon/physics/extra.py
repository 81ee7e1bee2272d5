"""MuJoCo, which is an extra: nothing imports it before a configuration asks for physics."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

log = logging.getLogger(__name__)


class PhysicsError(ValueError):
    """A robot, or its surroundings, that physics cannot have; `str()` is `subject: problem; reason; hint`."""

    exit_code: ClassVar[int] = 2


def reason_of(error: ValueError) -> str:
    """Return why MuJoCo refuses a document, without the place in it, as nobody has seen the document."""
    return " ".join(str(error).partition("\nElement")[0].removeprefix("Error: ").split())


def load_mujoco(asked_by: str) -> Any:
    """Return the module `mujoco`.

    `asked_by`: what needs it, the subject of messages.
    Raises `PhysicsError` if it is not installed.
    """
    try:
        import mujoco  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        hint = "pip install 'motiond[physics]'"
        raise PhysicsError(f"{asked_by}: needs MuJoCo, which cannot be imported; {error}; {hint}") from error
    # Without this, MuJoCo appends its warnings to a file in the folder that the program runs in.
    mujoco.set_mju_user_warning(log.debug)
    return mujoco
