"""Asks the daemon of a configuration on this machine for what concerns it as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from motiond.client import NoAnswer
from motiond.local import Impostor, address_of, connected, receive, send

from ..api import RequestError

if TYPE_CHECKING:
    from pathlib import Path

ANSWER_TIMEOUT_S = 85.0
"""Less than the 90 s that systemd gives to `ExecReload=`."""


def ask_here(
    config: Path, verb: str, *, timeout_s: float = ANSWER_TIMEOUT_S, robot: str | None = None, **body: Any
) -> dict[str, Any] | None:
    """Send a request and return the data of its answer; None where no daemon of that configuration runs here.

    Raises
    ------
    RequestError
        If the daemon does not do it; the message says why.
    Impostor
        If somebody else would answer.
    NoAnswer
        If it does not answer.
    """
    request = {"verb": verb, "body": body} | ({} if robot is None else {"robot": robot})
    try:
        with connected(address_of(config), config, timeout_s=timeout_s) as connection:
            send(connection, request)
            answer = receive(connection)
    except ConnectionRefusedError:
        return None
    except (OSError, ValueError) as error:
        reason = f"no answer in {timeout_s:g} s" if isinstance(error, TimeoutError) else str(error)
        raise NoAnswer(f"{config}: its daemon does not answer; {reason}; look at its log") from error
    data: dict[str, Any] = answer["data"]
    if answer["status"] != "ok":
        raise RequestError.of(answer["code"], answer["error"], data)
    return data


__all__ = ["Impostor", "ask_here"]
