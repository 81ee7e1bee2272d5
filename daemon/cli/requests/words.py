"""What a daemon refuses, in the words of the command line: its options and subcommands for keys and verbs."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...api import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MENDS: Mapping[str, str] = {
    "stop it first or send on_busy: replace": "stop it first, or add --replace or --queue",
    "stop that or send on_busy: replace": "stop that, or add --replace",
    "send reset when it is safe": "`motiond reset {robot}` when it is safe",
    "send reset when it is fixed": "`motiond reset {robot}` when it is fixed",
    "send seam: approach or ping_pong": "add --seam approach or --ping-pong",
    "clear the queue or wait": "`motiond queue {robot} --clear`, or wait",
    "send requests without one, or set lease.required": "command it without, or set lease.required",
    "if it is there, send goto with from_beyond: true": (
        "if it is there, `motiond goto {robot} … --from-beyond` brings it back"
    ),
    "play first": "`motiond play` first",
    "set it later": "set --start-at later",
    "send the request later": "start `motiond play` later",
    "wait until they are published": "try again in a moment",
    "it may come yet; `state` reports it": "it may come yet; `motiond status {robot}` shows it",
    "send it again": "try again",
    "ask them to release it, or take it by lease/take": (
        "ask them to release it, or `motiond control {robot} --take`"
    ),
}
"""How a line of the daemon's may end, and how it ends here."""

OPTIONS: Mapping[str, str] = {
    "first": "--first",
    "last": "--last",
    "loop": "--loop",
    "start_at": "--start-at",
    "motion": "the motion's name",
    "joints": "a joint's position",
    "pose": "the pose's name",
    "frame": "the frame",
    "time": "the time",
    "marker": "the marker's name",
}
"""What the daemon calls a key of a request, where a line begins with it, and what it is here."""


def in_own_words(error: RequestError, robot: str, verb: str) -> RequestError:
    """Return a refusal in the words of the command line, with the code and data that it had.

    Parameters
    ----------
    robot, verb : str
        Of the request that was refused.
    """
    lines = "\n".join(_line(line, robot, verb) for line in str(error).splitlines())
    return RequestError.of(error.code, lines, error.data)


@contextmanager
def own_words(robot: str, verb: str) -> Iterator[None]:
    """Raise a refusal of the body in the words of the command line."""
    try:
        yield
    except RequestError as error:
        raise in_own_words(error, robot, verb) from error


def unreached(answer: Mapping[str, Any]) -> str:
    """Return what has to be known of a stop where no actuator is there to be stopped; '' where one is."""
    if answer.get("reached", answer.get("state") != "offline"):
        return ""
    reason = f" ({message})" if (message := answer.get("message")) else ""
    return f"it is offline{reason}, and no actuator was reached; use the robot's own switch"


def _line(line: str, robot: str, verb: str) -> str:
    line = re.sub(rf"^{re.escape(f'{robot}/{verb}')}: ", f"{robot}: ", line)
    where, colon, rest = line.partition(": ")
    for key, option in OPTIONS.items():
        if found := re.match(rf"'?{key}(\.[^']*)?'? is ", rest):
            line = f"{where}{colon}{option} is {rest[found.end() :]}"
    for said, here in MENDS.items():
        if line.endswith(f"; {said}"):
            line = line.removesuffix(said) + here.format(robot=robot)
    return line
