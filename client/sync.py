"""The client without asyncio: its event loop runs in a thread of its own, and any thread may use it.

    with motiond.client.sync.connect("mqtt://robots.local") as daemon:
        result = daemon.robot("arm").play("wave", speed=0.5)

What is interrupted by Ctrl-C is given up as a cancelled call is: the robot goes on.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from .connecting import connect as connect_asynchronously
from .errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    from . import daemon as asynchronous
    from .reports import Result
    from .reports import Stream as AsynchronousStream

    T = TypeVar("T")


class Stream:
    """Reports as they arrive: `for report in stream`, or `get` with a timeout."""

    def __init__(self, daemon: Daemon, stream: AsynchronousStream) -> None:
        self._daemon = daemon
        self._stream = stream

    def get(self, timeout_s: float | None = None) -> Any:
        """Wait for the next one.

        Raises
        ------
        TimeoutError
        StopAsyncIteration
            If the stream was closed.
        ConnectionLost
        """
        return self._daemon.call(asyncio.wait_for(anext(self._stream), timeout_s))

    def close(self) -> None:
        """Listen no more; any number of times."""
        self._daemon.call(self._stream.close())

    def __iter__(self) -> Iterator[Any]:
        try:
            while True:
                yield self.get()
        except StopAsyncIteration:
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Goal:
    """A motion that a robot has accepted, as `motiond.client.Goal`."""

    def __init__(self, daemon: Daemon, goal: asynchronous.Goal) -> None:
        self.goal_id = goal.goal_id
        self._daemon = daemon
        self._goal = goal

    def result(self, timeout_s: float | None = None) -> Result:
        """Wait until the motion has ended; as `motiond.client.Goal.result`."""
        return self._daemon.call(asyncio.wait_for(self._goal.result(), timeout_s))


class Follow:
    """What a robot follows, as `motiond.client.Follow`."""

    def __init__(self, daemon: Daemon, follow: asynchronous.Follow) -> None:
        self.goal_id, self.joints, self.rate_hz = follow.goal_id, follow.joints, follow.rate_hz
        self._daemon = daemon
        self._follow = follow

    def send(self, values: Iterable[float | None], *, sent_at: float | None = None) -> None:
        """Send a target; as `motiond.client.Follow.send`."""
        self._call(self._follow.send, values, sent_at=sent_at)

    def chunk(self, positions: Iterable[Iterable[float]], **keys: Any) -> None:
        """Send positions to go through; as `motiond.client.Follow.chunk`."""
        self._call(self._follow.chunk, positions, **keys)

    def _call(self, function: Callable[..., None], *values: Any, **keys: Any) -> None:
        async def call() -> None:
            function(*values, **keys)

        self._daemon.call(call())

    def stop(self) -> Result:
        """Stop softly, and return the result; the end of the context does this, too."""
        return self._daemon.call(self._follow.stop())

    def result(self, timeout_s: float | None = None) -> Result:
        """Wait until it has ended, and return how."""
        return self._daemon.call(asyncio.wait_for(self._follow.result(), timeout_s))


class Robot:
    """One robot, as `motiond.client.Robot`; any other verb goes by `request`."""

    def __init__(self, daemon: Daemon, robot: asynchronous.Robot) -> None:
        self.name = robot.name
        self._daemon = daemon
        self._robot = robot

    def request(
        self,
        verb: str,
        payload: dict[str, Any] | None = None,
        /,
        *,
        timeout_s: float | None = None,
        **keys: Any,
    ) -> dict[str, Any]:
        """Send any request of docs/mqtt.md and return the `data` of its answer."""
        return self._daemon.call(self._robot.request(verb, payload, timeout_s=timeout_s, **keys))

    @overload
    def play(self, motion: str, *, wait: Literal[True] = True, **keys: Any) -> Result: ...

    @overload
    def play(self, motion: str, *, wait: Literal[False], **keys: Any) -> Goal: ...

    def play(self, motion: str, *, wait: bool = True, **keys: Any) -> Result | Goal:
        """Play a motion and return its result; with `wait=False`, return once accepted."""
        if wait:
            result: Result = self._daemon.call(self._robot.play(motion, **keys))
            return result
        return Goal(self._daemon, self._daemon.call(self._robot.play(motion, wait=False, **keys)))

    @overload
    def sequence(self, *steps: str | dict[str, Any], wait: Literal[True] = True, **keys: Any) -> Result: ...

    @overload
    def sequence(self, *steps: str | dict[str, Any], wait: Literal[False], **keys: Any) -> Goal: ...

    def sequence(self, *steps: str | dict[str, Any], wait: bool = True, **keys: Any) -> Result | Goal:
        """Play several motions as one goal; as `motiond.client.Robot.sequence`."""
        if wait:
            result: Result = self._daemon.call(self._robot.sequence(*steps, **keys))
            return result
        return Goal(self._daemon, self._daemon.call(self._robot.sequence(*steps, wait=False, **keys)))

    @overload
    def goto(self, pose: str | None = None, *, wait: Literal[True] = True, **keys: Any) -> Result: ...

    @overload
    def goto(self, pose: str | None = None, *, wait: Literal[False], **keys: Any) -> Goal: ...

    def goto(self, pose: str | None = None, *, wait: bool = True, **keys: Any) -> Result | Goal:
        """Go to a pose, or to `joints={…}`; otherwise as `play`."""
        if wait:
            result: Result = self._daemon.call(self._robot.goto(pose, **keys))
            return result
        return Goal(self._daemon, self._daemon.call(self._robot.goto(pose, wait=False, **keys)))

    @contextmanager
    def control(self, holder: str, *, take: bool = False) -> Iterator[str]:
        """Be in control of the robot while the context lasts; as `motiond.client.Robot.control`."""
        control = self._robot.control(holder, take=take)
        lease = self._daemon.call(control.__aenter__())
        try:
            yield lease
        finally:
            self._daemon.call(control.__aexit__(None, None, None))

    @contextmanager
    def follow(
        self,
        joints: Iterable[str] | None = None,
        *,
        mode: Literal["position", "velocity", "twist"] = "position",
        **keys: Any,
    ) -> Iterator[Follow]:
        """Let the robot follow targets while the context lasts; as `motiond.client.Robot.follow`."""
        context = self._robot.follow(joints, mode=mode, **keys)
        follow = self._daemon.call(context.__aenter__())
        try:
            yield Follow(self._daemon, follow)
        except BaseException as error:
            self._daemon.call(context.__aexit__(type(error), error, error.__traceback__))
            raise
        self._daemon.call(context.__aexit__(None, None, None))

    def stop(self, goal_id: str | None = None) -> dict[str, Any]:
        """Stop softly, on the path, and clear the queue; or end one goal alone, by its id."""
        return self._daemon.call(self._robot.stop(goal_id))

    def estop(self) -> dict[str, Any]:
        """Halt at once and stay so until `reset`; this is no safety-rated stop."""
        return self.request("estop")

    def pause(self, goal_id: str | None = None) -> dict[str, Any]:
        """Slow down on the path and wait there; or let one of several goals do so, by its id."""
        return self._daemon.call(self._robot.pause(goal_id))

    def resume(self, goal_id: str | None = None) -> dict[str, Any]:
        """Go on along the path; `goal_id` as of `pause`."""
        return self._daemon.call(self._robot.resume(goal_id))

    def reset(self) -> dict[str, Any]:
        """Leave the emergency stop or a fault."""
        return self.request("reset")

    def reboot_servos(self, *servos: str) -> dict[str, Any]:
        """Restart servos, by their joints or actuators; refused while the robot holds."""
        return self.request("servo/reboot", servos=servos)

    def clear_servos(self, *servos: str) -> dict[str, Any]:
        """Clear errors that servos keep, without a restart; as `reboot_servos`."""
        return self.request("servo/clear", servos=servos)

    def enable(self) -> dict[str, Any]:
        """Switch torque on, holding where the joints are."""
        return self.request("enable")

    def disable(self) -> dict[str, Any]:
        """Switch torque off, while no motion plays."""
        return self.request("disable")

    def set_speed(self, speed: float, goal_id: str | None = None) -> dict[str, Any]:
        """Play at another speed from now on; 1 is the file's; `goal_id` as of `pause`."""
        return self._daemon.call(self._robot.set_speed(speed, goal_id))

    def status(self) -> dict[str, Any]:
        """Return what the robot does now, as it answers."""
        return self.request("status")

    def queue(self) -> list[dict[str, Any]]:
        """Return the motions that wait for the one that plays."""
        return self._daemon.call(self._robot.queue())

    def start_recording(self, name: str | None = None) -> str:
        """Record every tick from now on; return the file's name, of which `name` becomes a part."""
        return self._daemon.call(self._robot.start_recording(name))

    def stop_recording(self) -> dict[str, Any]:
        """End what is recorded; return what became of it, once the file is whole."""
        return self.request("record/stop")

    def recordings(self) -> list[dict[str, Any]]:
        """Return the robot's recordings, the newest first."""
        return self._daemon.call(self._robot.recordings())

    def history(self, limit: int = 50, before: int | None = None) -> list[dict[str, Any]]:
        """Return how the last motions have ended, as `motiond.client.Robot.history`."""
        return self._daemon.call(self._robot.history(limit, before))

    def teach(
        self,
        mode: Literal["released", "gravity"] = "released",
        name: str | None = None,
        *,
        replace: bool = False,
    ) -> dict[str, Any]:
        """Let the robot be moved by hand; as `motiond.client.Robot.teach`."""
        return self._daemon.call(self._robot.teach(mode, name, replace=replace))

    def keep_pose(self, name: str | None = None) -> dict[str, Any]:
        """Keep where the robot is that is being taught."""
        return self._daemon.call(self._robot.keep_pose(name))

    def stop_teaching(self) -> dict[str, Any]:
        """Let the robot hold where it is, and return what was recorded."""
        return self._daemon.call(self._robot.stop_teaching())

    def save_taught(
        self, name: str, source: Literal["movement", "poses"] = "movement", **keys: Any
    ) -> dict[str, Any]:
        """Make a motion of what the robot was taught, and save it; as `motiond.client.Robot.save_taught`."""
        return self._daemon.call(self._robot.save_taught(name, source, **keys))

    def report(self, subject: str) -> dict[str, Any]:
        """Return the latest report on a subject of which one is retained, such as `description`."""
        return self._daemon.call(self._robot.report(subject))

    def telemetry(self) -> Stream:
        """Return a stream of telemetry samples, as dictionaries; a slow reader gets the newest."""
        return self._daemon.reports("telemetry", robot=self.name, data_only=True)

    def states(self) -> Stream:
        """Return a stream of states, as dictionaries; the present one comes first."""
        return self._daemon.reports("state", robot=self.name, data_only=True)

    def events(self) -> Stream:
        """Return a stream of events, as dictionaries."""
        return self._daemon.reports("event", robot=self.name, data_only=True)


class Group:
    """All robots of a group, as `motiond.client.Group`."""

    def __init__(self, daemon: Daemon, group: asynchronous.Group) -> None:
        self.name = group.name
        self._daemon = daemon
        self._group = group

    def request(self, verb: str, **keys: Any) -> dict[str, Any]:
        """Send any request to groups (docs/http.md) and return the `data` of its answer."""
        return self._daemon.call(self._group.request(verb, **keys))

    def play(self, motion: str, **keys: Any) -> dict[str, Any]:
        """Play a motion on all robots at one time; return once all have accepted it."""
        return self.request("play", motion=motion, **keys)

    def stop(self) -> dict[str, Any]:
        """Stop all robots softly, on their paths."""
        return self.request("stop")

    def estop(self) -> dict[str, Any]:
        """Halt all robots at once; this is no safety-rated stop."""
        return self.request("estop")

    def pause(self) -> dict[str, Any]:
        """Slow all robots down on their paths, and wait there."""
        return self.request("pause")

    def resume(self) -> dict[str, Any]:
        """Let all robots go on along their paths."""
        return self.request("resume")


class Daemon:
    """One daemon, or all daemons at a broker, as `motiond.client.Daemon`."""

    def __init__(self, daemon: asynchronous.Daemon, loop: asyncio.AbstractEventLoop) -> None:
        self._daemon = daemon
        self._loop = loop
        self._thread = threading.Thread(target=self._run, name="motiond.client", daemon=True)
        self._is_closed = False
        self._may_ask = threading.Lock()

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.call(self._daemon.__aenter__())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()  # once it is stopped, what goes on is cancelled

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the client to its end; one that is interrupted is cancelled.

        Raises
        ------
        ClientError
            If the client is closed, or `with` has not begun.
        """
        with self._may_ask:
            if self._is_closed or not self._thread.is_alive():
                coroutine.close()
                raise ClientError(f"{self._daemon.place}: the client is not connected; use it within `with`")
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise ClientError(f"{self._daemon.place}: the client was closed meanwhile") from None
        finally:
            future.cancel()

    def close(self) -> None:
        """Disconnect; any number of times. What other threads wait for ends."""
        with self._may_ask:
            was_closed, self._is_closed = self._is_closed, True
        if was_closed:
            return
        if not self._thread.is_alive():
            self._loop.close()
            return
        asyncio.run_coroutine_threadsafe(self._daemon.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def robot(self, name: str) -> Robot:
        """Return one robot, whether it is there or not."""
        return Robot(self, self._daemon.robot(name))

    def robots(self) -> list[Robot]:
        """Return all robots that are known, by name."""
        return [Robot(self, robot) for robot in self.call(self._daemon.robots())]

    def group(self, name: str) -> Group:
        """Return a group of robots."""
        return Group(self, self._daemon.group(name))

    def reports(
        self, *subjects: str, robot: str = "+", data_only: bool = False, every: bool = False
    ) -> Stream:
        """Return a stream of `Report` of one robot or of all, or of their `data` alone."""

        async def begin() -> AsynchronousStream:
            if not data_only:
                return self._daemon.reports(*subjects, robot=robot, every=every)
            return self._daemon.stream(set(subjects), robot, data_only=True)

        return Stream(self, self.call(begin()))


def connect(*where: Any, **options: Any) -> Daemon:
    """Return a client; `with` connects it. It takes what `motiond.client.connect` takes."""
    return Daemon(connect_asynchronously(*where, **options), asyncio.new_event_loop())
