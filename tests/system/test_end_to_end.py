"""Behaviour of the whole daemon: a process of its own, a real broker, and things killed in the middle."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiomqtt
import numpy as np
import orjson
import pytest

from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.config.settings import host_name
from motiond.drivers.sim.command_log import read_trace
from motiond.drivers.sim.plant_file import read_plant
from tests import ports
from tests.daemon.conftest import Mosquitto, data_of, listening
from tests.daemon.link import Link
from tests.daemon.programs import gone, motiond, running, use
from tests.daemon.rig import FULL_SWING, Rig, comes_to_rest_softly, sweep, write_seq
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import psutil

    from motiond.formats.arrays import Floats
    from tests.daemon.conftest import MqttObserver

WALK_JOINTS = tuple(f"joint{number}" for number in range(29))
FASTEST_STEP = 0.05
"""In rad: more than some rows of a motion that a busy machine skips, less than another place of it."""
LIFETIME_S = 10.0
"""How long actuators hold without a setpoint: longer than a busy machine leaves a stream without its time."""
LOST_S = 4.0
"""How long a broker may be away: longer than a busy machine keeps one that is there from answering."""
WALK_HZ = 500
"""A robot of the size of a small humanoid."""
DAEMON = f"motiond/bridge/{host_name()}/availability"
"""Where a daemon tells its availability that was given no id."""


async def play(observer: MqttObserver, motion: str) -> str:
    answer = await observer.ask("motiond/arm/request/play", orjson.dumps({"motion": motion}))
    assert answer["status"] == "ok", answer
    goal_id: str = answer["data"]["goal_id"]
    return goal_id


async def play_into_full_swing(observer: MqttObserver) -> str:
    """Play the long motion until it is at its fastest, where a hard stop would show."""
    goal_id = await play(observer, "long")
    await observer.until("motiond/arm/telemetry", lambda data: (data["frame"] or 0) > FULL_SWING)
    observer.received.clear()
    return goal_id


async def state(observer: MqttObserver, wanted: str) -> Any:
    """Wait for a state and give its report."""
    return data_of(await observer.until("motiond/arm/state", lambda payload: payload["state"] == wanted))


async def result(observer: MqttObserver, goal_id: str) -> Any:
    return data_of(await observer.until("motiond/arm/result", lambda payload: payload["goal_id"] == goal_id))


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


@pytest.fixture(params=["embedded", "mosquitto"])
async def settings(
    request: pytest.FixtureRequest, free_port: int, tmp_path: Path
) -> AsyncIterator[MqttSettings]:
    """Settings of the broker inside the daemon, and of a mosquitto that runs."""
    if request.param == "embedded":
        yield MqttSettings(broker="embedded", listen=f"127.0.0.1:{free_port}")
        return
    mosquitto = Mosquitto(free_port, tmp_path)
    await mosquitto.start()
    yield mosquitto.settings
    await mosquitto.kill()


@pytest.fixture
async def link(mosquitto: Mosquitto) -> AsyncIterator[Link]:
    """A way to the mosquitto that can be cut."""
    link = Link(mosquitto.port)
    await link.repair()
    yield link
    await link.cut()


@asynccontextmanager
async def subscribed(settings: MqttSettings) -> AsyncIterator[MqttObserver]:
    """Connect as soon as there is a broker."""
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    observer = await stack.enter_async_context(listening(settings))
                    break
                except aiomqtt.MqttError:
                    await asyncio.sleep(0.05)
        yield observer


def walk(rig: Rig) -> Floats:
    """Make the robot one of 29 joints, with a walk for it; give the walk's rows."""
    limits = {"lower": -2.0, "upper": 2.0, "velocity": 5.0}
    rig.robot["joints"] = {name: {"limits": limits} for name in WALK_JOINTS}
    rows = sweep(2.0, WALK_HZ, len(WALK_JOINTS))
    write_seq(rig.folder / "motions" / "walk.seq", rows, WALK_JOINTS, WALK_HZ)
    return rows


def is_listed(name: str, motions: list[dict[str, Any]]) -> bool:
    """Whether a motion is read and checked, as a larger one is not yet where its robot is idle."""
    return any(motion["name"] == name for motion in motions)


def contains_in_order(trace: Floats, rows: Floats) -> bool:
    """Whether the rows stand in the trace one after the other, bit for bit."""
    starts = range(len(trace) - len(rows) + 1)
    return any(trace[start : start + len(rows)].tobytes() == rows.tobytes() for start in starts)


async def test_one_request_through_the_broker_plays_every_row_of_a_29_joint_walk(
    rig: Rig, settings: MqttSettings
) -> None:
    use(rig, settings)
    rows = walk(rig)
    rig.robot["on_late"] = "stretch"  # where the machine stands still, the walk ends later and skips no row
    async with running(rig) as daemon, subscribed(settings) as observer:
        await state(observer, "idle")
        await observer.until("motiond/arm/motions", lambda data: is_listed("walk", data["motions"]))
        for _attempt in range(3):
            ended = await result(observer, await play(observer, "walk"))
            assert ended["code"] == "SUCCESSFUL"
            if ended["timing"]["missed_deadlines"] == 0:
                break
        assert await daemon.end() == 0
    assert ended["timing"]["skipped_rows"] == 0
    missed = ended["timing"]["missed_deadlines"]
    assert ended["played_s"] == pytest.approx(2.0) if missed == 0 else ended["played_s"] >= 2.0
    assert contains_in_order(read_trace(rig.folder / "trace.npy")["position"], rows)


async def test_what_the_robot_does_is_told_while_it_plays_and_kept_for_those_who_come_later(
    rig: Rig, settings: MqttSettings
) -> None:
    use(rig, settings)
    async with running(rig) as daemon, subscribed(settings) as observer:
        assert data_of(await observer.until("motiond/arm/availability"))["bridge"] == host_name()
        await state(observer, "idle")
        description = data_of(
            await observer.until("motiond/arm/description", lambda data: data["rates"]["max_hz"])
        )
        motions = data_of(await observer.until("motiond/arm/motions"))
        goal_id = await play(observer, "long")
        playing = await state(observer, "playing")
        telemetry = data_of(await observer.until("motiond/arm/telemetry", lambda data: data["frame"]))
        diagnostics = data_of(await observer.until("motiond/arm/diagnostics"))
        await observer.ask("motiond/arm/request/stop", b"")
        assert (await result(observer, goal_id))["code"] == "CANCELED"
        assert await daemon.end() == 0
    assert [joint["name"] for joint in description["joints"]] == ["shoulder", "elbow"]
    assert [(motion["name"], motion["ok"]) for motion in motions["motions"]] == [
        ("long", True),
        ("short", True),
    ]
    assert (playing["motion"], playing["goal_id"], playing["duration"]) == ("long", goal_id, 20.0)
    assert [len(telemetry[side]["position"]) for side in ("reference", "feedback", "error")] == [2, 2, 2]
    assert {"tick_rate_hz", "lateness_s", "missed_deadlines", "driver_errors"} <= diagnostics.keys()


async def test_when_the_broker_is_killed_the_robot_stops_softly_and_tells_it_afterwards(
    rig: Rig, mosquitto: Mosquitto, link: Link
) -> None:
    by_the_link = mosquitto.settings.model_copy(update={"broker": f"mqtt://127.0.0.1:{link.port}"})
    use(rig, by_the_link, stop_when_lost_s=LOST_S)
    async with running(rig) as daemon:
        async with listening(mosquitto.settings) as observer:
            await state(observer, "idle")
            goal_id = await play_into_full_swing(observer)
        await mosquitto.kill()
        stopped = await asyncio.to_thread(trace_at_rest, rig)
        await link.cut()  # the result comes once, and somebody shall be there
        await mosquitto.start()
        async with listening(mosquitto.settings) as observer:
            await link.repair()
            ended = await result(observer, goal_id)
            assert (await state(observer, "idle"))["torque"] is True
            await observer.until("motiond/arm/availability", lambda data: data["state"] == "online")
            again = await result(observer, await play(observer, "short"))
        assert await daemon.end() == 0
    reason = f"the broker has been away for more than {LOST_S:g} s; nobody could stop it"
    assert (ended["code"], ended["message"], again["code"]) == ("CANCELED", reason, "SUCCESSFUL")
    assert comes_to_rest_softly(stopped)


async def test_when_a_broker_is_killed_the_motion_plays_on_and_is_stopped_by_way_of_the_next(
    rig: Rig, mosquitto: Mosquitto, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    second = Mosquitto(ports.free_port(), tmp_path / "second")
    await second.start()
    try:
        use(rig, mosquitto.settings)
        urls = [mosquitto.settings.url, second.settings.url]
        rig.daemon["mqtt"]["broker"] = urls
        async with running(rig) as daemon, listening(second.settings) as at_second:
            async with listening(mosquitto.settings) as at_first:
                await state(at_first, "idle")
                goal_id = await play_into_full_swing(at_first)
                before = data_of(await at_first.until("motiond/arm/state"))["sequence"]
            await mosquitto.kill()
            playing = await state(at_second, "playing")
            stopped = await asyncio.to_thread(motiond, "stop", "arm", "-c", rig.config)
            ended = await result(at_second, goal_id)
            assert await daemon.end() == 0
            await at_second.until(DAEMON, lambda data: data["state"] == "offline")
    finally:
        await second.kill()
    assert (playing["goal_id"], playing["sequence"] >= before) == (goal_id, True)
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert (ended["code"], ended["sequence"]) == ("CANCELED", 1)
    assert ended["message"] == "stopped on request, softly, on the path"


def trace_at_rest(rig: Rig) -> Floats:
    """Wait until the setpoints stand still, and give all there were."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        positions = read_trace(rig.folder / "trace.npy")["position"]
        if len(positions) > 20 and (positions[-10:] == positions[-1]).all():
            return positions
        time.sleep(0.05)
    pytest.fail("the robot never came to rest")


async def test_when_the_daemon_is_killed_the_stream_stops_softly_ends_and_a_fresh_start_works(
    rig: Rig, mosquitto: Mosquitto
) -> None:
    use(rig, mosquitto.settings)
    async with listening(mosquitto.settings) as observer:
        async with running(rig) as daemon:
            await state(observer, "idle")
            await play_into_full_swing(observer)
            streams = daemon.streams()
            await daemon.kill()
            await gone(streams)
            await observer.until(DAEMON, lambda data: data["state"] == "broken")
        stopped = read_trace(rig.folder / "trace.npy")["position"]
        observer.received.clear()
        async with running(rig) as daemon:
            await observer.until(DAEMON, lambda data: data["state"] == "online")
            await observer.until("motiond/arm/availability", lambda data: data["state"] == "online")
            assert (await result(observer, await play(observer, "short")))["code"] == "SUCCESSFUL"
            assert await daemon.end() == 0
    assert len(streams) == 1
    assert comes_to_rest_softly(stopped)


async def test_when_the_stream_process_is_killed_the_actuators_let_go_and_the_robot_comes_back(
    rig: Rig, mosquitto: Mosquitto
) -> None:
    use(rig, mosquitto.settings)
    rig.driver["command_lifetime_s"] = LIFETIME_S
    async with running(rig) as daemon, listening(mosquitto.settings) as observer:
        await state(observer, "idle")
        goal_id = await play_into_full_swing(observer)
        (stream,) = daemon.streams()
        stream.kill()
        ended = await result(observer, goal_id)
        offline = await state(observer, "offline")
        reading = read_plant(rig.folder / "plant.bin", time.monotonic() + LIFETIME_S)
        await observer.until(
            "motiond/arm/state", lambda data: (data["state"], data["torque"]) == ("idle", False)
        )
        assert not reading.torque
        assert (await result(observer, await play(observer, "short")))["code"] == "SUCCESSFUL"
        assert await daemon.end() == 0
    reason = "the stream process ended unasked (killed by signal 9)"
    assert (ended["code"], ended["message"], offline["message"]) == ("COMM_LOST", reason, reason)


async def test_sigterm_in_the_middle_of_a_motion_stops_softly_and_exits_cleanly(
    rig: Rig, mosquitto: Mosquitto
) -> None:
    use(rig, mosquitto.settings)
    async with running(rig) as daemon, listening(mosquitto.settings) as observer:
        await state(observer, "idle")
        goal_id = await play_into_full_swing(observer)
        streams = daemon.streams()
        assert await daemon.end() == 0
        ended = await result(observer, goal_id)
        await gone(streams)
        await observer.until(DAEMON, lambda data: data["state"] == "offline")
    assert (ended["code"], ended["message"]) == ("CANCELED", "the daemon shuts down")
    assert comes_to_rest_softly(read_trace(rig.folder / "trace.npy")["position"])


async def test_when_the_daemon_hangs_the_robot_stops_softly_and_plays_again_once_it_goes_on(
    rig: Rig, mosquitto: Mosquitto
) -> None:
    use(rig, mosquitto.settings)
    rig.robot["daemon_timeout_s"] = 4.0
    async with running(rig) as daemon, listening(mosquitto.settings) as observer:
        await state(observer, "idle")
        goal_id = await play_into_full_swing(observer)
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            stopped = await asyncio.to_thread(trace_at_rest, rig)
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        ended = await result(observer, goal_id)
        assert (await result(observer, await play(observer, "short")))["code"] == "SUCCESSFUL"
        assert await daemon.end() == 0
    assert comes_to_rest_softly(stopped)
    reason = "nothing was received from the daemon for more than 4 s (daemon_timeout_s)"
    rest = "nobody could stop the robot; look at what kept the daemon busy, or raise it"
    assert (ended["code"], ended["message"]) == ("CANCELED", f"{reason}; {rest}")


def drives(process: psutil.Process, plant: Path) -> bool:
    """Whether a process has a simulated robot open; one that has ended has not."""
    try:
        return str(plant) in Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")
    except OSError:
        return False


async def test_after_a_kill_in_mid_motion_the_next_daemon_waits_until_nobody_else_drives_the_robot(
    rig: Rig, mosquitto: Mosquitto
) -> None:
    use(rig, mosquitto.settings)
    rig.driver["command_lifetime_s"] = None
    plant = rig.folder / "plant.bin"
    async with listening(mosquitto.settings) as observer, AsyncExitStack() as stack:
        resume = stack.enter_context(ExitStack())
        async with running(rig) as daemon:
            await state(observer, "idle")
            await play_into_full_swing(observer)
            (old,) = daemon.streams()
            old.suspend()  # in full swing, until the next daemon has come
            resume.callback(old.resume)
            await daemon.kill()
        observer.received.clear()  # what the first daemon reported of the robot's state
        async with running(rig) as daemon:
            lost = await observer.until("motiond/arm/event", lambda data: data["kind"] == "stream_lost")
            (new,) = daemon.streams()
            for _ in range(50):
                assert (drives(old, plant), drives(new, plant)) == (True, False)
                await asyncio.sleep(0.02)
            resume.close()
            await observer.until("motiond/arm/event", lambda data: data["kind"] == "back")
            assert (drives(old, plant), drives(new, plant)) == (False, True)
            await state(observer, "idle")
            observer.received.clear()
            assert (await result(observer, await play(observer, "short")))["code"] == "SUCCESSFUL"
            assert await daemon.end() == 0
    assert data_of(lost)["message"] == (
        f"plant:{plant}: held by process {old.pid} (motiond stream of robot 'arm'); "
        "one device has one master; waiting until that process ends"
    )
    trace = read_trace(rig.folder / "trace.npy")
    assert (np.diff(trace["time"]) >= 0.0).all()
    assert np.abs(np.diff(trace["position"], axis=0)).max() < FASTEST_STEP
