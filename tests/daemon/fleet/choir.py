"""Robots of several daemons at one mosquitto, and whoever wants them to start together."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import orjson
import yaml

from motiond.daemon.api import Dispatcher, ReportHub
from motiond.daemon.config.settings import load_settings
from motiond.daemon.fleet.member.listener import Listener
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.daemon.robots.assembly import make_registry
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.conftest import listening, running, said
from tests.daemon.rig import Rig, make_clock, stream_forks
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from motiond.daemon.config.mqtt import MqttSettings
    from motiond.daemon.mqtt.client import Brokers
    from motiond.daemon.robots.registry import RobotRegistry
    from tests.daemon.conftest import Ear

MARGIN_S = 1.5
"""Between the longest approach and the first row: more than they need to agree."""
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


class NoWay:
    """Brokers at which no connection may be made any more."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._brokers, name)

    async def may_follow(self) -> None:
        await asyncio.Event().wait()


class Member:
    """A robot with a daemon of its own, in this process."""

    def __init__(self, rig: MemberRig, registry: RobotRegistry, listener: Listener) -> None:
        self.rig = rig
        self.registry = registry
        self.listener = listener

    def agree(self, start: str) -> bool:
        """Whether it knows that all daemons know that all are ready."""
        known = self.listener._starts.get(start)
        return known is not None and not known.members.not_agreed()

    def lose_connection_for_good(self) -> None:
        """Cut the connection by which it hears the others, and let it find no way back."""
        client, follower = self.listener._client, self.listener._follower
        assert client is not None
        follower._brokers = NoWay(follower._brokers)  # type: ignore[assignment]
        client.break_off()

    def phases(self) -> list[str | None]:
        return [report.data["phase"] for report in self.rig.reports if report.subject == "reservation"]

    async def phase(self, phase: str | None) -> dict[str, Any]:
        return await self.rig.until("reservation", lambda data: data["phase"] == phase)

    async def result(self) -> dict[str, Any]:
        return await self.rig.until("result", lambda _: True)

    async def break_connection(self) -> None:
        """Cut the connection by which it hears the others."""
        client = self.listener._client
        assert client is not None
        client.break_off()
        await until("the connection is lost", lambda: self.listener._client is not client)


@asynccontextmanager
async def member(rig: MemberRig, settings: MqttSettings, *, hears: bool = True) -> AsyncIterator[Member]:
    """Run a daemon; `hears` is whether it listens to what is asked of groups."""
    hub = ReportHub()
    with stream_forks() as rig.forks:
        registry = make_registry(load_settings(rig.config), hub, rig.forks, make_clock())
        quiet = settings.model_copy(update={"telemetry_hz": 0})
        bridge = MqttBridge(quiet, rig.name, registry, Dispatcher(registry), hub)
        one = Member(rig, registry, Listener(settings, rig.name, bridge, registry))
        async with _run(one, hub, bridge, hears=hears):
            yield one


@asynccontextmanager
async def _run(one: Member, hub: ReportHub, bridge: MqttBridge, *, hears: bool) -> AsyncIterator[None]:
    rig = one.rig
    async with rig.running_on(one.registry, hub), running(bridge):
        task = asyncio.create_task(one.listener.run(), name=f"{rig.name}.fleet") if hears else None
        try:
            await rig.until_state("idle")
            if hears:
                await until("it listens", lambda: bool(one.listener._logs))
            yield
        finally:
            if task is not None:
                task.cancel()
                await asyncio.wait((task,), timeout=PATIENCE_S)


async def until(what: str, holds: Callable[[], bool]) -> None:
    deadline_s = asyncio.get_running_loop().time() + PATIENCE_S
    while not holds():
        assert asyncio.get_running_loop().time() < deadline_s, f"{what}: not in {PATIENCE_S:g} s"
        await asyncio.sleep(0.01)


async def until_asked(ear: Ear, robot: str) -> None:
    """Wait until a robot's daemon answers what is asked of groups, by asking for what is no commit.

    It hears that on a connection of its own, which may be made later than the one on which it tells states.
    """
    request = orjson.dumps({"robots": [robot]})
    async with asyncio.timeout(PATIENCE_S):
        while True:
            await ear.client.publish("motiond/fleet/request/commit", request, 1)
            with suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    await ear.until(f"motiond/{robot}/response/fleet/commit")
                    return


class Choir:
    """Members, and who asks them, at one broker."""

    def __init__(self, ear: Ear, members: dict[str, Member]) -> None:
        self.ear = ear
        self.members = members

    async def prepare(self, start: str = "s1", **bodies: dict[str, Any]) -> dict[str, Any]:
        """Prepare all; give the commit that may follow."""
        needs_s, tokens = [], {}
        for name in self.members:
            body = {"motion": "short", "start": start, "expires_s": 60.0} | bodies.get(name, {})
            answer = await self.ask(name, "fleet/prepare", body)
            assert answer["status"] == "ok", answer
            needs_s.append(answer["data"]["ready_in_s"])
            tokens[name] = answer["data"]["token"]
        return {
            "start": start,
            "robots": [*self.members],
            "tokens": tokens,
            "start_at": time.time() + max(needs_s) + MARGIN_S,
            "ready_in_s": max(needs_s),
        }

    async def ask(self, robot: str, verb: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer: dict[str, Any] = await self.ear.ask(
            f"motiond/{robot}/request/{verb}", orjson.dumps(body or {})
        )
        return answer

    async def send(self, verb: str, body: dict[str, Any], *, retain: bool = False) -> None:
        payload = orjson.dumps(body)
        await self.ear.client.publish(f"motiond/fleet/request/{verb}", payload, qos=1, retain=retain)

    async def answer(self, robot: str, verb: str = "commit") -> dict[str, Any]:
        told: dict[str, Any] = said(await self.ear.until(f"motiond/{robot}/response/fleet/{verb}"))
        return told


@asynccontextmanager
async def choir(
    folder: Path,
    settings: MqttSettings,
    *,
    deaf: tuple[str, ...] = (),
    names: tuple[str, ...] = ("left", "right"),
) -> AsyncIterator[Choir]:
    async with AsyncExitStack() as stack:
        members = {
            name: await stack.enter_async_context(
                member(MemberRig(folder / name, name), settings, hears=name not in deaf)
            )
            for name in names
        }
        yield Choir(await stack.enter_async_context(listening(settings)), members)
