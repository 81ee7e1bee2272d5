"""A verb from outside motiond, as a package of its own would have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import TypedDict

from motiond.daemon.api import Request, Verb

if TYPE_CHECKING:
    from motiond.daemon.robots.handlers import RequestHandlers


class NodRequest(Request):
    """Nod to whoever is there."""

    times: Annotated[int, Field(ge=1, le=3)] = 1
    """How often."""


class NodAnswer(TypedDict):
    """The robot nods."""

    nodded: int
    torque: bool


async def nod(robot: RequestHandlers, request: NodRequest) -> NodAnswer:
    status = await robot.status(request)
    return {"nodded": request.times, "torque": status["torque"]}


NOD = Verb("nod", NodRequest, NodAnswer, nod)
