"""Stops a robot by each way that there is: the daemons on this machine, and its brokers."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from motiond.client import NoAnswer, Refused, connect
from motiond.local import hanging, holder_of

from ..output import report
from ..stop_here import ANSWER_S, FIRST_S, Stop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from motiond.client import Robot
    from motiond.local import DaemonHere

    from ...api import ErrorCode, GroupVerb
    from ...config.mqtt import MqttSettings
    from ...fleet.coordinator import Gathered
    from .broker import Client

log = logging.getLogger(__name__)


def stop_robot(client: Client, robot: str, verb: str, *, json: bool) -> int:
    """Stop a robot by its daemons on this machine, and where none has stopped it soon, by its brokers."""
    with Stop(verb, robot, client.daemons_here()) as stop:
        stop.wait(FIRST_S)
        failure = None if stop.answers else _stop_at_brokers(client, stop, robot, verb)
        code = stop.finish(as_json=json)
        return code if failure is None or stop.answers else report(str(failure), failure.exit_code)


def _stop_at_brokers(client: Client, stop: Stop, robot: str, verb: str) -> NoAnswer | Refused | None:
    """Stop a robot at its brokers; return why it was not."""
    settings, unread = client.known_mqtt()
    try:
        with or_nothing_stopped(robot, unread):
            stop.answers.append(asyncio.run(_stopped_at(settings, robot, verb)))
    except (NoAnswer, Refused) as error:
        return error
    stop.refusals.clear()
    return None


async def stopped(client: Client, settings: MqttSettings, robot: str, verb: str) -> dict[str, Any]:
    """Stop a robot beside other tasks, and return the data of the first answer.

    Raises
    ------
    Refused
    NoAnswer
        If nobody answers, or not all daemons of this machine do; the message says why, for each way.
    """
    stop = await stopped_here(client, robot, verb)
    answers, failures = stop.answers, stop.silent()
    if not answers:
        try:
            answers = [await _stopped_at(settings, robot, verb)]
        except (NoAnswer, Refused) as error:
            failures = [str(error), *stop.refusals, *failures]
            if failures[1:] == []:
                raise
    if failures:
        raise NoAnswer("\n".join(failures))
    return answers[0]


async def stopped_here(client: Client, robot: str, verb: str) -> Stop:
    """Stop a robot by its daemons on this machine; whoever is not believed there is logged."""

    def wait() -> Stop:
        with Stop(verb, robot, client.daemons_here()) as stop:
            stop.wait()
        return stop

    stop = await asyncio.to_thread(wait)
    for impostor in stop.impostors:
        log.warning("%s", impostor)
    return stop


async def stop_group(
    client: Client, settings: MqttSettings, group: str, verb: GroupVerb
) -> tuple[list[Gathered], list[str]]:
    """Stop the robots of a group by their daemons on this machine, and at the same time by the brokers.

    Returns
    -------
    list of Gathered
        Of each robot the answer of where it stops, if it does anywhere.
    list of str
        What has not answered otherwise.
    """
    from ...api import RequestError
    from ...fleet.coordinator import command

    stopping = [_stop_members(daemon, group, verb) for daemon in client.daemons_here()]
    by_brokers = asyncio.create_task(command(settings, group, verb), name="fleet.brokers")
    here = await asyncio.gather(*stopping, return_exceptions=True)
    answers: list[Any] = [*here, *await asyncio.gather(by_brokers, return_exceptions=True)]
    gathered: dict[str, Gathered] = {}
    for one in (one for answer in answers if isinstance(answer, list) for one in answer):
        if one.robot not in gathered or gathered[one.robot].error is not None:
            gathered[one.robot] = one
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    if defect := next(
        (error for error in failures if not isinstance(error, NoAnswer | Refused | RequestError)), None
    ):
        raise defect
    if not gathered and len(failures) == 1 and isinstance(error := failures[0], RequestError):
        raise Refused(error.code, str(error), error.data)
    if not gathered:
        raise NoAnswer("\n".join(map(str, failures)))
    return [gathered[robot] for robot in sorted(gathered)], [
        str(error) for error in failures if isinstance(error, NoAnswer)
    ]


async def _stop_members(daemon: DaemonHere, group: str, verb: str) -> list[Gathered]:
    """Stop those robots of one daemon of this machine that are in a group."""
    from ...api import RequestError
    from ...fleet.coordinator import Gathered

    async def stop(robot: Robot) -> Gathered | None:
        try:
            if group not in (await robot.report("description")).get("groups", ()):
                return None
            return Gathered(robot.name, await robot.request(verb))
        except Refused as error:
            return Gathered(robot.name, error=RequestError.of(cast("ErrorCode", error.code), error))
        except NoAnswer as error:
            return Gathered(robot.name, error=error)

    address, config = daemon
    async with connect(config=config[0]) if config else connect(f"unix:{address}") as there:
        try:
            names = (await there.ask("", "robots", {}, ANSWER_S))["robots"]
        except NoAnswer as error:
            raise NoAnswer(hanging(group, holder_of(address), ANSWER_S)) from error
        return [one for one in await asyncio.gather(*map(stop, map(there.robot, names))) if one is not None]


async def _stopped_at(settings: MqttSettings, robot: str, verb: str) -> dict[str, Any]:
    """Stop a robot at all of its brokers, and return the data of the first answer."""
    from ...config.client import brokers_of

    async with connect(brokers_of(settings)) as daemon:
        return await daemon.robot(robot).request(verb)


@contextmanager
def or_nothing_stopped(target: str, unread: Path | None) -> Iterator[None]:
    """Report plainly where a stop has not come that went out without what the configuration says."""
    try:
        yield
    except (NoAnswer, Refused) as error:
        if unread is None:
            raise
        message = f"{error}\n{nothing_stopped(target, unread)}"
        if isinstance(error, NoAnswer):
            raise NoAnswer(message) from error
        raise Refused(error.code, message, error.data) from error


def nothing_stopped(target: str, unread: Path) -> str:
    """Return that a stop has not come, and what to do now."""
    reason = f"what {unread} says of the broker is not known"
    return f"{target}: nothing was stopped; {reason}; use the robot's own switch"
