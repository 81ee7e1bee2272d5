"""Stops a robot by each way that there is: the broker, and its daemon on this machine."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from ..api import RequestError
from .connection import ANSWER_TIMEOUT_S, NoAnswer
from .local import Impostor, ask_here
from .session import ask

if TYPE_CHECKING:
    from pathlib import Path

    from ..config.mqtt import MqttSettings

log = logging.getLogger(__name__)


async def stop(
    settings: MqttSettings, robot: str, verb: str, config: Path | None = None, *, here_first: bool = False
) -> dict[str, Any]:
    """Stop a robot over MQTT or by its daemon on this machine, and return the data of the answer.

    Parameters
    ----------
    settings : MqttSettings
        The broker that the daemon is connected to, as far as that is known.
    robot : str
    verb : {'stop', 'estop'}
    config : Path, optional
        The configuration of a daemon that may run on this machine, by whose path it is found: the file itself
        is not read. None where only the broker is asked.
    here_first : bool
        Whether that daemon is asked before the broker, as which broker it uses is a guess.

    Raises
    ------
    RequestError
        If it was refused at the broker.
    NoAnswer
        If it was answered in neither way; the message says why, for each.
    """
    refusal = None
    if here_first:
        answer, refusal = await stopped_here(config, robot, verb)
        if answer is not None:
            return answer
    try:
        return await ask(settings, robot, verb)
    except NoAnswer as error:
        answer = None
        if not here_first:
            answer, refusal = await stopped_here(config, robot, verb)
        if answer is not None:
            return answer
        is_known = isinstance(refusal, Impostor) or "the robots here are" in str(error)
        if refusal is None or is_known:
            raise
        raise NoAnswer(f"{error}\n{refusal}") from refusal


async def stopped_here(
    config: Path | None, robot: str, verb: str
) -> tuple[dict[str, Any] | None, Exception | None]:
    """Stop a robot by its daemon on this machine, which may be at another broker, or at none.

    An impostor is logged as a warning, whatever another way to stop the robot brings.

    Returns
    -------
    dict or None
        The data of the answer.
    Exception or None
        Why there is none; None where no daemon of that configuration runs here.
    """
    if config is None:
        return None, None
    try:
        # In a thread, so that whoever waits can still show that, and heed keys.
        asked = asyncio.to_thread(ask_here, config, verb, timeout_s=ANSWER_TIMEOUT_S, robot=robot)
        return await asked, None
    except Impostor as error:
        log.warning("%s", error)
        return None, error
    except (RequestError, NoAnswer) as error:
        return None, error
