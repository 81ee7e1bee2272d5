"""`motiond stop` and `motiond estop` on the daemon's own machine: no configuration, no broker, no library."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack

from motiond.local import Impostor, address_of, addresses, connected, receive, send

TYPE_CHECKING = False  # `typing` takes a tenth of what a stop may
if TYPE_CHECKING:
    from typing import Any

DEFAULT_CONFIG = "/etc/motiond/motiond.yaml"
ANSWER_S = 5.0
NOT_THERE = "UNKNOWN_ROBOT"


def is_stopped_here(arguments: list[str]) -> bool:
    """Stop a robot by each daemon of this machine that has it; return whether that is all there is to do.

    It is not where a broker or another configuration is named, where no daemon here has the robot, or where
    there is more to report than that it stops: the stop is then sent again by the full program.
    """
    verb, *words = [word for word in arguments if word != "--json"]
    if len(words) != 1 or words[0].startswith("-") or os.environ.get("MOTIOND_BROKER"):
        return False
    robot = words[0]
    try:
        answers = _answers(verb, robot)
        lines = [_line(verb, robot, answer) for answer in answers]
        if not any(lines):
            return False
        sys.stdout.write(_as_json(answers) if "--json" in arguments else "".join(lines))
        sys.stdout.flush()
    except (Impostor, OSError, ValueError, KeyError):
        return False
    return True


def _answers(verb: str, robot: str) -> list[dict[str, Any]]:
    """Send the stop to all daemons before any answer is waited for."""
    with ExitStack() as open_connections:
        asked, failures = [], list[Exception]()
        for address, *config in _daemons():
            try:
                connection = open_connections.enter_context(connected(address, *config, timeout_s=ANSWER_S))
                send(connection, {"robot": robot, "verb": verb})
            except (Impostor, OSError) as error:
                failures.append(error)
            else:
                asked.append(connection)
        answers = [receive(connection) for connection in asked]
        if failures:
            raise failures[0]
        return answers


def _daemons() -> list[tuple[str, ...]]:
    """Return the sockets of the daemons that are meant: that of the configuration, where there is one."""
    config = os.environ.get("MOTIOND_CONFIG") or DEFAULT_CONFIG
    if config == DEFAULT_CONFIG and not os.path.exists(config):  # noqa: PTH110 - loads less
        return [(address,) for address in addresses()]
    own = address_of(config)
    return [(own, config)] if own in addresses() else []


def _as_json(answers: list[dict[str, Any]]) -> str:
    """Return the data of the robot that takes longest to stop, where several daemons have one of the name."""
    stopped = [answer["data"] for answer in answers if answer["status"] == "ok"]
    return json.dumps(max(stopped, key=lambda data: data.get("stops_within_s", 0.0)), indent=2) + "\n"


def _line(verb: str, robot: str, answer: dict[str, Any]) -> str:
    """Return what is reported of one daemon's answer; '' where it does not have the robot.

    Raises
    ------
    ValueError
        If it is a refusal, or no actuator was reached.
    """
    if answer.get("code") == NOT_THERE:
        return ""
    data = answer["data"]
    if answer["status"] != "ok" or not data.get("reached", data.get("state") != "offline"):
        raise ValueError(answer)
    if verb == "stop":
        return f"{robot}: {'nothing plays' if data['goal_id'] is None else 'stops softly'}\n"
    is_halted = data["state"] == "estopped"
    return f"{robot}: {'estopped' if is_halted else data['state'] + '; the emergency stop is latched'}\n"
