"""One lesson: torque off, what is moved and kept, hold, and the motion that is saved."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from motiond.client import NoAnswer, Refused
from motiond.local import own_holder

from ..output import DONE, FAILED, print_json, report
from ..terminal import MOST_AT_ONCE, Keys, raw_keys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from motiond.client import Robot

    from ..requests.broker import Client

DRAW_S = 0.1
SILENT_S = 2.0
"""So long nothing may come of a robot that is taught; its report is renewed each second."""
HOLD = "go on holding it"
SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
ENDS = frozenset({"q", "Q", "end"})
QUIT = b"\x1c"
"""Ctrl-Backslash, where the terminal sends no signal for it."""
OPTIONS = {
    "switch `trim` off": "use `--no-trim`",
    "set `replace`": "use `--replace`",
    "raise `smooth_rad`, or `rate_hz` where the driver allows it": "raise `--smooth`",
    "raise `smooth_m`, or `rate_hz` where the driver allows it": "raise `--smooth-m`",
    "keep poses by teach/pose": "keep poses with Enter",
}
"""What hints of the daemon are here."""


class Lesson:
    """One robot that is taught one motion.

    - `saving`: the keys of `teach/save`
    - `json`: whether the answer is written as JSON

    - `is_interrupted`: whether Ctrl-C has ended it
    """

    def __init__(self, client: Client, robot: str, saving: dict[str, Any], *, json: bool) -> None:
        self._client, self._name, self._saving, self._json = client, robot, saving, json
        self._console = Console(stderr=json)
        self._keys: asyncio.Queue[str] = asyncio.Queue()
        self.is_interrupted = False

    async def save_again(self) -> int:
        """Save what was taught last; return the exit code."""
        async with self._client.connect("teach/save") as daemon:
            return await self._save(daemon.robot(self._name))

    async def run(self, mode: str, for_s: float | None, *, has_keys: bool) -> int:
        """Teach, and save; return the exit code. Raises Refused and NoAnswer."""
        keys = self._read_keys() if has_keys else nullcontext()
        async with self._client.connect("teach/start") as daemon:
            robot = daemon.robot(self._name)
            await robot.status()  # which refuses a robot that nobody knows
            async with _in_control(robot):
                with keys:
                    ended = await self._teach(robot, mode, for_s, has_keys=has_keys)
                if not (ended or self.is_interrupted):
                    return await self._save_or_say_how(robot)
        if ended:
            report(f"{self._name}: {ended}", FAILED)
        return self._not_saved()

    # -- while it is taught ---------------------------------------------------------------------------------

    async def _teach(self, robot: Robot, mode: str, for_s: float | None, *, has_keys: bool) -> str:
        """Let the robot be moved until it is over; return why that came by itself; '' where it was asked."""
        with _interrupts(self._interrupt):
            name, replaces = self._saving["name"], self._saving["replace"]
            with _with_options():
                await robot.request("teach/start", mode=mode, name=name, replace=replaces)
            self._console.print(f"{self._name}: it can be moved now", highlight=False)
            ended = ""
            try:
                ended = await self._follow(robot, for_s, has_keys=has_keys)
            finally:
                await self._end(robot, is_over=bool(ended))
            return ended

    async def _end(self, robot: Robot, *, is_over: bool) -> None:
        """Have the robot take hold, and say whether it does: whoever reads that it holds lets go of it.

        `is_over`: whether it has ended by itself, as where somebody else has taken control.
        """
        try:
            draft = await robot.request("teach/stop")
        except NoAnswer:
            self._warn(f"nothing is known of its torque: {HOLD}")
            raise
        except Refused:
            if why := _why_loose(await robot.status()):
                self._warn(why)
            else:
                self._console.print(f"{self._name}: it holds", highlight=False)
            if is_over:
                return
            raise
        kept = f"{draft['duration_s']:.1f} s and {_poses(draft['poses'])} are kept"
        why = _why_loose(await robot.status())
        if why:
            self._warn(why)
        self._console.print(f"{self._name}: {kept if why else f'it holds; {kept}'}", highlight=False)

    def _warn(self, text: str) -> None:
        """Say loudly what somebody who holds the robot must know at once."""
        self._console.print(Text(f"{self._name}: {text}", "bold red"))

    async def _follow(self, robot: Robot, for_s: float | None, *, has_keys: bool) -> str:
        """Show what is moved until it is over; otherwise as `_teach`."""
        names = [joint["name"] for joint in (await robot.report("description"))["joints"]]
        now = asyncio.get_running_loop().time
        begun_s, has_begun = now(), False
        received_s = begun_s
        hint = "Enter keeps a pose, q saves, Ctrl-C ends" if has_keys else f"for {for_s:g} s"
        async with robot.reports("teaching", "telemetry") as reports:
            with Live(console=self._console, auto_refresh=False, transient=True) as live:
                position: list[float | None] = []
                while not self.is_interrupted and (for_s is None or now() - begun_s < for_s):
                    with suppress(TimeoutError):
                        async with asyncio.timeout(DRAW_S):
                            news = await reports.get()
                            received_s = now()
                            if news.subject == "telemetry":
                                position = news.data["feedback"]["position"]
                            elif news.data["mode"] is None and has_begun:
                                return str(news.data["message"]) or "it is not taught any more"
                            else:
                                has_begun = news.data["mode"] is not None
                    if now() - received_s >= SILENT_S:
                        self._warn(f"nothing comes of it any more, and nothing is recorded; {HOLD}")
                        return f"nothing has come of it for {SILENT_S:g} s"
                    if await self._heed(robot):
                        return ""
                    line = Text(f"{self._name}: {now() - begun_s:.1f} s  ({hint})")
                    live.update(Group(line, _positions(names, position)), refresh=True)
        return ""

    async def _heed(self, robot: Robot) -> bool:
        """Do what keys ask for; return whether they end it."""
        while not self._keys.empty():
            key = self._keys.get_nowait()
            if key in ENDS:
                return True
            if key == "enter":
                try:
                    pose = await robot.request("teach/pose")
                    self._console.print(f"{self._name}: kept {pose['name']}", highlight=False)
                except Refused as refused:
                    self._console.print(str(refused), highlight=False)
        return False

    def _interrupt(self) -> None:
        self.is_interrupted = True

    @contextmanager
    def _read_keys(self) -> Iterator[None]:
        """Put each key into the queue."""
        descriptor, loop, keys = sys.stdin.fileno(), asyncio.get_running_loop(), Keys()

        def read() -> None:
            with suppress(OSError):
                data = os.read(descriptor, MOST_AT_ONCE)
                if not data:  # the terminal is gone
                    loop.remove_reader(descriptor)
                if not data or QUIT in data:
                    self._interrupt()
                for key in keys.take(data):
                    self._keys.put_nowait(key)

        with raw_keys(descriptor):
            loop.add_reader(descriptor, read)
            try:
                yield
            finally:
                loop.remove_reader(descriptor)

    # -- what comes of it -----------------------------------------------------------------------------------

    async def _save_or_say_how(self, robot: Robot) -> int:
        """Save what was taught; where that is refused, say that it can be saved otherwise."""
        try:
            return await self._save(robot)
        except Refused as refused:
            report(str(refused), FAILED)
            return self._not_saved()

    def _not_saved(self) -> int:
        hint = f"`motiond teach {self._name} NAME --draft` does that"
        return report(f"{self._name}: not saved; {hint}", FAILED)

    async def _save(self, robot: Robot) -> int:
        with _with_options():
            saved = await robot.request("teach/save", self._saving)
        if self._json:
            print_json(saved)
            return DONE
        for problem in saved["problems"]:
            report(f"{self._name}: {_as_options(problem)}", DONE)
        print(f"{self._name}: {saved['motion']}: {_says(saved)}")  # noqa: T201 - the answer
        print(f"{self._name}: `motiond play {self._name} {saved['motion']}` plays it")  # noqa: T201
        return DONE


@contextmanager
def _with_options() -> Iterator[None]:
    """Have what is refused name options in place of keys."""
    try:
        yield
    except Refused as refused:
        raise Refused(refused.code, _as_options(str(refused))) from refused


def _as_options(text: str) -> str:
    """Return what a daemon says, with options in place of the keys of its requests."""
    for keys, options in OPTIONS.items():
        text = text.replace(keys, options)
    return text


def _why_loose(status: dict[str, Any]) -> str:
    """Return why a robot does not hold itself up, loudly; '' where it does."""
    if status["state"] == "offline":
        return f"it is offline, and may have no torque: {HOLD}"
    if not status["torque"]:
        return f"it has no torque ({status['state']}): {HOLD}"
    return f"no torque at {', '.join(status['loose'])}: {HOLD}" if status["loose"] else ""


def _says(saved: dict[str, Any]) -> str:
    """Return what a motion is like, in a line."""
    units = {peak["joint"]: peak["unit"] for peak in saved["peaks"]}
    joint = max(saved["deviation"], key=saved["deviation"].__getitem__)
    away = f"{saved['deviation'][joint]:.2g} {units[joint]}"
    return f"{saved['duration_s']:.2f} s, {saved['rows']} rows; at most {away} from what was taught ({joint})"


def _poses(count: int) -> str:
    return "1 pose" if count == 1 else f"{count} poses"


def _positions(names: list[str], position: list[float | None]) -> Columns:
    known = zip(names, position, strict=False)
    cells = [Text(f"{name} {'?' if value is None else f'{value:+.3f}'}") for name, value in known]
    return Columns(cells, (0, 2))


@asynccontextmanager
async def _in_control(robot: Robot) -> AsyncIterator[None]:
    """Be in control all the while, where somebody has to be."""
    if not (await robot.report("lease"))["required"]:
        yield
        return
    async with robot.control(own_holder("teach")):
        yield


@contextmanager
def _interrupts(act: Callable[[], None]) -> Iterator[None]:
    """Have Ctrl-C, Ctrl-Backslash, and the end of the terminal, end it."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
