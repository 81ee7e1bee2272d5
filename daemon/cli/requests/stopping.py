"""Stops a robot by each way that there is: its daemon on this machine, and its brokers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from motiond.client import ClientError, NoAnswer, Refused, connect
from motiond.local import Impostor

if TYPE_CHECKING:
    from pathlib import Path

    from ...config.mqtt import MqttSettings

log = logging.getLogger(__name__)


async def stopped_here(
    config: Path | None, robot: str, verb: str
) -> tuple[dict[str, Any] | None, ClientError | None]:
    """Stop a robot by its daemon on this machine, which may be at another broker, or at none.

    An impostor is logged as a warning, whatever another way to stop the robot brings.

    Parameters
    ----------
    config : Path, optional
        The daemon's configuration, by whose path it is found; the file is not read.

    Returns
    -------
    dict or None
        The data of the answer.
    ClientError or None
        Why there is none; None where no daemon of that configuration runs here.
    """
    if config is None:
        return None, None
    try:
        async with connect(config=config) as daemon:
            return await daemon.robot(robot).request(verb), None
    except ClientError as error:
        if isinstance(error.__cause__, ConnectionRefusedError):
            return None, None
        if isinstance(error.__cause__, Impostor):
            log.warning("%s", error)
        return None, error


async def stopped_at_brokers(
    settings: MqttSettings, robot: str, verb: str, failure: ClientError | None
) -> dict[str, Any]:
    """Stop a robot at all of its brokers, and return the data of the first answer.

    Parameters
    ----------
    failure : ClientError, optional
        Why its daemon on this machine has not stopped it.

    Raises
    ------
    Refused
    NoAnswer
        If nobody answers; the message says why, for each way.
    """
    from ...config.client import brokers_of

    try:
        async with connect(brokers_of(settings)) as daemon:
            return await daemon.robot(robot).request(verb)
    except NoAnswer as error:
        is_elsewhere = isinstance(failure, Refused) and failure.code == "UNKNOWN_ROBOT"
        if failure is None or is_elsewhere or isinstance(failure.__cause__, Impostor):  # which is logged
            raise
        raise NoAnswer(f"{error}\n{failure}") from failure
