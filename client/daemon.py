"""A client of one or more daemons: what it is connected to, who listens, and the robots that it asks."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Iterable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, Self, cast, overload
from weakref import WeakSet

from .errors import ClientError, ConnectionLost, NoAnswer, Refused
from .reports import RETAINED, Report, Result, Stream, refuse_unknown
from .transport import FIRST_WAIT_S, GROUP, STOPS, UNEXPIRING, Deadline, data_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from .transport import Transport

ALL_BUT_TELEMETRY = RETAINED | {"result", "event", "diagnostics"}
RECONNECT_S = 10.0
ANSWER_S = 5.0
GROUP_S = READING_S = 35.0
"""How long an answer is waited for where a daemon reads files; it gives up after 30 s, and says so."""
RENEWALS_A_TTL = 3  # so that two of them may be lost
KEEP_ALIVE_S = 2.0
RELEASE_S = 1.0
LOOK_S = 0.1
RELEASED_AFTER = frozenset({"release", "park"})
LONGEST_BODY = 65_536
"""In bytes; no daemon takes more."""
MOST_SHOWN = 40
"""So many characters of a value that is no number are shown."""
TWIST = 6
"""Values of a twist."""
NO_NAME = frozenset("/+#\0")
READS_FILES = frozenset({"motions/reload", "motions/delete", "teach/save"})


class Daemon:
    """One daemon, or all daemons at a broker, as `connect` returns it.

    One connection carries requests to any number of robots and their reports at the same time, so a program
    that has many robots opens one and keeps it: `await asyncio.gather(*(robot.status() for robot in await
    daemon.robots()))`, `async for report in daemon.reports("state", "result")`. It is made again whenever it
    breaks; `is_connected` says whether there is one. A request waits for the connection within its own time;
    one that was sent when the connection broke raises `ConnectionLost`, as it may have been acted on, except
    a stop, which is sent again.

    Attributes
    ----------
    holder : str or None
        As whom it acquires control where somebody has to be in control; None leaves that to `Robot.control`.
    """

    def __init__(
        self,
        make: Callable[[Callable[[Report], None]], Transport],
        *,
        holder: str | None = None,
        reconnect_s: float = RECONNECT_S,
    ) -> None:
        self.holder = holder
        self._transport = make(self._take)
        self._reconnect_s = reconnect_s
        self._streams: WeakSet[Stream] = WeakSet()
        self._latest: dict[tuple[str, str], Report] = {}
        self._followed: frozenset[tuple[str, str]] = frozenset()
        self._following: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._is_closed = False

    async def __aenter__(self) -> Self:
        await self._transport.open()
        self._watching = asyncio.create_task(self._give_up(), name="client.lost")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Disconnect; streams end. Any number of times."""
        self._is_closed = True
        for stream in [*self._streams]:
            stream.end()
        tasks = [task for task in (self._following, self._watching, self._looking) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._transport.close()

    @property
    def place(self) -> str:
        """Where it is connected to, for messages."""
        return self._transport.place

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection at this moment."""
        return self._transport.connected.is_set()

    async def _give_up(self) -> None:
        """End all streams once the connection was gone for too long."""
        transport = self._transport
        while True:
            await transport.ended.wait()
            try:
                async with asyncio.timeout(self._reconnect_s):
                    await transport.connected.wait()
            except TimeoutError:
                for stream in [*self._streams]:
                    stream.end(transport.lost())
                await transport.connected.wait()

    # -- robots ----------------------------------------------------------------------------------------------

    def robot(self, name: str) -> Robot:
        """Return one robot, whether it is there or not.

        Raises
        ------
        TypeError, Refused
            If no robot can have that name.
        """
        return Robot(self, _name(name, "robot"))

    async def robots(self) -> list[Robot]:
        """Return all robots that are known, by name.

        Raises
        ------
        NoAnswer
        """
        async with self.in_time("", "no names of robots", Deadline(ANSWER_S)):
            names = await self._transport.names()
        return [Robot(self, name) for name in sorted(names)]

    def group(self, name: str) -> Group:
        """Return a group of robots; raises as `robot`."""
        return Group(self, _name(name, "group"))

    async def absence(self, robot: str) -> str:
        """Return why a robot may not answer, with a hint."""
        return self._transport.absence(robot)

    @property
    def takes_no_result(self) -> str:
        """Why a result that was published may not have come, where there is more to say than that."""
        return self._transport.takes_no_result

    @asynccontextmanager
    async def in_time(self, path: str, problem: str, deadline: Deadline) -> AsyncIterator[None]:
        """Raise NoAnswer at the deadline, with what is known then; that is looked for at half of it."""
        looking = asyncio.get_running_loop().call_later(deadline.left_s / 2.0, self._look_soon)
        try:
            async with asyncio.timeout_at(deadline.at_s):
                yield
        except TimeoutError:
            if not self._transport.connected.is_set():
                raise self._transport.lost() from None
            absence = self._transport.absence(path.removeprefix(GROUP))
            where = path or self.place
            raise NoAnswer(f"{where}: {problem} in {deadline.timeout_s:g} s; {absence}") from None
        finally:
            looking.cancel()

    def _look_soon(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._transport.look(), name="client.look")

    async def ask(
        self, path: str, verb: str, payload: dict[str, Any], timeout_s: float | Deadline
    ) -> dict[str, Any]:
        """Send one request, as `Robot.request` does, without acquiring control.

        Parameters
        ----------
        path : str
            A robot's name, `group:NAME`, or '' for the daemon itself.
        """
        deadline = timeout_s if isinstance(timeout_s, Deadline) else Deadline(timeout_s)
        if path.startswith(GROUP) and not self._transport.has_groups:
            problem, reason = "groups cannot be asked at a broker", "a daemon coordinates them"
            hint = "connect to its socket or its page, or use `motiond fleet`"
            raise ClientError(f"{path.removeprefix(GROUP)}: {problem}; {reason}; {hint}")
        _refuse_unsendable(path, verb, payload)
        async with self.in_time(path, "no answer", deadline):
            answer = await self._answer(path, verb, dict(payload), deadline)
        return data_of(answer)

    def post(self, path: str, verb: str, payload: dict[str, Any]) -> None:
        """Send one target without waiting for an answer; raises ConnectionLost."""
        _refuse_unsendable(path, verb, payload)
        self._transport.post(path, verb, payload)

    async def _answer(
        self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline
    ) -> dict[str, Any]:
        """Return the answer; a stop is sent again on each connection, and what has expired too early once.

        That is where the daemon's clock is ahead: by its answer, another time is the right one there.
        """
        expires = path != "" and verb not in UNEXPIRING and "expires_at" not in payload
        ahead_s: float | None = None
        while True:
            if verb in STOPS and self._transport.stops_otherwise:
                self._transport.refuse_closed()
            else:
                await self._transport.until_connected()
            if expires:
                payload["expires_at"] = round(time.time() + deadline.left_s + (ahead_s or 0.0), 3)
            try:
                answer = await self._transport.ask(path, verb, payload, deadline)
            except ConnectionLost as error:
                if verb not in STOPS:
                    problem = "the connection was lost before the answer came"
                    hint = "it may have been acted on; look at what the robot does"
                    raise ConnectionLost(f"{path}/{verb}: {problem}; {hint}") from error
                await asyncio.sleep(FIRST_WAIT_S)
                continue
            if not expires or ahead_s is not None or answer.get("code") != "EXPIRED":
                return answer
            ahead_s = payload["expires_at"] + answer["data"]["late_s"] - time.time()

    # -- reports ---------------------------------------------------------------------------------------------

    def reports(self, *subjects: str, robot: str = "+", every: bool = False) -> Stream:
        """Return a stream of `Report` of one robot or of all, on some subjects or on all but telemetry.

        Parameters
        ----------
        *subjects : str
        robot : str
        every : bool
            Whether samples of telemetry wait for a slow reader as all other reports do.

        Raises
        ------
        ValueError
            If there is no such subject.
        """
        return self.stream(set(subjects or ALL_BUT_TELEMETRY), robot, data_only=False, every=every)

    def stream(self, subjects: set[str], robot: str, *, data_only: bool, every: bool = False) -> Stream:
        """Return a stream of reports, or of their `data` alone; known ones come first."""
        refuse_unknown(subjects)
        stream = Stream(robot, frozenset(subjects), self._forget, data_only=data_only, every=every)
        if self._is_closed:
            stream.end(ClientError(f"{self.place}: the client is closed; connect again"))
            return stream
        for report in self._latest.values():
            stream.put(report)
        self._streams.add(stream)
        self._follow_soon()
        return stream

    async def ready(self, deadline: Deadline) -> None:
        """Wait until what is listened to is subscribed to, but not beyond a deadline."""
        if self._following is not None:
            await asyncio.wait((self._following,), timeout=deadline.left_s)

    def _forget(self, stream: Stream) -> None:
        self._streams.discard(stream)
        if not self._is_closed:
            self._follow_soon()

    def _follow_soon(self) -> None:
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow(), name="client.follow")

    async def _follow(self) -> None:
        while (interest := self._interest()) != self._followed:
            self._followed = interest
            for robot, subject in [*self._latest]:
                if not self._transport.sends_all and not interest & {(robot, subject), ("+", subject)}:
                    del self._latest[robot, subject]
            await self._transport.follow(interest)

    def _interest(self) -> frozenset[tuple[str, str]]:
        return frozenset((stream.robot, subject) for stream in self._streams for subject in stream.subjects)

    def _take(self, report: Report) -> None:
        if report.subject in RETAINED:
            self._latest[report.robot, report.subject] = report
        for stream in self._streams:
            stream.put(report)


def _name(name: object, kind: str) -> str:
    """Return a name that can be a part of a topic."""
    if not isinstance(name, str):
        raise TypeError(f"a {kind}'s name is a text, and {name!r} is none")
    if not name or NO_NAME.intersection(name):
        hint = "a name is not empty, and has no '/', '+' or '#'; correct it"
        raise Refused(f"UNKNOWN_{kind.upper()}", f"no {kind} {name!r}; {hint}")
    return name


def _refuse_unsendable(path: str, verb: str, payload: dict[str, Any]) -> None:
    """Refuse at once what no daemon could read."""
    if not isinstance(verb, str):
        raise TypeError(f"a verb is a text, and {verb!r} is none")
    where = f"{path.removeprefix(GROUP)}/{verb}"
    if (NO_NAME - {"/"}).intersection(verb):
        raise Refused("UNKNOWN_VERB", f"{where}: unknown verb; no verb has '+' or '#'; correct it")
    try:
        size = len(json.dumps(payload, allow_nan=False, ensure_ascii=False).encode())
    except TypeError as error:
        reason = str(error)
        raise Refused("INVALID_REQUEST", f"{where}: it cannot be written as JSON; {reason}") from error
    except ValueError as error:
        reason = "a number is NaN or infinite, or a text is no Unicode"
        raise Refused(
            "INVALID_REQUEST", f"{where}: it cannot be written as JSON; {reason}; correct it"
        ) from error
    if size > LONGEST_BODY:
        reason = f"a request has at most {LONGEST_BODY:,}"
        raise Refused("INVALID_REQUEST", f"{where}: {size:,} bytes; {reason}; send less")


class Robot:
    """One robot.

    Attributes
    ----------
    name : str
    daemon : Daemon
        The client that asks.
    """

    def __init__(self, daemon: Daemon, name: str) -> None:
        self.daemon = daemon
        self.name = name
        self._lease: str | None = None

    # -- requests ------------------------------------------------------------------------------------------

    async def request(
        self,
        verb: str,
        payload: dict[str, Any] | None = None,
        /,
        *,
        timeout_s: float | None = None,
        **keys: Any,
    ) -> dict[str, Any]:
        """Send any request of docs/mqtt.md and return the `data` of its answer.

        Where the client has a `holder` (see `connect`), somebody has to be in control and no client is, it
        acquires control for this request.

        Parameters
        ----------
        verb : str
        payload : dict, optional
            Keys and values of the request.
        timeout_s : float, optional
            How long to wait for the answer; 5 s, or 35 s where the daemon reads files.
        **keys
            More keys of the request.

        Raises
        ------
        Refused
        NoAnswer
        """
        if timeout_s is None:
            timeout_s = READING_S if verb in READS_FILES else ANSWER_S
        async with self._in_control(verb, (payload or {}) | keys, Deadline(timeout_s)) as answer:
            return answer

    async def _ask(self, verb: str, payload: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        lease = {} if self._lease is None else {"lease": self._lease}
        return await self.daemon.ask(self.name, verb, lease | payload, deadline)

    @asynccontextmanager
    async def _in_control(
        self, verb: str, payload: dict[str, Any], deadline: Deadline
    ) -> AsyncIterator[dict[str, Any]]:
        """Ask; where control has to be acquired first, keep it until the context ends."""
        try:
            answer = await self._ask(verb, payload, deadline)
        except Refused as error:
            if not error.is_free or self.daemon.holder is None or verb.startswith("lease/"):
                raise
        else:
            yield answer
            return
        async with self._control(self.daemon.holder, "lease/acquire", deadline):
            yield await self._ask(verb, payload, deadline)

    @asynccontextmanager
    async def control(self, holder: str, *, take: bool = False) -> AsyncIterator[str]:
        """Be in control of the robot while the context lasts; requests of this object show the lease.

        Parameters
        ----------
        holder : str
            What others are shown.
        take : bool
            Whether to take control from whoever has it.

        Raises
        ------
        Refused
            NOT_IN_CONTROL, with the `holder`.
        """
        verb = "lease/take" if take else "lease/acquire"
        async with self._control(holder, verb, Deadline(ANSWER_S)) as lease:
            yield lease

    @asynccontextmanager
    async def _control(self, holder: str, verb: str, deadline: Deadline) -> AsyncIterator[str]:
        granted = await self._ask(verb, {"holder": holder}, deadline)
        lease: str = granted["lease"]
        before, self._lease = self._lease, lease
        keeping = asyncio.create_task(self._renew(lease, granted["ttl_s"]), name="client.lease")
        release_s = RELEASE_S
        try:
            yield lease
        except NoAnswer:
            release_s = 0.0
            raise
        finally:
            self._lease = before
            keeping.cancel()
            await asyncio.wait((keeping,))
            with suppress(ClientError):  # it runs out by itself
                await self._ask("lease/release", {"lease": lease}, Deadline(release_s))

    async def _renew(self, lease: str, ttl_s: float) -> None:
        """Renew a lease until it is lost; what that leads to is the daemon's decision."""
        with suppress(Refused):
            while True:
                await asyncio.sleep(ttl_s / RENEWALS_A_TTL)
                with suppress(NoAnswer):
                    await self._ask("lease/renew", {"lease": lease}, Deadline(ttl_s / RENEWALS_A_TTL))

    @overload
    async def play(self, motion: str, *, wait: Literal[True] = True, **keys: Any) -> Result: ...

    @overload
    async def play(self, motion: str, *, wait: Literal[False], **keys: Any) -> Goal: ...

    async def play(self, motion: str, *, wait: bool = True, **keys: Any) -> Result | Goal:
        """Play a motion and return its result, whatever that is; with `wait=False`, return once accepted.

        Cancelling it does not stop the robot.

        Parameters
        ----------
        motion : str
        wait : bool
        **keys
            `speed`, `loop`, `on_busy` and the others of the request (docs/mqtt.md).

        Raises
        ------
        Refused
            If the request is.
        NoAnswer
            If no answer comes, or no result.
        """
        return await self._set_going("play", {"motion": motion} | keys, wait=wait)

    @overload
    async def sequence(
        self, *steps: str | dict[str, Any], wait: Literal[True] = True, **keys: Any
    ) -> Result: ...

    @overload
    async def sequence(self, *steps: str | dict[str, Any], wait: Literal[False], **keys: Any) -> Goal: ...

    async def sequence(self, *steps: str | dict[str, Any], wait: bool = True, **keys: Any) -> Result | Goal:
        """Play several motions as one goal; otherwise as `play`.

        Parameters
        ----------
        *steps : str or dict
            Motions by their names, or with the keys of a step: `{"motion": "nod", "blend_s": 0.3}`.
        wait : bool
        **keys
            `repeat` and the others of the request (docs/chaining.md).
        """
        listed = [{"motion": step} if isinstance(step, str) else step for step in steps]
        return await self._set_going("sequence", {"steps": listed} | keys, wait=wait)

    @overload
    async def goto(self, pose: str | None = None, *, wait: Literal[True] = True, **keys: Any) -> Result: ...

    @overload
    async def goto(self, pose: str | None = None, *, wait: Literal[False], **keys: Any) -> Goal: ...

    async def goto(self, pose: str | None = None, *, wait: bool = True, **keys: Any) -> Result | Goal:
        """Go to a pose by its name, or to `joints={name: rad or m}`; otherwise as `play`."""
        return await self._set_going("goto", ({} if pose is None else {"pose": pose}) | keys, wait=wait)

    async def _set_going(self, verb: str, payload: dict[str, Any], *, wait: bool) -> Result | Goal:
        if not wait:
            async with self._in_control(verb, payload, Deadline(ANSWER_S)) as answer:
                return Goal(self, answer)
        async with self.goal(verb, payload) as goal:
            return await goal.result()

    @asynccontextmanager
    async def goal(self, verb: str, payload: dict[str, Any]) -> AsyncIterator[Goal]:
        """Set the robot going, and stay in control, where that was acquired, until the context ends."""
        deadline = Deadline(ANSWER_S)
        async with self.reports("state", "result", "event") as stream:
            await self.daemon.ready(deadline)  # so that nothing of it is missed
            async with self._in_control(verb, payload, deadline) as answer:
                goal = Goal(self, answer, stream)
                async with self._kept_alive(goal, payload.get("keep_alive_s")):
                    yield goal

    @asynccontextmanager
    async def _kept_alive(self, goal: Goal, keep_alive_s: float | None) -> AsyncIterator[None]:
        """Let the robot know while the context lasts that somebody wants it to follow its leader."""
        if keep_alive_s is None:
            yield
            return
        keeping = asyncio.create_task(self._keep_alive(goal, keep_alive_s), name="client.keep_alive")
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait((keeping,))

    async def _keep_alive(self, goal: Goal, keep_alive_s: float) -> None:
        while goal.ended() is None:
            with suppress(ConnectionLost):  # it may come back in time
                self.post("follow/keep_alive", {"goal_id": goal.goal_id})
            await asyncio.sleep(keep_alive_s / (RENEWALS_A_TTL + 1))

    @asynccontextmanager
    async def follow(
        self,
        joints: Iterable[str] | None = None,
        *,
        mode: Literal["position", "velocity", "twist"] = "position",
        **keys: Any,
    ) -> AsyncIterator[Follow]:
        """Let the robot follow targets while the context lasts, at whose end it stops softly.

        It stops also where no target comes for `timeout_s`, and where an exception ends the context: the
        result is CANCELED then. With a `leader` it needs no targets, and stops 2 s after the program has died
        or lost the network: the context keeps it alive (`keep_alive_s`).

        Parameters
        ----------
        joints : iterable of str, optional
            Those that are moved, in the order of targets' values; by default all.
        mode : {'position', 'velocity', 'twist'}
            What targets are.
        **keys
            `timeout_s`, `on_busy`, the `frame` that twists move, and the others of the request
            `follow/start` (docs/following.md).

        Raises
        ------
        Refused, NoAnswer
        """
        alive = {"keep_alive_s": KEEP_ALIVE_S} if keys.get("leader") else {}
        payload = {"mode": mode} | ({} if joints is None else {"joints": [*joints]}) | alive | keys
        async with self.goal("follow/start", payload) as goal:
            follow = Follow(goal, mode)
            try:
                yield follow
            except BaseException:
                if self.daemon.is_connected and goal.ended() is None:  # else nobody waits for that
                    with suppress(ClientError):
                        await self.stop(goal.goal_id)
                        await goal.result()
                raise
            await follow.stop()

    def post(self, verb: str, payload: dict[str, Any]) -> None:
        """Send a target (`follow/target`, `follow/chunk`) without waiting for an answer; see `follow`."""
        lease = {} if self._lease is None else {"lease": self._lease}
        self.daemon.post(self.name, verb, lease | payload)

    async def stop(self, goal_id: str | None = None) -> dict[str, Any]:
        """Stop softly, on the path, and clear the queue; or end one goal alone, by its id."""
        return await self.request("stop", _where_given(goal_id=goal_id))

    async def estop(self) -> dict[str, Any]:
        """Halt at once and stay so until `reset`; this is no safety-rated stop."""
        return await self.request("estop")

    async def pause(self, goal_id: str | None = None) -> dict[str, Any]:
        """Slow down on the path and wait there; or let one of several goals do so, by its id."""
        return await self.request("pause", _where_given(goal_id=goal_id))

    async def resume(self, goal_id: str | None = None) -> dict[str, Any]:
        """Go on along the path; `goal_id` as of `pause`."""
        return await self.request("resume", _where_given(goal_id=goal_id))

    async def seek(
        self,
        *,
        frame: int | None = None,
        time: float | None = None,
        marker: str | None = None,
        goal_id: str | None = None,
    ) -> dict[str, Any]:
        """Go to another place of the motion: a frame, a time in s, or a marker; `goal_id` as of `pause`."""
        place = _where_given(frame=frame, time=time, marker=marker, goal_id=goal_id)
        return await self.request("seek", place)

    async def set_speed(self, speed: float, goal_id: str | None = None) -> dict[str, Any]:
        """Play at another speed from now on; 1 is the file's; `goal_id` as of `pause`."""
        return await self.request("speed", _where_given(speed=speed, goal_id=goal_id))

    async def enable(self) -> dict[str, Any]:
        """Switch torque on, holding where the joints are."""
        return await self.request("enable")

    async def disable(self) -> dict[str, Any]:
        """Switch torque off, while no motion plays."""
        return await self.request("disable")

    async def reset(self) -> dict[str, Any]:
        """Leave the emergency stop or a fault."""
        return await self.request("reset")

    async def reboot_servos(self, *servos: str) -> dict[str, Any]:
        """Restart servos, by their joints or actuators; refused while the robot holds."""
        return await self.request("servo/reboot", servos=servos)

    async def clear_servos(self, *servos: str) -> dict[str, Any]:
        """Clear errors that servos keep, without a restart; as `reboot_servos`."""
        return await self.request("servo/clear", servos=servos)

    async def status(self) -> dict[str, Any]:
        """Return what the robot does now, as it answers."""
        return await self.request("status")

    async def queue(self) -> list[dict[str, Any]]:
        """Return the motions that wait for the one that plays."""
        waiting: list[dict[str, Any]] = (await self.request("queue"))["queue"]
        return waiting

    async def start_recording(self, name: str | None = None) -> str:
        """Record every tick from now on; return the file's name, of which `name` becomes a part."""
        file: str = (await self.request("record/start", name=name))["file"]
        return file

    async def stop_recording(self) -> dict[str, Any]:
        """End what is recorded; return, once it is whole, `file`, `ticks`, `gaps`, `duration_s`, `bytes`."""
        return await self.request("record/stop")

    async def recordings(self) -> list[dict[str, Any]]:
        """Return the robot's recordings, the newest first."""
        listed: list[dict[str, Any]] = (await self.request("recordings"))["recordings"]
        return listed

    async def history(self, limit: int = 50, before: int | None = None) -> list[dict[str, Any]]:
        """Return how the last motions have ended, newest first, also before the daemon's start.

        Parameters
        ----------
        limit : int
            How many at most, 1 to 1000.
        before : int, optional
            The `id` of one of them: return those before it.
        """
        results: list[dict[str, Any]] = (await self.request("history", limit=limit, before=before))["results"]
        return results

    async def teach(
        self,
        mode: Literal["released", "gravity"] = "released",
        name: str | None = None,
        *,
        replace: bool = False,
    ) -> dict[str, Any]:
        """Let the robot be moved by hand: without torque, so that it may drop, or carrying its own weight.

        Parameters
        ----------
        mode : {'released', 'gravity'}
        name : str, optional
            Of the motion that is to come of it: nothing begins where that could not be saved.
        replace : bool
            Whether that motion may replace one that was saved under this name before.
        """
        named = {} if name is None else {"name": name, "replace": replace}
        return await self.request("teach/start", {"mode": mode} | named)

    async def keep_pose(self, name: str | None = None) -> dict[str, Any]:
        """Keep where the robot is that is being taught."""
        return await self.request("teach/pose", {} if name is None else {"name": name})

    async def stop_teaching(self) -> dict[str, Any]:
        """Let the robot hold where it is, and return what was recorded, and whether it `holds` now.

        It does not where something else has ended teaching, such as an emergency stop: go on holding it then.
        """
        return await self.request("teach/stop")

    async def save_taught(
        self, name: str, source: Literal["movement", "poses"] = "movement", **keys: Any
    ) -> dict[str, Any]:
        """Make a motion of what the robot was taught, and save it.

        Parameters
        ----------
        name : str
        source : {'movement', 'poses'}
            Make it of what was moved, or of the poses that were kept.
        **keys
            `smooth_rad`, `replace`, `dry` and the others of the request (docs/teaching.md).

        Raises
        ------
        Refused
            INVALID_MOTION with all problems, where it cannot be played.
        """
        return await self.request("teach/save", {"name": name, "from": source} | keys)

    # -- reports ---------------------------------------------------------------------------------------------

    def reports(self, *subjects: str) -> Stream:
        """Return a stream of `Report` on some subjects of docs/mqtt.md; by default on all but telemetry."""
        return self.daemon.reports(*subjects, robot=self.name)

    def telemetry(self) -> Stream:
        """Return a stream of telemetry samples, as dictionaries; a slow reader gets the newest."""
        return self.daemon.stream({"telemetry"}, self.name, data_only=True)

    def states(self) -> Stream:
        """Return a stream of states, as dictionaries; the present one comes first."""
        return self.daemon.stream({"state"}, self.name, data_only=True)

    def events(self) -> Stream:
        """Return a stream of events, as dictionaries."""
        return self.daemon.stream({"event"}, self.name, data_only=True)

    def results(self) -> Stream:
        """Return a stream of results of any client's motions, as dictionaries (see `Result.of`)."""
        return self.daemon.stream({"result"}, self.name, data_only=True)

    async def report(self, subject: str, timeout_s: float = ANSWER_S) -> dict[str, Any]:
        """Return the latest report on a subject of which one is retained, such as `description`.

        Raises
        ------
        NoAnswer
            If none comes in time.
        """
        async with (
            self.daemon.stream({subject}, self.name, data_only=True) as stream,
            self.daemon.in_time(self.name, f"no {subject}", Deadline(timeout_s)),
        ):
            data: dict[str, Any] = await anext(stream)
        return data


class Goal:
    """A motion that a robot has accepted.

    Attributes
    ----------
    robot : Robot
    goal_id : str
    answer : dict
        The `data` of the answer to the request.
    """

    def __init__(self, robot: Robot, answer: dict[str, Any], stream: Stream | None = None) -> None:
        self.robot = robot
        self.goal_id: str = answer["goal_id"]
        self.answer = answer
        self._stream = stream or robot.reports("state", "result", "event")
        self._result: Result | None = None

    async def result(self) -> Result:
        """Wait until the motion has ended.

        It waits on while a lost connection is made again. Cancelling it does not stop the robot.

        Raises
        ------
        NoAnswer
            If the robot does not play it any more and no result has come.
        """
        if self._result is None:
            async for _ in self.progress():
                pass
        if self._result is None:
            raise self._no_result()
        return self._result

    def ended(self) -> Result | None:
        """Return the result if it has come, without waiting; states that have come before are passed over."""
        while self._result is None and (report := self._stream.get_nowait()) is not None:
            if report.subject == "result" and report.data.get("goal_id") == self.goal_id:
                self._result = Result.of(report.data)
        return self._result

    async def progress(self, silence_s: float = ANSWER_S) -> AsyncIterator[Report]:
        """Yield the motion's states up to its result; a robot that is silent for too long is asked.

        Raises
        ------
        NoAnswer
            If the robot has been without the goal for twice `silence_s`, and its result has not come.
        """
        now = asyncio.get_running_loop().time
        known_s = now()
        while self._result is None:
            try:
                async with asyncio.timeout(silence_s):
                    report = await self._stream.get()
            except TimeoutError:
                report = Report(self.robot.name, "state", await self._patient_status(silence_s))
            except StopAsyncIteration:
                raise ConnectionLost(
                    f"{self.robot.name}: the client was closed before the result came"
                ) from None
            if report.subject == "event":
                continue
            if report.data.get("goal_id") == self.goal_id:
                known_s = now()
                if report.subject == "result":
                    self._result = Result.of(report.data)
                yield report
            elif self._is_in(report.data.get("goals", ())):
                known_s = now()
            elif now() - known_s >= 2.0 * silence_s:
                if not await self._waits_or_plays(silence_s) and self.ended() is None:
                    raise self._no_result()
                known_s = now()

    def _is_in(self, goals: Iterable[Mapping[str, Any]]) -> bool:
        return any(one["goal_id"] == self.goal_id for one in goals)

    async def _waits_or_plays(self, silence_s: float) -> bool:
        """Whether the robot knows it still, in the order in which it goes from the one to the other."""
        if self._is_in(await self.robot.queue()):
            return True
        status = await self._patient_status(silence_s)
        return status.get("goal_id") == self.goal_id or self._is_in(status.get("goals", ()))

    def _no_result(self) -> NoAnswer:
        reasons = ("its motion is over, and no result comes", self.robot.daemon.takes_no_result)
        reason = "; ".join(filter(None, reasons))
        return NoAnswer(f"{self.robot.name}: {reason}; look at the daemon's log")

    async def aftermath(self, silence_s: float = ANSWER_S) -> AsyncIterator[Report]:
        """Yield what follows the result by itself, as `on_end` asks for, until it is done.

        For `release` there come states until torque is off; for `park` states, and the result of `park` or
        the event that says why there is none. They end early where somebody else sets the robot going, or
        where it is halted or offline. The robot is asked for its state, as reports on several subjects have
        no order.
        """
        follows, at_rest_s = self._result.follows if self._result else None, 0.0
        while follows in RELEASED_AFTER and at_rest_s < silence_s:
            state = await self._patient_status(silence_s)
            yield Report(self.robot.name, "state", state)
            while (report := self._stream.get_nowait()) is not None:
                ended = report.subject == "result" and report.data["motion"] == "park"
                if ended and report.data["goal_id"] != self.goal_id:
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

    async def _patient_status(self, timeout_s: float) -> dict[str, Any]:
        return await self.robot.request("status", timeout_s=timeout_s)


class Follow:
    """What a robot follows, as `Robot.follow` begins it; targets are sent without waiting for an answer.

    Attributes
    ----------
    robot : Robot
    goal_id : str
    joints : tuple of str
        In the order of targets' values.
    rate_hz : float
        How many setpoints a second the robot makes of them.
    """

    def __init__(self, goal: Goal, mode: str) -> None:
        self.robot = goal.robot
        self.goal_id = goal.goal_id
        self.joints: tuple[str, ...] = tuple(goal.answer["joints"])
        self.rate_hz: float = goal.answer["rate_hz"]
        self._goal, self._kind = goal, {"position": "positions", "velocity": "velocities"}.get(mode, mode)
        self._sent_at = 0.0

    def send(self, values: Iterable[float | None], *, sent_at: float | None = None) -> None:
        """Send a target: positions, velocities or a twist, by what is followed.

        Where the connection does not keep up, the newest target waits and no other.

        Parameters
        ----------
        values : iterable of float or None
            One for each of `joints`, in rad or m, or that per second; None leaves a joint's target as it is.
            Of a twist, vx, vy, vz in m/s and wx, wy, wz in rad/s.
        sent_at : float, optional
            Unix time in s, by default now: a target that was sent before the last one is dropped.

        Raises
        ------
        ValueError
            If there is another number of them, or one is no finite number.
        Refused
            UNKNOWN_GOAL, if the robot follows no more, with why.
        ConnectionLost
        """
        numbers = [None if value is None else _finite(value) for value in values]
        if self._kind == "twist" and len(numbers) != TWIST:
            raise ValueError(f"{len(numbers)} values; a twist is vx, vy, vz, wx, wy, wz; give these six")
        if self._kind != "twist" and len(numbers) != len(self.joints):
            raise ValueError(
                f"{len(numbers)} values; {len(self.joints)} joints are followed; give one for each"
            )
        self._post("follow/target", sent_at, {self._kind: numbers})

    def chunk(
        self,
        positions: Iterable[Iterable[float]],
        *,
        period_s: float | None = None,
        times: Iterable[float] | None = None,
        start_at: float | None = None,
        sent_at: float | None = None,
    ) -> None:
        """Send positions to go through; they replace what has not been played, from their begin on.

        Parameters
        ----------
        positions : iterable of rows
            Shape (rows, joints), in rad or m.
        period_s : float, optional
            Between two rows, in s; in place of it:
        times : iterable of float, optional
            Of each row, in s from the begin, ascending.
        start_at : float, optional
            The begin, as Unix time in s; by default when it arrives. What has passed is not played.
        sent_at : float, optional
            As of `send`.

        Raises
        ------
        As `send`.
        """
        rows = [self._row(number, row) for number, row in enumerate(positions)]
        if not rows:
            raise ValueError("no rows; a chunk has one at least; give some")
        if (period_s is None) == (times is None):
            raise ValueError("rows have a period_s, or times; give one of them")
        when: dict[str, Any] = {} if period_s is None else {"period_s": period_s}
        if times is not None:
            when["times"] = [_finite(value) for value in times]
        if start_at is not None:
            when["start_at"] = start_at
        self._post("follow/chunk", sent_at, {"positions": rows, **when})

    def _row(self, number: int, row: object) -> list[float]:
        """Return the numbers of a row of a chunk, the rows counted from 0."""
        values = list(row) if isinstance(row, Iterable) and not isinstance(row, str) else [row]
        if len(values) != len(self.joints):
            count = f"{len(values)} value{'' if len(values) == 1 else 's'}"
            what = f"row {number} has {count}; {len(self.joints)} joints are followed"
            raise ValueError(f"{what}; give each row one value for each")
        return [
            _finite(value, f"row {number}, joint '{joint}': ")
            for value, joint in zip(values, self.joints, strict=True)
        ]

    def _post(self, verb: str, sent_at: float | None, values: dict[str, Any]) -> None:
        if (result := self._goal.ended()) is not None:
            over = f"{self.robot.name}: it follows no more; it ended with {result.code}; {result.message}"
            raise Refused("UNKNOWN_GOAL", over, dict(result.data))
        if sent_at is None:  # where the clock is set back, a target is no older than the last all the same
            sent_at = self._sent_at = max(self._sent_at, time.time())
        self.robot.post(verb, {"goal_id": self.goal_id, "sent_at": sent_at, **values})

    async def stop(self) -> Result:
        """Stop softly, and return the result; the end of the context does this, too."""
        if self._goal.ended() is None:
            with suppress(Refused):  # it has ended by itself meanwhile
                await self.robot.request("follow/stop", goal_id=self.goal_id)
        return await self._goal.result()

    async def result(self) -> Result:
        """Wait until it has ended, and return how."""
        return await self._goal.result()


def _where_given(**keys: Any) -> dict[str, Any]:
    """Return the keys of a request that have a value."""
    return {key: value for key, value in keys.items() if value is not None}


def _finite(value: object, where: str = "") -> float:
    try:
        number = math.nan if isinstance(value, bool | str | bytes) else float(cast("float", value))
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{where}{repr(value)[:MOST_SHOWN]} is no target; give a finite number")
    return number


class Group:
    """All robots of a group, which a daemon coordinates; it needs a broker for it.

    Attributes
    ----------
    name : str
    """

    def __init__(self, daemon: Daemon, name: str) -> None:
        self._daemon = daemon
        self.name = name

    async def request(self, verb: str, *, timeout_s: float = GROUP_S, **keys: Any) -> dict[str, Any]:
        """Send any request to groups (docs/http.md) and return the `data` of its answer.

        Raises
        ------
        Refused
            With the answer of each robot in `data`.
        ClientError
            If the client is connected to a broker; nothing is sent.
        NoAnswer
        """
        return await self._daemon.ask(f"{GROUP}{self.name}", verb, keys, timeout_s)

    async def play(self, motion: str, **keys: Any) -> dict[str, Any]:
        """Play a motion on all robots at one time; return once all have accepted it."""
        return await self.request("play", motion=motion, **keys)

    async def stop(self) -> dict[str, Any]:
        """Stop all robots softly, on their paths."""
        return await self.request("stop")

    async def estop(self) -> dict[str, Any]:
        """Halt all robots at once; this is no safety-rated stop."""
        return await self.request("estop")

    async def pause(self) -> dict[str, Any]:
        """Slow all robots down on their paths, and wait there."""
        return await self.request("pause")

    async def resume(self) -> dict[str, Any]:
        """Let all robots go on along their paths."""
        return await self.request("resume")
