"""Asks a running daemon over MQTT: what the subcommands that ask a daemon are made of.

Where a robot wants somebody to be in control of it and nobody is, control is acquired for as long as the
request, or what it has begun, takes.
"""

from __future__ import annotations

import asyncio
import getpass
import socket
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import aiomqtt

from ..api import STOPS, SUBJECTS, Report, RequestError, Subject
from ..mqtt.topics import ANY_ROBOT
from .connection import ANSWER_TIMEOUT_S, Connection, NoAnswer, at_broker
from .finding import ask_everywhere, broker_of, conversing_with

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable

    from ..config.mqtt import MqttSettings

LOOK_S = 0.1
RENEWALS_A_TTL = 3  # so that two of them may be lost
RELEASE_TIMEOUT_S = 1.0
LONGEST_HOLDER = 60
FIRST_S, SILENCE_S = 3.0, 0.3  # until something retained must have come, and then each next one
# The same once a robot has answered, for brokers that look up meanwhile what they have retained.
SETTLED_S = 0.05
NO_RESULT = "its motion is over, and no result comes; the broker may not take it; look at the daemon's log"
HARMLESS = {*STOPS, "status"}
"""What may be asked at brokers where the daemon is not, too."""


async def ask(
    settings: MqttSettings,
    robot: str,
    verb: str,
    payload: dict[str, Any] | None = None,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> dict[str, Any]:
    """Send one request and give the data of its answer.

    Of several brokers, a stop is sent to each at once, all else to the one where the daemon is.

    Parameters
    ----------
    settings : MqttSettings
        The broker that the daemon is connected to, or several of which it is at one.
    robot, verb : str
        Whom to ask, and for what: one of `motiond.daemon.api.requests.VERBS`.
    payload : dict, optional
        The request's keys and values.
    timeout_s : float
        How long to wait for the answer.

    Raises
    ------
    RequestError
        If the request was refused, with the daemon's code, message and data.
    NoAnswer
        If there is no broker, or no answer in time; the message says what to do.
    """
    payload = payload or {}
    if verb in HARMLESS and len(settings.each()) > 1:
        return await ask_everywhere(settings.each(), robot, verb, payload, timeout_s)
    async with conversing_with(settings, robot) as connection, AsyncExitStack() as stack:
        return await _ask_in_control(stack, connection, verb, payload, timeout_s)


async def begin_and_wait(
    settings: MqttSettings,
    robot: str,
    verb: str,
    request: dict[str, Any],
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> AsyncGenerator[Report]:
    """Set a robot going and give its reports: states, the one result, and then what follows it by itself.

    What follows a motion that ended well is what `on_end` asks for. For `release` there come states until
    torque is off; for `park` states, and the result of `park` or the event that says why there is none. They
    end early where somebody else sets the robot going, or where it is halted or offline.

    Close it (`contextlib.aclosing`) if not run to its end; that stops the listening, not the robot.

    Parameters
    ----------
    settings : MqttSettings
        The broker that the daemon is connected to.
    robot : str
        The robot to set going.
    verb : {'play', 'goto'}
        How.
    request : dict
        Keys and values of such a request.
    timeout_s : float
        How long to wait for an answer, and how long the robot may say nothing before it is asked.

    Raises
    ------
    RequestError
        If the request was refused.
    NoAnswer
        If the daemon does not answer, or no longer.
    """
    async with conversing_with(settings, robot) as connection, AsyncExitStack() as stack:
        await connection.listen("state", "result", "event")
        goal_id = (await _ask_in_control(stack, connection, verb, request, timeout_s))["goal_id"]
        result: dict[str, Any] = {}
        async for report in _until_result(connection, goal_id, timeout_s):
            yield report
            if report.subject == "result":
                result = report.data
        async for report in _followed(connection, result, timeout_s):
            yield report


async def _until_result(connection: Connection, goal_id: str, timeout_s: float) -> AsyncIterator[Report]:
    """Yield a goal's states and its result.

    Raises
    ------
    NoAnswer
        If the robot has been without the goal for twice `timeout_s`, and its result has not come: the broker
        may keep it back.
    """
    now = asyncio.get_running_loop().time
    known_s = now()
    async for report in connection.reports(timeout_s):
        if report.subject == "event":
            continue
        if report.data.get("goal_id") == goal_id:
            known_s = now()
            yield report
            if report.subject == "result":
                return
        elif now() - known_s >= 2.0 * timeout_s:
            waiting = (await connection.ask("queue", {}, timeout_s))["queue"]
            if not any(one["goal_id"] == goal_id for one in waiting):
                raise NoAnswer(f"{connection.robot}: {NO_RESULT}")
            known_s = now()


async def _ask_in_control(
    stack: AsyncExitStack, connection: Connection, verb: str, payload: dict[str, Any], timeout_s: float
) -> dict[str, Any]:
    """Ask; if nobody is in control and somebody has to be, be it from then on, as long as the stack lasts."""
    try:
        return await connection.ask(verb, payload, timeout_s)
    except RequestError as error:
        if error.code != "NOT_IN_CONTROL" or error.data["holder"] is not None or verb.startswith("lease/"):
            raise
    control = _in_control(connection.settings, connection.robot, holder_of(verb), timeout_s)
    lease = await stack.enter_async_context(control)
    return await connection.ask(verb, {**payload, "lease": lease}, timeout_s)


@asynccontextmanager
async def _in_control(
    settings: MqttSettings, robot: str, holder: str, timeout_s: float
) -> AsyncIterator[str]:
    """Be in control; renewals have a connection of their own, as they wait for no other answer."""
    async with conversing_with(settings, robot) as connection:
        given = await connection.ask("lease/acquire", {"holder": holder}, timeout_s)
        lease: str = given["lease"]
        keeping = asyncio.create_task(_keep(connection, lease, given["ttl_s"]), name="lease.keep")
        try:
            yield lease
        finally:
            keeping.cancel()
            await asyncio.wait((keeping,))
            with suppress(RequestError, NoAnswer, aiomqtt.MqttError):  # it runs out by itself
                await connection.ask("lease/release", {"lease": lease}, RELEASE_TIMEOUT_S)


async def _keep(connection: Connection, lease: str, ttl_s: float) -> None:
    """Renew a lease until it is lost; what that leads to is the daemon's to say."""
    with suppress(RequestError, aiomqtt.MqttError):
        while True:
            await asyncio.sleep(ttl_s / RENEWALS_A_TTL)
            with suppress(NoAnswer):
                await connection.ask("lease/renew", {"lease": lease}, ttl_s / RENEWALS_A_TTL)


def holder_of(verb: str) -> str:
    """Return what others are told of who is in control: the user, the machine and the subcommand."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # one that the machine has no name for
        user = "somebody"
    told = f"{user}@{socket.gethostname()} (motiond {verb})"
    return "".join(one if one.isprintable() else "?" for one in told)[:LONGEST_HOLDER].strip()


async def _followed(
    connection: Connection, result: dict[str, Any], timeout_s: float
) -> AsyncIterator[Report]:
    """Yield what follows a result, until it is done.

    The robot is asked for its state: how a report of it stands to the result in time is not known, as they
    are published apart.
    """
    follows, at_rest_s = result["follows"], 0.0
    while follows in {"release", "park"} and at_rest_s < timeout_s:
        state = await connection.ask("status", {}, timeout_s)
        yield Report(connection.robot, "state", state)
        for report in connection.take_reports():
            ended = report.subject == "result" and report.data["motion"] == "park"
            if ended and report.data["goal_id"] != result["goal_id"]:
                yield report
                return
            if report.subject == "event" and report.data["kind"] == "not_parked":
                yield report
                return
        if follows == "release" and not state["torque"]:
            return
        if state["state"] in {"offline", "estopped", "fault"} or state["motion"] not in {None, "park"}:
            return
        await asyncio.sleep(LOOK_S)
        at_rest_s = at_rest_s + LOOK_S if state["state"] == "idle" and state["goal_id"] is None else 0.0


async def watch(
    settings: MqttSettings, robot: str = ANY_ROBOT, subjects: Iterable[Subject] = SUBJECTS
) -> AsyncGenerator[Report]:
    """Yield reports as they arrive, those that last at once, until the caller closes it.

    Parameters
    ----------
    settings : MqttSettings
        The broker that the daemon is connected to.
    robot : str
        Whom to watch; `+` is everyone.
    subjects : iterable of str
        What to watch.

    Raises
    ------
    NoAnswer
        If there is no broker, or no longer.
    """
    async with _listening(settings, robot) as connection:
        await connection.listen(*subjects)
        async for report in connection.reports(None):
            yield report


async def retained(
    settings: MqttSettings,
    robot: str = ANY_ROBOT,
    subjects: Iterable[Subject] = SUBJECTS,
    meanwhile: Callable[[], object] | None = None,
) -> tuple[list[Report], dict[str, dict[str, Any]]]:
    """Return what the broker has retained, and the answer of a robot that was asked for its status.

    A broker does not say when that was all. What it has retained is on its way before the answer of a robot
    that is asked afterwards; where none answers soon, only silence tells.

    Parameters
    ----------
    meanwhile : callable, optional
        Begins what can be done in that silence; called once a robot has answered.

    Raises
    ------
    NoAnswer
        If there is no broker, or no longer.
    """
    told: list[Report] = []
    answers: dict[str, dict[str, Any]] = {}
    loop, silence_s, asked = asyncio.get_running_loop(), SILENCE_S, False
    async with _listening(settings, robot) as connection:
        await connection.listen(*subjects)
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_S) as limit:
                async for report in connection.reports(None):
                    told.append(report)
                    if not asked and _is_online(report):
                        asked = True
                        limit.reschedule(None)
                        answers = await _status_of(connection, report.robot)
                        silence_s = SETTLED_S if answers else SILENCE_S
                        if answers and meanwhile is not None:
                            meanwhile()
                    limit.reschedule(loop.time() + silence_s)
    return told, answers


@asynccontextmanager
async def _listening(settings: MqttSettings, robot: str) -> AsyncIterator[Connection]:
    """Begin a conversation for what is retained too, which may be of a robot that is gone."""
    broker = await broker_of(settings, robot)
    async with at_broker(broker) as client:
        yield Connection(client, broker, robot)


def _is_online(report: Report) -> bool:
    return report.subject == "availability" and report.data.get("state") == "online"


async def _status_of(connection: Connection, robot: str) -> dict[str, dict[str, Any]]:
    """Return the status of a robot by its name; nothing where it does not answer soon."""
    connection.robot = robot
    with suppress(NoAnswer, RequestError):
        return {robot: await connection.ask("status", {}, SILENCE_S)}
    return {}
