"""Robots of several daemons at one mosquitto, and whoever wants them to start together."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
import yaml

from motiond.daemon.api import Dispatcher, ReportHub
from motiond.daemon.config.settings import load_settings
from motiond.daemon.fleet.member import GroupMember
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.robots.assembly import make_registry
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.conftest import listening, running
from tests.daemon.rig import Rig, make_clock, stream_forks
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from motiond.daemon.config.mqtt import MqttSettings
    from motiond.daemon.robots.registry import RobotRegistry
    from tests.daemon.conftest import MqttObserver

MARGIN_S = 1.5
"""Between the commits and the slowest approach."""
FIRST_ROW = 0.1
"""Where the motions of the rigs begin; the robots stand at 0."""


class MemberRig(Rig):
    """A rig whose robot has another name, and is in a group."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir()
        super().__init__(folder)
        self.name = name
        self.robot |= {"groups": ["choir"], "idle_rate_hz": 20}

    @property
    def config(self) -> Path:
        path = self.folder / "motiond.yaml"
        robots = {self.name: self.robot} | self.others
        path.write_text(yaml.safe_dump({"http": None, "id": self.name, **self.daemon, "robots": robots}))
        return path

    @property
    def highest(self) -> float:
        """The highest position that was written; the trace is there once the robot has ended."""
        return float(read_trace(self.folder / "trace.npy")["position"].max())

    @property
    def leaves_first_row_s(self) -> float:
        """When the first row was written last; the trace is there once the robot has ended."""
        rows = read_trace(self.folder / "trace.npy")
        at = rows["position"][:, 0]
        (leaves,) = ((at[:-1] == FIRST_ROW) & (at[1:] > FIRST_ROW)).nonzero()
        return float(rows["time"][leaves[0]])


class Member:
    """A robot with a daemon of its own, in this process."""

    def __init__(self, rig: MemberRig, registry: RobotRegistry, group: GroupMember) -> None:
        self.rig = rig
        self.registry = registry
        self.group = group

    def phases(self) -> list[str | None]:
        return [report.data["phase"] for report in self.rig.reports if report.subject == "reservation"]

    async def phase(self, phase: str | None) -> dict[str, Any]:
        return await self.rig.until("reservation", lambda data: data["phase"] == phase)

    async def result(self) -> dict[str, Any]:
        return await self.rig.until("result", lambda _: True)


@asynccontextmanager
async def member(rig: MemberRig, settings: MqttSettings) -> AsyncIterator[Member]:
    """Run a daemon."""
    hub = ReportHub()
    with stream_forks() as rig.forks:
        registry = make_registry(load_settings(rig.config), hub, rig.forks, make_clock())
        quiet = settings.model_copy(update={"telemetry_hz": 0})
        group = GroupMember(registry.reservations)
        bridge = MqttBridge(quiet, rig.name, registry, Dispatcher(registry), hub, take_peer_report=group.take)
        async with rig.running_on(registry, hub), running(bridge):
            task = asyncio.create_task(group.run(bridge.connected.is_set), name=f"{rig.name}.fleet")
            try:
                await rig.until_state("idle")
                yield Member(rig, registry, group)
            finally:
                task.cancel()
                await asyncio.wait((task,), timeout=PATIENCE_S)


async def until(what: str, holds: Callable[[], bool]) -> None:
    deadline_s = asyncio.get_running_loop().time() + PATIENCE_S
    while not holds():
        assert asyncio.get_running_loop().time() < deadline_s, f"{what}: not in {PATIENCE_S:g} s"
        await asyncio.sleep(0.01)


class Choir:
    """Members, and who asks them, at one broker."""

    def __init__(self, observer: MqttObserver, members: dict[str, Member]) -> None:
        self.observer = observer
        self.members = members

    async def prepare(self, start: str = "s1", **bodies: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Reserve all; return the commit of each that may follow."""
        needs_s, tokens = [], {}
        for name in self.members:
            body = {"motion": "short", "start": start, "expires_s": 60.0} | bodies.get(name, {})
            answer = await self.ask(name, "fleet/prepare", body)
            assert answer["status"] == "ok", answer
            needs_s.append(answer["data"]["ready_in_s"])
            tokens[name] = answer["data"]["token"]
        commit = {"start": start, "robots": [*self.members]}
        commit["start_at"] = time.time() + max(needs_s) + MARGIN_S
        return {name: commit | {"token": token} for name, token in tokens.items()}

    async def commit(self, commits: dict[str, dict[str, Any]], **more: Any) -> float:
        """Commit robots; return when their first rows are due."""
        for name, body in commits.items():
            answer = await self.ask(name, "fleet/commit", body | more)
            assert answer["status"] == "ok", answer
        start_at: float = body["start_at"]
        return start_at

    async def start(self, start: str = "s1", *, then: str = "stop", **bodies: dict[str, Any]) -> float:
        """Reserve and commit all; return when their first rows are due."""
        return await self.commit(await self.prepare(start, **bodies), on_member_failure=then)

    async def ask(self, robot: str, verb: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer: dict[str, Any] = await self.observer.ask(
            f"motiond/{robot}/request/{verb}", orjson.dumps(body or {})
        )
        return answer


@asynccontextmanager
async def choir(
    folder: Path, settings: MqttSettings, *, names: tuple[str, ...] = ("left", "right")
) -> AsyncIterator[Choir]:
    async with AsyncExitStack() as stack:
        members = {
            name: await stack.enter_async_context(member(MemberRig(folder / name, name), settings))
            for name in names
        }
        yield Choir(await stack.enter_async_context(listening(settings)), members)
