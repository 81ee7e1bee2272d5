"""One robot of a daemon, as a test commands and watches it, and a motion that it plays."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from motiond.client import NoAnswer, Refused, Result
from motiond.text import listed, nearest

from .failures import MotiondFailure, NotInTime, RequestRefused
from .golden import UPDATE, GoldenTrace, play_options, refuse_bounds
from .traces import Contact, Series, Trace, setpoint_series, telemetry_series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from motiond.client.sync import Follow

    from .golden import RunSource
    from .process import MotiondDaemon

    T = TypeVar("T")

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
    "teaching",
    "following",
)
ANSWER_S, STATE_S, RESULT_S, FREE_S, EXIT_S, BEHIND_S = 30.0, 5.0, 60.0, 30.0, 1.0, 1.0
HOLDER = "pytest"
BEGINNING = frozenset({"play", "sequence", "goto"})


class Goal:
    """A motion that a robot has accepted; made by `MotiondRobot.play(…, wait=False)`.

    Attributes
    ----------
    goal_id : str
    commands, samples : int
        How many commands and samples of telemetry there were before the request.
    keys : dict
        Of the request.
    """

    def __init__(
        self, robot: MotiondRobot, goal_id: str, commands: int, samples: int, keys: dict[str, Any]
    ) -> None:
        self.goal_id = goal_id
        self.keys = keys
        self.commands, self.samples = commands, samples
        self._robot = robot

    def result(self, timeout_s: float = RESULT_S) -> Result:
        """Wait until the goal has ended and the robot is free again, and return the result."""
        __tracebackhide__ = True
        robot = self._robot
        ended = robot.wait(self.ended, timeout_s, f"no result of goal {self.goal_id}")
        robot.wait(self._is_over, FREE_S, f"goal {self.goal_id} has a result and is still active")
        return Result.of(ended)

    def ended(self) -> dict[str, Any] | None:
        """Return the report of the result, or None if it has not arrived."""
        return self._robot.result_of(self.goal_id)

    def _is_over(self) -> bool | None:
        return self._robot.state["goal_id"] != self.goal_id or None


class MotiondRobot:
    """One robot of a daemon, for one test.

    Every method raises a `MotiondFailure` when it does not succeed: `RequestRefused`, `NotInTime` or
    `DaemonEnded`.

    Attributes
    ----------
    name : str
    daemon : MotiondDaemon
    goal : Goal or None
        The goal that the test played last.
    """

    def __init__(
        self, daemon: MotiondDaemon, name: str, folder: Path | None = None, *, updates_golden: bool = False
    ) -> None:
        self.name = name
        self._folder, self._updates_golden = folder or Path(), updates_golden
        self.daemon = daemon
        self.goal: Goal | None = None
        self._robot = daemon.client.robot(name)
        self._control = ExitStack()
        self._since = len(self.messages("state"))

    # -- requests -------------------------------------------------------------------------------------------

    def request(self, verb: str, **keys: Any) -> dict[str, Any]:
        """Send any request of `docs/mqtt.md` and return the `data` of its answer.

        Where control is required and no client has it, the test acquires it until its end.
        `expect_state` takes into account what is reported from here on: after a `play` or `goto`, from where
        that has begun, for which this waits unless it is queued. After a request of a fault, the daemon
        serves no further test.
        """
        __tracebackhide__ = True
        self.daemon.check()
        self._since = len(self.messages("state"))
        try:
            data = self._answer(verb, keys)
        except Refused as refusal:
            raise RequestRefused(refusal.code, refusal.message, refusal.data) from None
        except NoAnswer as error:
            self.daemon.reports.wait(lambda: None, EXIT_S, self.daemon.check)  # its socket closes first
            raise NotInTime(str(error)) from None
        self.daemon.spent |= verb == "fault"
        if "state" in data:
            self._await_report(data["state"])
        elif verb in BEGINNING and "queued" not in data:
            self._await_begin(verb, data["goal_id"])
        return data

    def release_control(self) -> None:
        """Return control of the robot, as far as the test has it; a later request acquires it again."""
        self._control.close()

    def _answer(self, verb: str, keys: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the data of its answer; acquire control first where it is free."""
        try:
            return self._robot.request(verb, keys, timeout_s=ANSWER_S)
        except Refused as refusal:
            if "lease" in keys or verb.startswith("lease/") or not refusal.is_free:
                raise
        self._control.close()
        self._control.enter_context(self._robot.control(HOLDER))
        return self._robot.request(verb, keys, timeout_s=ANSWER_S)

    def _await_report(self, state: str) -> None:
        """Wait until the state that an answer names was reported too, be it just before the request."""
        __tracebackhide__ = True
        first = max(0, self._since - 1)

        def find() -> bool | None:
            return any(report["state"] == state for report in self.messages("state")[first:]) or None

        self.wait(find, ANSWER_S, f"'{state}' was not reported")

    def _await_begin(self, verb: str, goal_id: str) -> None:
        """Wait until a goal has begun; states before that, which may arrive late, count no more."""
        __tracebackhide__ = True

        def find() -> int | None:
            states = self.messages("state")
            begun = (at for at in range(self._since, len(states)) if states[at]["goal_id"] == goal_id)
            over = len(states) - 1 if self.result_of(goal_id) and not states[-1]["goal_id"] else None
            return next(begun, over)

        self._since = self.wait(find, ANSWER_S, f"{verb} did not begin")

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
        """Play a motion and return its result, whatever that is; with `wait=False`, return once it has begun.

        Parameters
        ----------
        motion : str
            The name of a motion that the configuration finds.
        wait : bool
            Whether to wait for the result.
        timeout_s : float
            How long the result may take, approach included.
        **keys
            Further keys of the request `play`: `speed`, `loop`, `on_busy` and so on.
        """
        __tracebackhide__ = True
        commands, samples = self.daemon.commands(self.name), len(self.messages("telemetry"))
        data = self.request("play", motion=motion, **keys)
        self.goal = goal = Goal(self, data["goal_id"], commands, samples, {"motion": motion, **keys})
        return goal.result(timeout_s) if wait else goal

    @contextmanager
    def follow(self, joints: Iterable[str] | None = None, **keys: Any) -> Iterator[Follow]:
        """Let the robot follow targets while the context lasts; `trace` and `result` are then of that.

        Parameters
        ----------
        joints : iterable of str, optional
            Those that are moved, in the order of targets' values.
        **keys
            Further keys of the request `follow/start`: `mode`, `timeout_s` and so on.
        """
        __tracebackhide__ = True
        self.daemon.check()
        commands, samples = self.daemon.commands(self.name), len(self.messages("telemetry"))
        with ExitStack() as following:
            follow = self._followed(following, joints, keys)
            self.goal = goal = Goal(self, follow.goal_id, commands, samples, {"motion": "follow", **keys})
            yield follow
        goal.result()

    def _followed(self, context: ExitStack, joints: Iterable[str] | None, keys: dict[str, Any]) -> Follow:
        """Begin to follow targets until a context ends; acquire control first where it is free."""
        try:
            return context.enter_context(self._robot.follow(joints, **keys))
        except Refused as refusal:
            if not refusal.is_free:
                raise RequestRefused(refusal.code, refusal.message, refusal.data) from None
        self._control.close()
        self._control.enter_context(self._robot.control(HOLDER))
        return context.enter_context(self._robot.follow(joints, **keys))

    def pause(self) -> dict[str, Any]:
        """Slow down on the path, and return when the robot is at rest."""
        __tracebackhide__ = True
        return self.request("pause")

    def resume(self) -> dict[str, Any]:
        """Continue along the path."""
        __tracebackhide__ = True
        return self.request("resume")

    def stop(self) -> dict[str, Any]:
        """Begin a soft stop; `expect_state("idle")` waits until the robot is at rest."""
        __tracebackhide__ = True
        return self.request("stop")

    def inject(self, fault: str, *, joint: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Start a fault of `docs/faults.md` in the simulated actuators of all joints, or of one."""
        __tracebackhide__ = True
        keys = {"fault": fault, "joint": joint, **parameters}
        return self.request("fault", **{key: value for key, value in keys.items() if value is not None})

    # -- reports --------------------------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        """The latest report of the robot's state."""
        return self.messages("state")[-1]

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events since the test began, oldest first."""
        return self.messages("event")

    @property
    def result(self) -> Result | None:
        """The result of the last `play`; None until it has arrived."""
        ended = self.goal.ended() if self.goal else None
        return Result.of(ended) if ended else None

    def result_of(self, goal_id: str) -> dict[str, Any] | None:
        """Return the report of a goal's result; None until it has arrived."""
        return next((one for one in self.messages("result") if one["goal_id"] == goal_id), None)

    def expect_state(self, state: str, timeout_s: float = STATE_S) -> dict[str, Any]:
        """Wait for a state and return the report of it.

        All reports since the last request count, so a short state is not missed; the next call starts at the
        report that was found. If there was no report since the last request, the latest one counts. While a
        motion waits in the queue, the robot is not idle, even between two motions.
        """
        __tracebackhide__ = True
        if state not in STATES:
            raise MotiondFailure(f"{self.name}: no state '{state}'; there are {', '.join(STATES)}; name one")
        index = self.wait(lambda: self._index_of(state), timeout_s, f"not in state '{state}'")
        self._since = min(index, len(self.messages("state")) - 1)
        return self.messages("state")[index]

    def _index_of(self, state: str) -> int | None:
        """Return which report of this test is the first of a state that `expect_state` may find."""
        reported = self.messages("state")
        first = min(self._since, len(reported) - 1)
        found = (at for at in range(first, len(reported)) if reported[at]["state"] == state)
        return next((at for at in found if state != "idle" or not reported[at]["queued"]), None)

    def expect_event(self, kind: str, containing: str = "", timeout_s: float = STATE_S) -> dict[str, Any]:
        """Wait for an event of a kind, with a text in its message, and return it."""
        __tracebackhide__ = True
        expected = f"'{kind}'" + (f" with '{containing}'" if containing else "")
        return self.wait(lambda: self._event(kind, containing), timeout_s, f"no event {expected}")

    def _event(self, kind: str, containing: str) -> dict[str, Any] | None:
        events = (event for event in self.events if event["kind"] == kind)
        return next((event for event in events if containing in event["message"]), None)

    def trace(self) -> Trace:
        """Return what was sent and measured from the last `play` up to its result, or up to now."""
        __tracebackhide__ = True
        if self.goal is None:
            problem = "no trace; the test has not played anything; play first, or read `feedback`"
            raise MotiondFailure(f"{self.name}: {problem}")
        rows, actuators, samples = self._played(self.goal)
        return Trace(
            setpoint_series(actuators, rows),
            rows["enabled"],
            telemetry_series(self._joints(), samples, "reference"),
            telemetry_series(self._joints(), samples, "feedback"),
        )

    def contacts(self, *bodies: str) -> list[Contact]:
        """Return what has touched from the last `play` up to its result, or up to now, oldest first.

        Nothing is missed: a sample of telemetry has whatever has touched since the one before. The first one
        may have what touched just before the request. Before the first `play`, they are all since the test
        began.

        Parameters
        ----------
        *bodies : str
            Those without which a contact does not count, such as `"floor"`; none for all contacts.

        Raises
        ------
        MotiondFailure
            If nobody knows what the robot touches, or there is no such body, which nothing would ever touch.
        """
        __tracebackhide__ = True
        samples = self._felt(self.goal) if self.goal else self.messages("telemetry")
        newest = self.wait(lambda: self._measured(0, 0.0), STATE_S, "no telemetry")
        if "contacts" not in newest:
            problem = "nobody knows what it touches; its driver has no physics"
            raise MotiondFailure(f"{self.name}: {problem}; set `driver: {{type: sim, physics: true}}`")
        known = self.wait(lambda: self.messages("description")[-1].get("bodies"), STATE_S, "no bodies")
        for body in bodies:
            if body not in known:
                hint = nearest(body, known) or "name one of them"
                raise MotiondFailure(
                    f"{self.name}: nothing is called '{body}'; what can touch is {listed(known)}; {hint}"
                )
        found = Contact.all_of(samples)
        return [contact for contact in found if set(bodies) <= set(contact.bodies)]

    def _felt(self, goal: Goal) -> list[dict[str, Any]]:
        """Return the samples of telemetry of a goal, up to the first one after its end."""
        rows, _ = self._commanded(goal)
        samples = self.messages("telemetry")[goal.samples :]
        ends = (at for at, sample in enumerate(samples, 1) if sample["stamp_s"] >= rows["time"][-1])
        return samples[: next(ends, None) if goal.ended() and len(rows) else None]

    def _played(self, goal: Goal) -> tuple[Any, tuple[str, ...], list[dict[str, Any]]]:
        """Return the commands of a goal, the names of actuators, and the samples of telemetry meanwhile."""
        rows, actuators = self._commanded(goal)
        begin_s, end_s = rows["time"][[0, -1]] if len(rows) else (0.0, 0.0)  # by the robot's clock
        samples = self.messages("telemetry")[goal.samples :]
        return rows, actuators, [sample for sample in samples if begin_s <= sample["stamp_s"] <= end_s]

    def _commanded(self, goal: Goal) -> tuple[Any, tuple[str, ...]]:
        """Return the commands of a goal, and the names of actuators; wait for the telemetry of the last."""
        rows, actuators = self.daemon.setpoints(self.name)
        rows = rows[goal.commands : self.daemon.reports.ends.get(goal.goal_id)]
        end_s = rows["time"][-1] if len(rows) else 0.0
        if goal.ended():  # telemetry may be behind, and never comes of a robot that is lost
            self.daemon.reports.wait(lambda: self._measured(0, end_s), BEHIND_S, lambda: None)
        return rows, actuators

    def assert_like(
        self, golden: str | Path, *, rad: float = 0.01, m: float = 0.001, source: RunSource = "reference"
    ) -> None:
        """Fail unless the last `play` went as a golden trace has it, and ended in the same way.

        Both are compared frame by frame, so that neither lateness nor speed counts. With the option
        `--motiond-update-golden`, the trace is made anew first: of a dry run of what the test has played.

        Parameters
        ----------
        golden : str or Path
            A `.npz` file, relative to the folder of the test.
        rad, m : float
            How far joints that turn, or slide, may be from where they were: finite, and not negative.
        source : {'reference', 'feedback'}
            What was commanded, or what was measured.

        Raises
        ------
        MotiondFailure
            With each joint that differs, and where most; or if there is no such trace, source or bound.
        """
        __tracebackhide__ = True
        if self.goal is None or self.result is None:
            problem = "nothing to compare; the test has played nothing to its end; play first"
            raise MotiondFailure(f"{self.name}: {problem}")
        bounds = {"rad": rad, "m": m}
        refuse_bounds(source, bounds)
        path = self._folder / golden
        if self._updates_golden:
            motion = self.goal.keys["motion"]
            self.daemon.trace_dry_run(self.name, motion, play_options(self.goal.keys), path)
        trace = GoldenTrace.read(path, source)
        _, _, samples = self._played(self.goal)
        differing = trace.differences(self._joints(), samples, source, bounds)
        if self.result.code != trace.code:
            differing.insert(0, f"the motion ended with {self.result.code}, and it with {trace.code}")
        if differing:
            lines = "\n".join(f"{golden}: {line}" for line in differing)
            raise MotiondFailure(f"{lines}\nif that is meant, make the trace anew: `pytest {UPDATE}`")

    def feedback(self, timeout_s: float = STATE_S) -> Series:
        """Return what is measured after all that has been sent so far, as the next telemetry has it."""
        __tracebackhide__ = True
        known = len(self.messages("telemetry"))
        rows, _ = self.daemon.setpoints(self.name)
        rows = rows[self.daemon.reports.lost.get(self.name, 0) :]
        sent_s = float(rows["time"][-1]) if len(rows) else 0.0
        sample = self.wait(lambda: self._measured(known, sent_s), timeout_s, "no telemetry")
        return telemetry_series(self._joints(), [sample], "feedback")

    def _measured(self, first: int, since_s: float) -> dict[str, Any] | None:
        """Return the latest sample, unless all that came from a first one on are of before a time."""
        latest = self.messages("telemetry")[first:][-1:]
        return next((sample for sample in latest if sample["stamp_s"] >= since_s), None)

    def _joints(self) -> tuple[str, ...]:
        return tuple(joint["name"] for joint in self.messages("description")[-1]["joints"])

    # -- waiting --------------------------------------------------------------------------------------------

    def messages(self, subject: str) -> list[dict[str, Any]]:
        """Return all reports of this test on a subject, such as `state`, oldest first."""
        return self.daemon.reports.of(self.name, subject)

    def wait(self, find: Callable[[], T | None], timeout_s: float, failure: str) -> T:
        """Return what `find` returns as soon as that is not None.

        Raises
        ------
        NotInTime
            After `timeout_s`, with the text `failure` and the states that were reported instead.
        """
        __tracebackhide__ = True
        found = self.daemon.reports.wait(find, timeout_s, self.daemon.check)
        if found is None:
            raise NotInTime(f"{self.name}: {failure} in {timeout_s:g} s; {self._account()}")
        return found

    def _account(self) -> str:
        """Return the states since the last request in words."""
        states = [_in_words(state) for state in (self.messages("state")[self._since :] or [self.state])]
        changes = [state for state, before in zip(states, [None, *states], strict=False) if state != before]
        return f"it was {', '.join(changes)}"


def _in_words(state: Mapping[str, Any]) -> str:
    return f"{state['state']} ({state['message']})" if state["message"] else str(state["state"])
