"""Behaviour of a robot whose motions are read: beside everything else, once at a time, and not to the end."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from math import inf
from typing import TYPE_CHECKING, Any, cast

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.joints.description import make_joint_map
from motiond.daemon.planning.library import Entry, MotionLibrary
from motiond.daemon.planning.planner import Plan
from motiond.daemon.robots.motions import motion_loader
from motiond.daemon.robots.motions.motion_loader import MotionLoader
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, sweep, write_seq
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

LEFT = "arm: the motions were not read; the daemon shuts down"


class SlowLibrary:
    """Reads one file for as long as a test wants."""

    def __init__(self) -> None:
        self.reading, self.may_end, self.has_ended = (asyncio.Event() for _ in range(3))
        self.stopped = False
        self.files_read = 0
        self.error: Exception | None = None

    def end_reading(self) -> None:
        """Nothing is read by another process."""

    def load_all(self, stopped: Callable[[], bool], _may_read: object = None) -> bool:
        self.reading.set()
        while not self.may_end.is_set():
            time.sleep(0.01)  # beside the loop, as a thread would
        self.has_ended.set()
        if self.error is not None:
            raise self.error
        self.stopped = stopped()
        return not self.stopped


class Bench:
    def __init__(self, turns: asyncio.Semaphore | None = None) -> None:
        self.library = SlowLibrary()
        self.loads: list[str] = []
        library = cast("MotionLibrary", self.library)
        self.loader = MotionLoader("arm", library, lambda: self.loads.append("loaded"), turns)

    async def until_reading(self) -> None:
        await asyncio.wait_for(self.library.reading.wait(), PATIENCE_S)


@pytest.fixture
async def bench() -> Bench:
    return Bench()


def begin(bench: Bench) -> asyncio.Task[None]:
    return asyncio.create_task(bench.loader.load(), name="test.load")


async def test_one_reading_follows_another(bench: Bench) -> None:
    loading = begin(bench)
    await bench.until_reading()
    with pytest.raises(RequestError) as refused:
        await bench.loader.load()
    assert refused.value.code == "BUSY"
    assert str(refused.value) == (
        "arm: the motions are being read already; one reading follows another; wait until they are published"
    )
    bench.library.may_end.set()
    await asyncio.wait_for(loading, PATIENCE_S)
    await asyncio.wait_for(bench.loader.load(), PATIENCE_S)
    assert bench.loads == ["loaded", "loaded"]


async def test_robots_read_in_turns_so_that_the_event_loop_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(motion_loader, "TURN_S", inf)
    turns = asyncio.Semaphore(2)
    benches = [Bench(turns) for _ in range(5)]
    loading = [begin(bench) for bench in benches]
    reading: list[Bench] = []
    for _ in benches:
        await asyncio.sleep(1.0)
        began = [bench for bench in benches if bench.library.reading.is_set()]
        assert len(began) == min(5, len(reading) + 2)
        unfinished = [bench for bench in began if bench not in reading]
        reading.append(unfinished[-1])  # it runs within the other, on virtual time
        unfinished[-1].library.may_end.set()
    await asyncio.gather(*loading)
    assert [bench.loads for bench in benches] == [["loaded"]] * 5


async def test_whoever_reads_for_long_keeps_no_other_robot_from_reading() -> None:
    turns = asyncio.Semaphore(1)
    slow, other = Bench(turns), Bench(turns)
    loading = [begin(slow), begin(other)]
    await slow.until_reading()
    assert not other.library.reading.is_set()
    await asyncio.sleep(2.0 * motion_loader.TURN_S)
    assert other.library.reading.is_set()
    assert not slow.library.has_ended.is_set()
    for bench in (other, slow):
        bench.library.may_end.set()
    await asyncio.gather(*loading)


async def test_whoever_leaves_waits_for_no_turn() -> None:
    turns = asyncio.Semaphore(1)
    slow, waits = Bench(turns), Bench(turns)
    loading, waiting = begin(slow), begin(waits)
    await slow.until_reading()
    waits.loader.leave()
    with pytest.raises(RequestError) as refused:
        await waiting
    assert (refused.value.code, str(refused.value)) == ("OFFLINE", LEFT)
    for bench in (waits, slow):
        bench.library.may_end.set()
    await loading


async def test_whoever_leaves_waits_for_no_file(bench: Bench) -> None:
    loading = begin(bench)
    await bench.until_reading()
    bench.loader.leave()
    with pytest.raises(RequestError) as refused:
        await asyncio.wait_for(loading, PATIENCE_S)
    assert (refused.value.code, str(refused.value)) == ("OFFLINE", LEFT)
    assert not bench.library.may_end.is_set(), "the file is still being read"
    with pytest.raises(RequestError):
        await bench.loader.load()
    bench.library.may_end.set()
    await asyncio.wait_for(bench.library.has_ended.wait(), PATIENCE_S)
    await asyncio.sleep(0)
    assert (bench.library.stopped, bench.loads) == (True, [])


async def test_a_failure_is_raised_to_whoever_waits_and_logged_where_nobody_does(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.library.error = ZeroDivisionError("no luck")
    bench.library.may_end.set()
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(bench.loader.load(), PATIENCE_S)
    await asyncio.wait_for(bench.loader.load_first(), PATIENCE_S)
    assert caplog.messages == ["arm: the motions could not be read"]


async def test_a_robot_whose_motions_cannot_be_read_takes_other_requests(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Any] = []

    def fail(*_: object) -> bool:
        calls.append(1)
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("motiond.daemon.planning.library.MotionLibrary.load_all", fail)
        async with rig.running() as registry:
            await rig.until_state("idle")
            with pytest.raises(RequestError) as refused:
                await ask(registry, "play", motion="short")
            assert str(refused.value) == "arm: no motion 'short'; there are no motions at all"
            patched.undo()
            listed = await ask(registry, "motions/reload")
            assert [motion["name"] for motion in listed["motions"]] == ["long", "short"]
            accepted = await ask(registry, "play", motion="short")
            assert (await rig.result_of(accepted["goal_id"]))["code"] == "SUCCESSFUL"
    assert len(calls) == 1
    assert "arm: the motions could not be read" in caplog.messages


def library_of(rig: Rig) -> MotionLibrary:
    settings = load_settings(rig.config)
    robot = settings.robots["arm"]
    return MotionLibrary(make_joint_map("arm", robot, settings), robot)


async def test_no_pass_of_the_garbage_collector_goes_through_the_motions_that_were_read(rig: Rig) -> None:
    library = library_of(rig)
    await MotionLoader("arm", library, lambda: None).load()
    assert [entry.name for entry in library] == ["long", "short"]
    assert [one for one in gc.get_objects() if isinstance(one, Entry | Plan)] == []


async def test_motions_that_are_replaced_are_freed_although_no_pass_goes_through_them(rig: Rig) -> None:
    library = library_of(rig)
    loader = MotionLoader("arm", library, lambda: None)
    await loader.load()
    (short,) = (entry.plan for entry in library if entry.name == "short" and entry.plan)
    replaced = weakref.ref(short.positions)
    del short
    write_seq(rig.folder / "motions" / "short.seq", sweep(0.4), JOINTS, RATE_HZ)
    await loader.load()
    assert replaced() is None
