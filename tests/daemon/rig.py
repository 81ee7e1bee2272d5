"""A robot of two simulated joints with a motion or two, run by a real registry, for tests of the daemon."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest
import yaml

from motiond.daemon.api import VERBS, ReportHub, RequestError
from motiond.daemon.clock.monitor import ClockMonitor
from motiond.daemon.config.settings import load_settings
from motiond.daemon.ipc.stream_forks import StreamForks
from motiond.daemon.robots.assembly import make_registry
from motiond.daemon.stream.engine.displacement import SETTLED_S
from motiond.drivers.limits import ActuatorLimits
from tests.daemon.virtual_forks import VirtualForks
from tests.virtual import VirtualLoop
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    import signal
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import NDArray

    from motiond.daemon.api import Report
    from motiond.daemon.robots.registry import RobotRegistry

FORKS = StreamForks()
UNLIMITED = ActuatorLimits.none(2).as_lists()
"""What the two actuators of the rig's robot allow."""
"""Forks the stream processes of all tests in this process."""
JOINTS = ("shoulder", "elbow")
RATE_HZ = 200
FULL_SWING = 100
"""The row of the long motion from which on it has been at its fastest."""


def stream_forks() -> AbstractContextManager[StreamForks]:
    """Fork stream processes: in this process on virtual time, else as the daemon does."""
    is_virtual = isinstance(asyncio.get_running_loop(), VirtualLoop)
    return VirtualForks() if is_virtual else nullcontext(FORKS)


def send_signal(forks: StreamForks, pid: int | None, number: signal.Signals) -> None:
    """Send a stream process a signal, as `os.kill` does."""
    assert pid is not None
    if isinstance(forks, VirtualForks):
        forks.send_signal(pid, number)
    else:
        os.kill(pid, number)


def make_clock() -> ClockMonitor:
    """Return a clock that asks no program."""
    return ClockMonitor(ask_chrony=_no_chrony)


async def _no_chrony() -> None:
    return None


def write_seq(path: Path, rows: NDArray[np.float64], joints: tuple[str, ...], rate_hz: float) -> None:
    """Write a motion as Choreonoid lays it out."""
    lines = [
        "type: CompositeSeq",
        "content: BodyMotion",
        "format_version: 4",
        f"frame_rate: {rate_hz}",
        f"num_frames: {len(rows)}",
        "components:",
        "  -",
        "    type: MultiValueSeq",
        "    content: JointDisplacement",
        f"    num_parts: {len(joints)}",
        f"    part_labels: [ {', '.join(joints)} ]",
        "    frames:",
        *(f"      - [ {', '.join(map(repr, row))} ]" for row in rows.tolist()),
    ]
    path.write_text("\n".join(lines) + "\n")


def sweep(
    duration_s: float, rate_hz: float = RATE_HZ, joints: int = 2, swings: int = 1
) -> NDArray[np.float64]:
    """Swing every joint to and fro, from rest to rest, by up to 0.4 rad; shape (rows, joints)."""
    at = np.linspace(0.0, swings, round(duration_s * rate_hz) + 1)
    reach = np.linspace(0.2, 0.4, joints)
    return 0.1 + np.outer(0.5 - 0.5 * np.cos(2 * np.pi * at), reach)


def comes_to_rest_softly(positions: NDArray[np.float64]) -> bool:
    """Whether the last step before the setpoints stand still is a tiny one.

    The long motion's steps are up to 6e-3 rad, so a hard stop ends with one of that size; slowing down over
    0.2 s ends with steps below a hundredth of it. A deadline that the machine misses does not matter.
    """
    steps = np.abs(np.diff(positions, axis=0)).max(axis=1)
    return bool(steps.max() > 2e-3 and steps[steps > 0.0][-1] < 2e-4)


class Rig:
    """A folder with a configuration and motions; `settings` are what a test may change before it starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reports: list[Report] = []
        self.forks: StreamForks = FORKS
        self._heard = asyncio.Event()
        self.driver: dict[str, Any] = {
            "type": "sim",
            "command_lifetime_s": 5.0,
            "trace": "trace.npy",
            "plant": "plant.bin",
        }
        limits = {"lower": -2.0, "upper": 2.0, "velocity": 3.0}
        self.robot: dict[str, Any] = {
            "joints": {name: {"limits": limits} for name in JOINTS},
            "driver": self.driver,
            "motions": ["motions"],
            "approach": {"velocity": 2.0, "acceleration": 10.0, "jerk": 100.0},
            "stop_duration_s": 0.2,
            # What a busy machine delays neither leaves out rows nor stops a motion.
            "on_late": "stretch",
            "max_lateness_s": 10.0,
            "stream_timeout_s": 10.0,
            "daemon_timeout_s": 10.0,
        }
        self.daemon: dict[str, Any] = {}
        self.others: dict[str, Any] = {}
        (folder / "motions").mkdir()
        write_seq(folder / "motions" / "short.seq", sweep(0.5), JOINTS, RATE_HZ)
        write_seq(folder / "motions" / "long.seq", sweep(20.0, swings=10), JOINTS, RATE_HZ)

    @property
    def config(self) -> Path:
        """The configuration file, written as it stands now; a daemon that reads it finds it whole."""
        path, new = self.folder / "motiond.yaml", self.folder / "motiond.yaml.new"
        new.write_text(
            yaml.safe_dump(
                {"http": None, **self.daemon, "robots": {"arm": self.robot} | self.others}, sort_keys=False
            )
        )
        new.replace(path)
        return path

    @asynccontextmanager
    async def running(
        self, forks: StreamForks | None = None, clock: ClockMonitor | None = None
    ) -> AsyncIterator[RobotRegistry]:
        """Run the robots without MQTT, from on line to shut down."""
        hub = ReportHub()
        with stream_forks() if forks is None else nullcontext(forks) as self.forks:
            registry = make_registry(load_settings(self.config), hub, self.forks, clock or make_clock())
            async with self.running_on(registry, hub):
                yield registry

    def send_signal(self, pid: int | None, number: signal.Signals) -> None:
        send_signal(self.forks, pid, number)

    @asynccontextmanager
    async def running_on(self, registry: RobotRegistry, hub: ReportHub) -> AsyncIterator[RobotRegistry]:
        """Run a registry's robots and note what they report."""
        with hub.subscribe() as reports:
            hearing = asyncio.create_task(self._hear(reports), name="rig.hear")
            running = asyncio.create_task(registry.run(), name="rig.run")
            try:
                yield registry
            finally:
                registry.leave()
                async with asyncio.timeout(PATIENCE_S):
                    await running
                hearing.cancel()
                await asyncio.wait((hearing,), timeout=PATIENCE_S)

    async def _hear(self, reports: Any) -> None:
        async for report in reports:
            self.reports.append(report)
            self._heard.set()

    async def until(
        self, subject: str, holds: Callable[[dict[str, Any]], bool], since: int = 0
    ) -> dict[str, Any]:
        """Wait for a report, among those from number `since` on."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while (found := self._first(subject, holds, since)) is None:
                    self._heard.clear()
                    await self._heard.wait()
        except TimeoutError:
            self._miss(subject, since)
        return found

    def _first(
        self, subject: str, holds: Callable[[dict[str, Any]], bool], since: int
    ) -> dict[str, Any] | None:
        reported = (report.data for report in self.reports[since:] if report.subject == subject)
        return next((data for data in reported if holds(data)), None)

    def _miss(self, subject: str, since: int) -> NoReturn:
        reported = [report.data for report in self.reports[since:] if report.subject == subject]
        states = [report.data["state"] for report in self.reports if report.subject == "state"]
        raise AssertionError(
            f"no such {subject} in {PATIENCE_S:g} s; {len(reported)} came, the last of them {reported[-3:]}; "
            f"states from the beginning: {states}"
        )

    async def until_state(self, state: str, since: int = 0) -> dict[str, Any]:
        return await self.until("state", lambda data: data["state"] == state, since)

    async def swings(self, registry: RobotRegistry, **how: Any) -> str:
        """Play the long motion until it is at its fastest; give the goal."""
        await self.until_state("idle")
        goal_id: str = (await ask(registry, "play", motion="long", **how))["goal_id"]
        await self.until("telemetry", lambda data: (data["frame"] or 0) > FULL_SWING)
        return goal_id

    async def result_of(self, goal_id: str) -> dict[str, Any]:
        return await self.until("result", lambda data: data["goal_id"] == goal_id)

    async def rest_after(self, goal_id: str) -> dict[str, Any]:
        """Wait for a goal's result and for the rest after it; give the result."""
        result = await self.result_of(goal_id)
        last = max(
            k
            for k, report in enumerate(self.reports)
            if report.subject == "state" and report.data["goal_id"] == goal_id
        )
        await self.until_state("idle", last)
        return result

    async def has_held(self) -> None:
        """Let the robot hold until it knows how its joints are held."""
        since_s = (await self._next_telemetry(lambda _: True))["stamp_s"] + 2.0 * SETTLED_S
        await self._next_telemetry(lambda data: data["stamp_s"] > since_s)

    async def push(self, registry: RobotRegistry, joint: str, by: float) -> None:
        """Move a joint while it holds, and keep it there."""
        column = JOINTS.index(joint)
        pushed = (await self._next_telemetry(lambda _: True))["feedback"]["position"][column] + by
        await ask(registry, "fault", fault="stuck", joint=joint)
        await ask(registry, "fault", fault="displaced", joint=joint, by=by)
        await self._next_telemetry(lambda data: abs(data["feedback"]["position"][column] - pushed) < 1e-6)

    async def _next_telemetry(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        return await self.until("telemetry", holds, len(self.reports))

    def place_of(self, data: dict[str, Any]) -> int:
        """Return the number of the report with just these data."""
        return next(k for k, report in enumerate(self.reports) if report.data is data)

    def reports_on(self, subject: str) -> list[dict[str, Any]]:
        return [report.data for report in self.reports if report.subject == subject]

    def results(self) -> list[str]:
        return [report.data["code"] for report in self.reports if report.subject == "result"]


async def ask(registry: RobotRegistry, verb: str, **values: Any) -> dict[str, Any]:
    """Send the robot a request as MQTT or the command line would."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return {**await registry.handle("arm", verb, VERBS[verb].request.model_validate(values))}
    except TimeoutError as error:
        raise AssertionError(f"{verb}: no answer in {PATIENCE_S:g} s") from error


async def refused(registry: RobotRegistry, verb: str, **values: Any) -> tuple[str, str]:
    """Send the robot a request that is refused; return the code and the whole message."""
    with pytest.raises(RequestError) as refusal:
        await ask(registry, verb, **values)
    return refusal.value.code, str(refusal.value)
