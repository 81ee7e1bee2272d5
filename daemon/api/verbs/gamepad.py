"""How a gamepad jogs a robot: the page edits it, and the daemon keeps it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag
from typing_extensions import TypedDict

from .verb import CHECKED, Name, Request, Verb

MOST_MAPPED = 64
PadPart = Annotated[int, Field(ge=0, le=63)]
"""The number of an axis or a button, as the browser's Gamepad API has it."""
PadScale = Annotated[float, Field(ge=-1, le=1)]


class GamepadAxis(BaseModel):
    """An axis moves it: at its end by this share of the speed, backwards where that is negative."""

    model_config = CHECKED

    axis: PadPart
    scale: PadScale


class GamepadButtons(BaseModel):
    """Two buttons move it: one back, one on."""

    model_config = CHECKED

    minus: PadPart
    plus: PadPart
    scale: PadScale


def _kind_of(value: Any) -> str:
    is_axis = "axis" in value if isinstance(value, dict) else isinstance(value, GamepadAxis)
    return "[axis]" if is_axis else "[buttons]"


GamepadInput = Annotated[
    Annotated[GamepadAxis, Tag("[axis]")] | Annotated[GamepadButtons, Tag("[buttons]")],
    Discriminator(_kind_of),
]


class GamepadMapping(BaseModel):
    """What a gamepad's axes and buttons move."""

    model_config = CHECKED

    dead_man: PadPart
    """The button without which nothing moves."""
    dead_zone: Annotated[float, Field(ge=0, le=0.9)]
    """What an axis shows up to here, it does not mean."""
    curve: Annotated[float, Field(ge=1, le=5)]
    """The exponent by which an axis acts: above 1, it is gentle in its middle."""
    joints: Annotated[dict[Name, GamepadInput], Field(max_length=MOST_MAPPED)]
    """By joint."""
    directions: dict[Literal["x", "y", "z", "rx", "ry", "rz"], GamepadInput]
    """By direction of the frame that is jogged, along or about its axes."""


class GamepadRequest(Request):
    """Report how a gamepad jogs the robot."""


class GamepadAnswer(TypedDict):
    """How a gamepad jogs the robot."""

    mapping: GamepadMapping | None
    """Null where none was kept, or what was kept cannot be used."""
    problem: str | None
    """Why that cannot be used."""


class SaveGamepadRequest(Request):
    """Keep how a gamepad jogs the robot."""

    mapping: GamepadMapping


class SaveGamepadAnswer(TypedDict):
    """Where it is kept."""

    file: str


GAMEPAD_VERBS = (
    Verb("gamepad", GamepadRequest, GamepadAnswer, begins=False, interferes=False, needs_lease=False),
    Verb("gamepad/save", SaveGamepadRequest, SaveGamepadAnswer, begins=False, interferes=False),
)
