"""`motiond stop` and `motiond estop` on the daemons' own machine: no configuration, no broker, no library.

All daemons are asked before any answer is waited for, so that one that hangs keeps no stop from the others.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import ExitStack

from motiond.local import Asked, Impostor, Peer, connected, daemons_here, hanging, holder_of

TYPE_CHECKING = False  # `typing` takes a tenth of what a stop may
if TYPE_CHECKING:
    from typing import Any, Self

    from motiond.local import DaemonHere

DEFAULT_CONFIG = "/etc/motiond/motiond.yaml"
ANSWER_S = 5.0
FIRST_S = 0.5
"""Where no daemon here has stopped the robot within this time, the brokers are asked as well."""
HOLDS, DROPS = "it holds", "it has no torque: go on holding it"
NOT_THERE = "UNKNOWN_ROBOT"
FAILED, NOBODY_ANSWERS = 1, 3


def stop_here(arguments: list[str]) -> int | None:
    """Stop a robot by each daemon of this machine that has it; return the exit code.

    It is None where a broker or another configuration is named, or no daemon here has stopped the robot: the
    stop is then sent again by the full program.
    """
    verb, *words = [word for word in arguments if word != "--json"]
    if len(words) != 1 or words[0].startswith("-") or os.environ.get("MOTIOND_BROKER"):
        return None
    config: str | None = os.environ.get("MOTIOND_CONFIG") or DEFAULT_CONFIG
    if config == DEFAULT_CONFIG and not os.path.exists(config):  # noqa: PTH110 - loads less
        config = None
    with Stop(verb, words[0], daemons_here(config)) as stop:
        stop.wait(FIRST_S)
        if not stop.answers:
            return None
        return stop.finish(as_json="--json" in arguments)


class Stop:
    """A stop of one robot that is sent to daemons of this machine.

    Attributes
    ----------
    answers : list of dict
        The data of the answer of each daemon that has the robot.
    refusals : list of str
    impostors : list of Impostor
        Who has a daemon's socket and is not believed; nothing was sent to them.
    """

    def __init__(self, verb: str, robot: str, daemons: list[DaemonHere]) -> None:
        self.answers: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        self.impostors: list[Impostor] = []
        self._verb, self._robot, self._daemons = verb, robot, daemons
        self._until_s = time.monotonic() + ANSWER_S
        self._asked: list[Asked] = []
        self._silent: list[Peer | None] = []
        self._connections = ExitStack()

    def __enter__(self) -> Self:
        for address, paths in self._daemons:
            try:
                connection = self._connections.enter_context(connected(address, *paths, timeout_s=ANSWER_S))
                self._asked.append(Asked(connection, {"robot": self._robot, "verb": self._verb}))
            except Impostor as error:
                self.impostors.append(error)
            except ConnectionRefusedError:  # it has just ended
                pass
            except OSError:  # so many wait already that it takes no connection
                self._silent.append(holder_of(address))
        return self

    def __exit__(self, *_: object) -> None:
        self._connections.close()

    def wait(self, timeout_s: float = ANSWER_S) -> None:
        """Take the answers that come in time."""
        until_s = min(self._until_s, time.monotonic() + timeout_s)
        for asked in self._asked[:]:
            try:
                answer = asked.answer(max(0.0, until_s - time.monotonic()))
            except (OSError, ValueError):  # it has ended, perhaps before it read the request
                self._silent.append(asked.peer)
            else:
                if answer is None:
                    continue
                if answer["status"] == "ok":
                    self.answers.append(answer["data"])
                elif answer.get("code") != NOT_THERE:
                    self.refusals.append(answer["error"])
            self._asked.remove(asked)

    def silent(self) -> list[str]:
        """Return a line for each daemon that has not answered."""
        return [
            hanging(self._robot, peer, ANSWER_S)
            for peer in (*self._silent, *(asked.peer for asked in self._asked))
        ]

    def finish(self, *, as_json: bool) -> int:
        """Write what became of the robot at each daemon; wait for those that have not answered yet."""
        code, written = 0, 0
        while True:
            for data in self.answers[written:]:
                does, problem = does_then(self._verb, data), unreached(data)
                if not as_json and not problem:
                    sys.stdout.write(f"{self._robot}: {does}\n")
                    sys.stdout.flush()
                elif problem:
                    code = _report(f"{self._robot}: {does}; {problem}")
            written = len(self.answers)
            if not self._asked or time.monotonic() >= self._until_s:
                break
            self.wait()
        if as_json and self.answers:
            slowest = max(self.answers, key=lambda data: data.get("stops_within_s", 0.0))
            sys.stdout.write(json.dumps(slowest, indent=2) + "\n")
            sys.stdout.flush()
        for line in (*self.refusals, *self.silent()):
            code = _report(line)
        for impostor in self.impostors:
            _report(str(impostor))
        return code


def does_then(verb: str, data: dict[str, Any]) -> str:
    """Return what a robot does after a stop, by the answer."""
    if verb == "stop" and data.get("ended_teaching"):
        return f"teaching has ended; {HOLDS if data['holds'] else DROPS}"
    if verb == "stop":
        return "nothing plays" if data.get("goal_id") is None else "stops softly"
    return "estopped" if data["state"] == "estopped" else f"{data['state']}; the emergency stop is latched"


def unreached(data: dict[str, Any]) -> str:
    """Return what has to be known of a stop where no actuator is there to be stopped; '' where one is."""
    if data.get("reached", data.get("state") != "offline"):
        return ""
    reason = f" ({message})" if (message := data.get("message")) else ""
    return f"it is offline{reason}, and no actuator was reached; use the robot's own switch"


def _report(line: str) -> int:
    print(line, file=sys.stderr)  # noqa: T201 - errors go to people
    return FAILED
