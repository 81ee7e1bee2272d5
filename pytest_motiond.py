"""A pytest plugin that lets tests play motions on a daemon of their own, with simulated actuators.

In comes a configuration of motiond, by the marker `motiond` or pytest's options; out comes the fixture
`motiond_robot`, which asks a real daemon over MQTT (topics and answers as in `docs/mqtt.md`). The daemon runs
a copy of the configuration in which every driver is `sim` and the broker is its own, so no test can reach
hardware. Nothing of motiond is imported, and a suite that uses no fixture of it pays nothing.

    AssertionError
    └── MotiondFailure       fails the test, with what the daemon said in the report
        ├── RequestRefused   the daemon refused; `.code` and `.data` say why to programs
        ├── NotInTime        what was waited for did not come
        └── DaemonEnded      the daemon is gone
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar, overload
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    import paho.mqtt.client as paho
    from numpy.typing import NDArray

    Floats = NDArray[Any]
    Found = TypeVar("Found")

__all__ = [
    "DaemonEnded",
    "Goal",
    "MotiondDaemon",
    "MotiondFailure",
    "MotiondRobot",
    "NotInTime",
    "RequestRefused",
    "Result",
    "Series",
    "Trace",
]

HOST = "127.0.0.1"
PORTS = range(20_000, 32_000)
"""Below those that the system hands out by itself."""
STATES = (
    "offline",
    "idle",
    "approaching",
    "playing",
    "pausing",
    "paused",
    "stopping",
    "estopped",
    "fault",
)
KEPT_OF_MQTT = ("base", "telemetry_hz", "stop_when_lost_s")
SUBJECTS = ("availability", "description", "state", "result", "event", "telemetry", "response/#")
TELEMETRY_HZ = 50
START_S, STOP_S, ANSWER_S, STATE_S, RESULT_S = 30.0, 10.0, 30.0, 5.0, 60.0
LOOK_S = 0.05
START_TRIES = 3
REFUSED_TO_LISTEN, REFUSED_CONFIGURATION = 1, 2
"""Exit codes of `motiond run`."""
LAUNCH = "import ctypes; ctypes.CDLL(None).prctl(1, 15); from motiond.daemon.cli.main import main; main()"
"""PR_SET_PDEATHSIG with SIGTERM: a test run that is killed takes its daemons along."""

_USED = pytest.StashKey["MotiondDaemon"]()


class MotiondFailure(AssertionError):
    """The daemon or a robot did not do as the test expected."""


class RequestRefused(MotiondFailure):
    """The daemon refused a request.

    Attributes
    ----------
    code : str
        As `docs/mqtt.md` lists them: BUSY, UNKNOWN_MOTION and so on.
    data : dict
        What it added for programs.
    """

    def __init__(self, code: str, message: str, data: dict[str, Any]) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.data = data


class NotInTime(MotiondFailure):
    """What was waited for did not come."""


class DaemonEnded(MotiondFailure):
    """The daemon ended by itself.

    Attributes
    ----------
    exit_code : int
        Of the program; negative: the signal.
    """

    def __init__(self, config: Path, exit_code: int) -> None:
        super().__init__(f"{config}: motiond ended with exit code {exit_code}; its log tells why")
        self.exit_code = exit_code


# -- what a robot gives back --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Result:
    """How a goal ended, as published on `<robot>/result`."""

    goal_id: str
    motion: str
    code: str
    message: str
    transaction: str | None
    played_s: float | None
    details: dict[str, Any] = field(repr=False)
    timing: dict[str, Any] | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Series:
    """Positions, velocities and efforts over time, in rad or m, s, N·m or N; NaN where there is none.

    Attributes
    ----------
    names : tuple of str
        Of the columns.
    time_s : ndarray, shape (rows,)
        `time.monotonic()`.
    position, velocity, effort : ndarray, shape (rows, columns)
    """

    names: tuple[str, ...]
    time_s: Floats
    position: Floats
    velocity: Floats
    effort: Floats

    def of(self, name: str) -> Series:
        """Give one column, with arrays of shape (rows,)."""
        if name not in self.names:
            raise MotiondFailure(f"trace: no '{name}'; it has {', '.join(self.names)}; name one of them")
        column = self.names.index(name)
        values = (self.position, self.velocity, self.effort)
        return Series((name,), self.time_s, *(value[:, column] for value in values))


@dataclass(frozen=True, slots=True)
class Trace:
    """What was sent to the actuators while a goal lasted, and what came back.

    It begins when `play` is sent, so with the robot at rest and the approach, and ends with the result.

    Attributes
    ----------
    setpoints : Series
        Every command that the driver received, bit for bit, by actuator.
    enabled : ndarray of bool, shape (rows,)
        Whether torque was on at each of them.
    reference, feedback : Series
        Samples of setpoints and of what the actuators reported, by joint, `mqtt.telemetry_hz` times a second.
    """

    setpoints: Series
    enabled: Floats
    reference: Series
    feedback: Series


# -- the daemon ---------------------------------------------------------------------------------------------


class _Heard(NamedTuple):
    """A message, and when it came."""

    at_s: float
    data: dict[str, Any]


class _Line:
    """A connection to one daemon, which keeps what it hears by topic."""

    def __init__(self, base: str) -> None:
        from paho.mqtt import client as paho  # noqa: PLC0415 - costs nothing unless used
        from paho.mqtt.enums import CallbackAPIVersion  # noqa: PLC0415 - the same

        self._base = base
        self._heard: defaultdict[str, list[_Heard]] = defaultdict(list)
        self._changed = threading.Condition()
        self._client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv311)
        self._client.reconnect_delay_set(LOOK_S, LOOK_S)  # type: ignore[arg-type] # fractions work as well
        self._client.on_connect = self._subscribe
        self._client.on_message = self._hear

    def open(self, port: int) -> None:
        """Connect in the background, as soon as somebody listens."""
        self._client.connect_async(HOST, port)
        self._client.loop_start()

    def close(self) -> None:
        """Disconnect, and end the thread that listened."""
        self._client.disconnect()
        self._client.loop_stop()

    def _subscribe(self, client: paho.Client, *_: object) -> None:
        topics = [f"{self._base}/bridge/+/availability", *(f"{self._base}/+/{one}" for one in SUBJECTS)]
        client.subscribe([(topic, 1) for topic in topics])

    def _hear(self, _client: paho.Client, _userdata: object, message: paho.MQTTMessage) -> None:
        heard = _Heard(time.monotonic(), json.loads(message.payload))
        with self._changed:
            self._heard[message.topic.removeprefix(f"{self._base}/")].append(heard)
            self._changed.notify_all()

    def heard(self, topic: str) -> list[_Heard]:
        """Give all messages on a topic below the base, oldest first."""
        with self._changed:
            return list(self._heard[topic])

    def said(self, topic: str) -> list[dict[str, Any]]:
        """Give their contents alone."""
        return [one.data for one in self.heard(topic)]

    def forget(self) -> None:
        """Forget all but the latest message on each topic that lasts."""
        with self._changed:
            for topic, heard in self._heard.items():
                lasts = topic.endswith(("/availability", "/description", "/state"))
                del heard[: -1 if lasts else None]

    def publish(self, topic: str, data: Mapping[str, Any]) -> None:
        """Publish with QoS 1."""
        self._client.publish(f"{self._base}/{topic}", json.dumps(data), qos=1)

    def wait(
        self, found: Callable[[], Found | None], timeout_s: float, check: Callable[[], None]
    ) -> Found | None:
        """Wait until `found` gives something; calls `check`, which may raise, now and then."""
        __tracebackhide__ = True
        deadline_s = time.monotonic() + timeout_s
        while (something := found()) is None and (left_s := deadline_s - time.monotonic()) > 0:
            check()
            with self._changed:
                self._changed.wait(min(LOOK_S, left_s))
        return something


class MotiondDaemon:
    """A daemon with simulated actuators, and a broker of its own on the loopback.

    Parameters
    ----------
    config : Path
        The user's configuration.
    scratch : Path
        An empty folder for the copy, the log and the traces.

    Attributes
    ----------
    host, port, base : str, int, str
        Where MQTT clients of the test's own find it.
    id : str
        Its name among daemons.
    robots : tuple of str
        The robots of the configuration.
    spent : bool
        Whether the next test needs another one.
    """

    def __init__(self, config: Path, scratch: Path) -> None:
        self.config = config
        self.host, self.port = HOST, 0
        self.id = f"pytest-{uuid4().hex[:8]}"
        self.spent = False
        self._scratch = scratch
        self._settings = _read_settings(config)
        self.base: str = self._settings.get("mqtt", {}).get("base", "motiond")
        self.robots = tuple(self._settings["robots"])
        self._log = scratch / "motiond.log"
        self._seen = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.line: _Line

    def start(self) -> Self:
        """Start it, and wait until every robot is on line; fails the test otherwise."""
        for tries_left in reversed(range(START_TRIES)):
            try:
                self._launch()
                self._await_robots()
            except DaemonEnded as error:
                self.stop()
                if error.exit_code == REFUSED_CONFIGURATION:
                    raise _wrong(self.config) from error
                if error.exit_code != REFUSED_TO_LISTEN or not tries_left:
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                return self
        raise AssertionError  # the last try returns or raises

    def _launch(self) -> None:
        import yaml  # noqa: PLC0415 - costs nothing unless used

        self.port = _free_port()
        copy = self._scratch / self.config.name
        listen = f"{HOST}:{self.port}"
        simulated = _simulated(self._settings, self.config.absolute().parent, self._scratch)
        mqtt = {"broker": "embedded", "listen": listen, **simulated["mqtt"]}
        copy.write_text(yaml.safe_dump({**simulated, "id": self.id, "mqtt": mqtt}, sort_keys=False))
        self.line = _Line(self.base)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own program, by our own interpreter
                [sys.executable, "-P", "-c", LAUNCH, "run", "-c", str(copy)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.line.open(self.port)

    def _await_robots(self) -> None:
        def ready() -> bool | None:
            daemon = self.line.said(f"bridge/{self.id}/availability")[-1:]
            states = [state for robot in self.robots for state in self.line.said(f"{robot}/state")[-1:]]
            idle = [state for state in states if state["state"] == "idle"]
            return (bool(daemon) and len(idle) == len(self.robots)) or None

        if not self.line.wait(ready, START_S, self.check):
            raise NotInTime(f"{self.config}: its robots were not on line in {START_S:g} s; its log tells why")

    def stop(self) -> None:
        """End it and everything it started, softly if it can; any number of times."""
        if self._process is None:
            return
        self.line.close()
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGTERM)
        deadline_s = time.monotonic() + STOP_S
        while self._exit_code() is None and time.monotonic() < deadline_s:
            time.sleep(LOOK_S)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def _exit_code(self) -> int | None:
        """Give what it ended with (negative: the signal), and leave its id taken; None while it runs."""
        if self._process is None:
            return None
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    @property
    def pid(self) -> int | None:
        """Its process id; None once it was stopped."""
        return self._process.pid if self._process else None

    @property
    def log(self) -> str:
        """What it has written to its log since the test began."""
        with self._log.open("rb") as log:
            log.seek(self._seen)
            return log.read().decode(errors="backslashreplace")

    def check(self) -> None:
        """Fail if it has ended."""
        code = self._exit_code() if self._process else 0
        if code is None:
            return
        __tracebackhide__ = True
        self.spent = True
        raise DaemonEnded(self.config, code)

    def begin_test(self) -> None:
        """Forget what earlier tests made it say."""
        self.line.forget()
        self._seen = self._log.stat().st_size

    def usable(self) -> bool:
        """Say whether another test may use it: nothing went wrong, and every robot is idle."""
        latest = [state for robot in self.robots for state in self.line.said(f"{robot}/state")[-1:]]
        at_rest = all(state["state"] == "idle" and not state["goal_id"] for state in latest)
        return not self.spent and self._exit_code() is None and at_rest

    def setpoints(self, robot: str) -> tuple[Floats, tuple[str, ...]]:
        """Give all commands to a robot's driver (rows as in `drivers.sim.command_log`), and its actuators."""
        description = self.line.said(f"{robot}/description")[-1]
        return _read_trace(_trace_file(self._scratch, robot)), tuple(description["actuators"])


def _free_port() -> int:
    """Give a port that nobody listens on; another process may be quicker, hence the tries to start."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))
            return port


def _trace_file(scratch: Path, robot: str) -> Path:
    return scratch / f"{robot}.npy"


def _read_trace(path: Path) -> Floats:
    """Read NumPy's NEP 1, whose header does not tell the number of rows while the file still grows."""
    import numpy as np  # noqa: PLC0415 - costs nothing unless used

    npy: Any = np.lib.format  # typed only from NumPy 2 on
    with path.open("rb") as file:
        npy.read_magic(file)
        dtype = npy.read_array_header_1_0(file)[2]
        data = file.read()
    return np.frombuffer(data, dtype, len(data) // dtype.itemsize)


# -- the configuration --------------------------------------------------------------------------------------


def _read_settings(config: Path) -> dict[str, Any]:
    """Read a configuration as far as it must be known to be made harmless; what is wrong, motiond says."""
    import yaml  # noqa: PLC0415 - costs nothing unless used

    try:
        settings: Any = yaml.safe_load(config.read_bytes())
    except OSError as error:
        raise MotiondFailure(f"{config}: {error.strerror}; name a configuration of motiond") from error
    except yaml.YAMLError:
        settings = None
    if not _is_readable(settings):
        raise _wrong(config)
    return {**settings}


def _is_readable(settings: Any) -> bool:
    """Say whether the parts that are about to be changed are where they belong."""
    match settings:
        case {"robots": {**robots}, **rest}:
            parts = (*robots.values(), *(rest[key] for key in ("mqtt", "realtime") if key in rest))
            return bool(robots) and all(isinstance(part, dict) for part in parts)
    return False


def _wrong(config: Path) -> MotiondFailure:
    """Let motiond itself say what is wrong with the user's own file."""
    command = [sys.executable, "-P", "-m", "motiond.daemon.cli", "check", "-c", str(config)]
    checked = subprocess.run(  # noqa: S603 - our own program, by our own interpreter
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_S, check=False
    )
    return MotiondFailure(f"{config}: motiond cannot run it; `motiond check` says:\n{checked.stderr}")


def _simulated(settings: dict[str, Any], folder: Path, scratch: Path) -> dict[str, Any]:
    """Give a configuration's copy that moves nothing real, takes faults, and may stand in another folder.

    It is tied to no core, as tests in several processes at once would all meet there.
    """
    mqtt = settings.get("mqtt", {})
    robots = {
        name: _simulated_robot(robot, folder, _trace_file(scratch, name))
        for name, robot in settings["robots"].items()
    }
    copy = {**settings, "robots": robots}
    copy["mqtt"] = {"telemetry_hz": TELEMETRY_HZ} | {key: mqtt[key] for key in KEPT_OF_MQTT if key in mqtt}
    if "model_folders" in copy:
        copy["model_folders"] = _found_from(folder, copy["model_folders"])
    if "realtime" in copy:
        copy["realtime"] = {**copy["realtime"], "core": None}
    return copy


def _simulated_robot(robot: dict[str, Any], folder: Path, trace: Path) -> dict[str, Any]:
    driver = robot.get("driver")
    options = driver if isinstance(driver, dict) and driver.get("type") == "sim" else {}
    own = {"type": "sim", "trace": str(trace)}
    simulated = {**robot, "driver": {**options, **own}, "fault_requests": True}
    simulated["driver"].pop("plant", None)
    for key in ("model", "motions"):
        if key in robot:
            simulated[key] = _found_from(folder, robot[key])
    return simulated


def _found_from(folder: Path, given: Any) -> Any:
    """Make one path, several, or that of a mapping `{file: …}` absolute."""
    match given:
        case str():
            return str(folder / given)
        case list():
            return [_found_from(folder, one) for one in given]
        case {"file": str(file)}:
            return {**given, "file": str(folder / file)}
    return given


# -- the robot ----------------------------------------------------------------------------------------------


class Goal:
    """A motion that a robot has accepted; made by `MotiondRobot.play(…, wait=False)`.

    Attributes
    ----------
    goal_id : str
    sent_s : float
        `time.monotonic()` when it was asked for.
    """

    def __init__(self, robot: MotiondRobot, goal_id: str, sent_s: float) -> None:
        self.goal_id = goal_id
        self.sent_s = sent_s
        self._robot = robot

    def result(self, timeout_s: float = RESULT_S) -> Result:
        """Wait for its end, and until the robot has left it."""
        __tracebackhide__ = True
        robot = self._robot
        robot.wait(self._heard, timeout_s, f"no result of goal {self.goal_id}")
        robot.wait(self._left, ANSWER_S, f"goal {self.goal_id} has a result and is still active")
        heard = self._heard()
        assert heard is not None  # noqa: S101 - waited for above
        return _result(heard.data)

    def ended(self) -> _Heard | None:
        """Give its result as it came, if it has come."""
        return self._heard()

    def _heard(self) -> _Heard | None:
        results = self._robot.heard("result")
        return next((one for one in results if one.data["goal_id"] == self.goal_id), None)

    def _left(self) -> bool | None:
        return self._robot.state["goal_id"] != self.goal_id or None


def _result(data: Mapping[str, Any]) -> Result:
    values: dict[str, Any] = {key.name: data.get(key.name) for key in fields(Result)}
    return Result(**values)


class MotiondRobot:
    """One robot of a daemon, for one test.

    Every method fails the test when it cannot do what it says: `RequestRefused`, `NotInTime`, `DaemonEnded`.

    Attributes
    ----------
    name : str
    daemon : MotiondDaemon
    goal : Goal or None
        What the test played last.
    """

    def __init__(self, daemon: MotiondDaemon, name: str) -> None:
        self.name = name
        self.daemon = daemon
        self.goal: Goal | None = None
        self._since = len(self.heard("state"))

    # -- asking ---------------------------------------------------------------------------------------------

    def request(self, verb: str, **keys: Any) -> dict[str, Any]:
        """Send any request of `docs/mqtt.md` and give the `data` of its answer.

        What `expect_state` takes for news begins here. A robot that a fault was asked for serves no further
        test.
        """
        __tracebackhide__ = True
        self._since = len(self.heard("state"))
        transaction = uuid4().hex
        self.daemon.line.publish(f"{self.name}/request/{verb}", {"transaction": transaction, **keys})
        answer = self.wait(
            lambda: self._answer(verb, keys.get("transaction", transaction)),
            ANSWER_S,
            f"no answer to {verb}",
        )
        data: dict[str, Any] = answer["data"]
        if answer["status"] != "ok":
            raise RequestRefused(answer["code"], answer["error"], data)
        self.daemon.spent |= verb == "fault"
        if "state" in data:
            self.wait(lambda: self._reported(data["state"]), ANSWER_S, f"'{data['state']}' was not reported")
        return data

    def _answer(self, verb: str, transaction: str) -> dict[str, Any] | None:
        answers = self._said(f"response/{verb}")
        return next((one for one in reversed(answers) if one["transaction"] == transaction), None)

    @overload
    def play(
        self, motion: str, *, wait: Literal[True] = True, timeout_s: float = RESULT_S, **keys: Any
    ) -> Result: ...

    @overload
    def play(
        self, motion: str, *, wait: Literal[False], timeout_s: float = RESULT_S, **keys: Any
    ) -> Goal: ...

    def play(
        self, motion: str, *, wait: bool = True, timeout_s: float = RESULT_S, **keys: Any
    ) -> Result | Goal:
        """Play a motion to its end, whatever that is; with `wait=False`, only until it has begun.

        Parameters
        ----------
        motion : str
            One that the configuration finds.
        wait : bool
            Whether to wait for the result.
        timeout_s : float
            How long the result may take, approach included.
        **keys
            Further keys of the request `play`: `speed`, `loop`, `on_busy` and so on.
        """
        __tracebackhide__ = True
        sent_s = time.monotonic()
        data = self.request("play", motion=motion, **keys)
        self.goal = goal = Goal(self, data["goal_id"], sent_s)
        if "queued" not in data:
            self.wait(lambda: goal.ended() or self._begun(goal), ANSWER_S, f"{motion} did not begin")
        return goal.result(timeout_s) if wait else goal

    def _begun(self, goal: Goal) -> dict[str, Any] | None:
        return next((one for one in self._news() if one["goal_id"] == goal.goal_id), None)

    def pause(self) -> dict[str, Any]:
        """Slow down on the path; back when the robot is at rest."""
        __tracebackhide__ = True
        return self.request("pause")

    def resume(self) -> dict[str, Any]:
        """Go on along the path."""
        __tracebackhide__ = True
        return self.request("resume")

    def stop(self) -> dict[str, Any]:
        """Stop softly; `expect_state("idle")` waits for the end of it."""
        __tracebackhide__ = True
        return self.request("stop")

    def inject(self, fault: str, *, joint: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Let the simulated actuators fail, as told in `docs/faults.md`; of all joints, or of one."""
        __tracebackhide__ = True
        keys = {"fault": fault, "joint": joint, **parameters}
        return self.request("fault", **{key: value for key, value in keys.items() if value is not None})

    # -- watching -------------------------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        """What it reported of its state last."""
        return self._said("state")[-1]

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events since the test began, oldest first."""
        return self._said("event")

    @property
    def result(self) -> Result | None:
        """The result of the last `play`; None until it has come."""
        heard = self.goal.ended() if self.goal else None
        return _result(heard.data) if heard else None

    def expect_state(self, state: str, timeout_s: float = STATE_S) -> dict[str, Any]:
        """Wait for a state and give what was reported with it.

        It is enough that the robot has reported it since the last request, so that no short one is missed;
        the next call looks on from there. Where nothing was reported since, the robot may be in it already.
        """
        __tracebackhide__ = True
        if state not in STATES:
            raise MotiondFailure(f"{self.name}: no state '{state}'; there are {', '.join(STATES)}; name one")
        index = self.wait(lambda: self._index_of(state), timeout_s, f"not in state '{state}'")
        self._since = min(index, len(self.heard("state")) - 1)
        return self._said("state")[index]

    def _index_of(self, state: str) -> int | None:
        reported = self._said("state")
        first = min(self._since, len(reported) - 1)
        found = (index for index in range(first, len(reported)) if reported[index]["state"] == state)
        return next(found, None)

    def expect_event(self, kind: str, containing: str = "", timeout_s: float = STATE_S) -> dict[str, Any]:
        """Wait for an event of this test: of a kind, and with a text in its message."""
        __tracebackhide__ = True
        expected = f"'{kind}'" + (f" with '{containing}'" if containing else "")
        return self.wait(lambda: self._event(kind, containing), timeout_s, f"no event {expected}")

    def _event(self, kind: str, containing: str) -> dict[str, Any] | None:
        found = (one for one in self.events if one["kind"] == kind and containing in one["message"])
        return next(found, None)

    def trace(self) -> Trace:
        """Give what was sent and measured from the last `play` up to its result, or up to now."""
        __tracebackhide__ = True
        if self.goal is None:
            raise MotiondFailure(f"{self.name}: no trace; the test has not played anything; play first")
        ended = self.goal.ended()
        return self._traced(self.goal.sent_s, ended.at_s if ended else time.monotonic())

    def _traced(self, begin_s: float, end_s: float) -> Trace:
        rows, actuators = self.daemon.setpoints(self.name)
        rows = rows[(rows["time"] >= begin_s) & (rows["time"] <= end_s)]
        values = (rows["position"], rows["velocity"], rows["effort"])
        description = self._said("description")[-1]
        joints = tuple(joint["name"] for joint in description["joints"])
        samples = [one for one in self._said("telemetry") if begin_s <= one["stamp_s"] <= end_s]
        return Trace(
            Series(actuators, rows["time"], *values),
            rows["enabled"],
            _series(joints, samples, "reference"),
            _series(joints, samples, "feedback"),
        )

    # -- waiting --------------------------------------------------------------------------------------------

    def heard(self, subject: str) -> list[_Heard]:
        """Give all it said on a subject, with the times."""
        return self.daemon.line.heard(f"{self.name}/{subject}")

    def wait(self, found: Callable[[], Found | None], timeout_s: float, failure: str) -> Found:
        """Wait until `found` gives something; fails the test with what the robot did instead."""
        __tracebackhide__ = True
        something = self.daemon.line.wait(found, timeout_s, self.daemon.check)
        if something is None:
            raise NotInTime(f"{self.name}: {failure} in {timeout_s:g} s; {self._account()}")
        return something

    def _said(self, subject: str) -> list[dict[str, Any]]:
        return self.daemon.line.said(f"{self.name}/{subject}")

    def _news(self) -> list[dict[str, Any]]:
        """Give the states reported since the last request."""
        return self._said("state")[self._since :]

    def _reported(self, state: str) -> bool | None:
        return self._index_of(state) is not None or None

    def _account(self) -> str:
        """Tell in a few words what it did since the last request."""
        states = [_told(state) for state in (self._news() or [self.state])]
        changes = [state for state, before in zip(states, [None, *states], strict=False) if state != before]
        return f"it was {', '.join(changes)}"


def _told(state: Mapping[str, Any]) -> str:
    return f"{state['state']} ({state['message']})" if state["message"] else str(state["state"])


def _series(joints: tuple[str, ...], samples: list[dict[str, Any]], name: str) -> Series:
    """Gather telemetry; `null` is NaN."""
    import numpy as np  # noqa: PLC0415 - costs nothing unless used

    time_s = np.array([sample["stamp_s"] for sample in samples], float)
    shape = (len(samples), len(joints))
    position, velocity, effort = (
        np.array([sample[name][kind] for sample in samples], float).reshape(shape)
        for kind in ("position", "velocity", "effort")
    )
    return Series(joints, time_s, position, velocity, effort)


# -- pytest -------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of pytest's configuration file."""
    parser.addini("motiond_config", "motiond's configuration, relative to this file", default="")
    parser.addini("motiond_robot", "which of its robots the tests move", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Tell of the marker."""
    what = "which robot `motiond_robot` is; the file is relative to the test's own"
    config.addinivalue_line("markers", f"motiond(config, robot): {what}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the daemon's log of the test beside a failure, and let no other test use that daemon."""
    report = yield
    daemon = item.stash.get(_USED, None)
    if report.failed and daemon is not None:
        daemon.spent = True
        report.sections.append(("motiond's log", daemon.log or "(empty)"))
    return report


class _Daemons:
    """The daemons of one test session, one for each configuration; a spent one makes way for a new one."""

    def __init__(self, scratch: Callable[[], Path]) -> None:
        self._scratch = scratch
        self._running: dict[Path, MotiondDaemon] = {}

    def take(self, item: pytest.Item, config: Path) -> MotiondDaemon:
        """Give a daemon that is ready for a test."""
        daemon = self._running.get(config)
        if daemon is None:
            daemon = MotiondDaemon(config, self._scratch())
            item.stash[_USED] = daemon
            self._running[config] = daemon.start()
        item.stash[_USED] = daemon
        daemon.begin_test()
        return daemon

    def give_back(self, daemon: MotiondDaemon) -> None:
        """End a daemon that can serve no further test."""
        if not daemon.usable():
            del self._running[daemon.config]
            daemon.stop()

    def stop(self) -> None:
        """End all of them, and raise at the end what went wrong with one."""
        while self._running:
            self._running.popitem()[1].stop()


@pytest.fixture(scope="session")
def _motiond_daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Daemons]:
    daemons = _Daemons(lambda: tmp_path_factory.mktemp("motiond"))
    try:
        yield daemons
    finally:
        daemons.stop()


@pytest.fixture
def motiond_daemon(request: pytest.FixtureRequest, _motiond_daemons: _Daemons) -> Iterator[MotiondDaemon]:
    """Give the daemon that runs the test's configuration; tests share it as long as all goes well."""
    with _plainly():
        daemon = _motiond_daemons.take(request.node, _chosen_config(request))
    try:
        yield daemon
    finally:
        _motiond_daemons.give_back(daemon)


@pytest.fixture
def motiond_robot(request: pytest.FixtureRequest, motiond_daemon: MotiondDaemon) -> MotiondRobot:
    """Give the robot that the marker `motiond` or the option `motiond_robot` names, or the only one."""
    with _plainly():
        named = _marked(request).get("robot") or request.config.getini("motiond_robot")
        name = _robot_named(named, motiond_daemon.robots, motiond_daemon.config)
    return MotiondRobot(motiond_daemon, name)


@contextmanager
def _plainly() -> Iterator[None]:
    """Fail without a traceback: what is wrong before a test begins is in no code of the user's."""
    try:
        yield
    except MotiondFailure as failure:
        pytest.fail(str(failure), pytrace=False)


def _robot_named(name: str, robots: tuple[str, ...], config: Path) -> str:
    if not name and len(robots) == 1:
        return robots[0]
    if name in robots:
        return name
    which = f"no robot '{name}'" if name else "no robot is named"
    mend = "name one by the marker `motiond(robot=…)` or the option `motiond_robot`"
    raise MotiondFailure(f"{config}: {which}; there are {', '.join(robots)}; {mend}")


def _marked(request: pytest.FixtureRequest) -> dict[str, str]:
    """Give what the test's markers say, those nearest to it first."""
    said: dict[str, str] = {}
    for marker in request.node.iter_markers("motiond"):
        if marker.args or set(marker.kwargs) - {"config", "robot"}:
            what = f"{request.node.nodeid}: its marker cannot be read; motiond knows config and robot"
            raise MotiondFailure(f'{what}; write motiond(config="arm.yaml")')
        said = {**marker.kwargs, **said}
    return said


def _chosen_config(request: pytest.FixtureRequest) -> Path:
    if marked := _marked(request).get("config"):
        return request.path.parent / marked
    given: str = request.config.getini("motiond_config")
    if given:
        ini = request.config.inipath
        return (ini.parent if ini else request.config.rootpath) / given
    what = f"{request.node.nodeid}: no configuration of motiond is named"
    mend = "name one by the marker `motiond(config=…)` or the option `motiond_config`"
    raise MotiondFailure(f"{what}; the test needs a robot; {mend}")
