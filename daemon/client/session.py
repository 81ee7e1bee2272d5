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

from motiond.client import NoAnswer

from ..api import STOPS, RequestError
from .connection import ANSWER_TIMEOUT_S, Connection
from .finding import ask_everywhere, conversing_with

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ..config.mqtt import MqttSettings

RENEWALS_A_TTL = 3  # so that two of them may be lost
RELEASE_TIMEOUT_S = 1.0
LONGEST_HOLDER = 60
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
