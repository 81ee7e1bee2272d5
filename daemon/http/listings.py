"""What is answered over HTTP alone, as models for the OpenAPI document."""

from __future__ import annotations

from typing import Literal

from ..api.lasting_models import Availability, MotionList, State, Told


class ListedRobot(Told):
    """A robot; null where nothing was reported yet."""

    name: str
    availability: Availability | None
    state: State | None


class RobotList(Told):
    """All robots of a daemon."""

    id: str
    """The daemon's own name."""
    robots: list[ListedRobot]


class UploadAnswer(Told):
    """A file was checked and kept."""

    status: Literal["ok"]
    data: MotionList
    transaction: str | None
