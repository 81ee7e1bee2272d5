"""What holds for every stream process, real or in memory: one suite that both pass."""

from __future__ import annotations

import asyncio
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.robots.process.stream_process import StreamProcess
from motiond.drivers.sim.command_log import read_trace
from motiond.drivers.sim.driver import SimDriver
from tests.daemon.rig import JOINTS, Rig, ask, send_signal, stream_forks, sweep
from tests.daemon.stream.test_loop import START, setup_of
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.ipc.stream_forks import StreamForks

BEATS_S = 0.15
"""In which a process at rest ticks several times."""


class Run:
    """A stream process, and what it has sent."""

    def __init__(self, process: StreamProcess) -> None:
        self.process = process
        self._is_closed = False
        self.notices: list[Any] = []

    def send(self, command: messages.Command, number: int = 0) -> None:
        assert self.process.send(command, number=number)

    async def until(self, kind: type[Any], **values: Any) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            while (notice := await self.process.notice()) is not None:
                self.notices.append(notice)
                if isinstance(notice, kind) and all(getattr(notice, k) == v for k, v in values.items()):
                    return notice
        raise AssertionError(f"no {kind.__name__} with {values}; there came {self.notices}")

    async def end(self) -> int | None:
        async with asyncio.timeout(PATIENCE_S):
            while (notice := await self.process.notice()) is not None:
                self.notices.append(notice)
        return await self.close()

    async def close(self) -> int | None:
        """Let it end, if it has not, and free what it holds."""
        if not self._is_closed:
            self._is_closed = True
            await self.process.close(PATIENCE_S)
            self.process.telemetry.close()
        return self.process.exit_code


class StreamProcessContract:
    """The suite; a class that inherits it runs it."""

    @pytest.fixture
    async def forks(self) -> AsyncIterator[StreamForks]:
        with stream_forks() as forks:
            yield forks

    @asynccontextmanager
    async def running(self, forks: StreamForks, **options: Any) -> AsyncIterator[Run]:
        run = Run(StreamProcess(forks, setup_of(options=options)))
        try:
            yield run
        finally:
            await run.close()

    async def test_it_is_ready_once_its_driver_is_open_and_ends_when_it_is_to(
        self, forks: StreamForks
    ) -> None:
        async with self.running(forks) as run:
            ready = await run.until(messages.Ready)
            assert (ready.max_rate_hz, ready.warnings) == (SimDriver.max_rate_hz, [])
            run.send(messages.Shutdown())
            assert await run.end() == 0
        assert not [notice for notice in run.notices if isinstance(notice, messages.Lost)]

    async def test_it_obeys_commands_in_order_and_acknowledges_the_last(self, forks: StreamForks) -> None:
        async with self.running(forks, initial=dict(zip(JOINTS, START, strict=True))) as run:
            await run.until(messages.Ready)
            run.send(messages.Enable(), 1)
            enabled = await run.until(messages.Changed, after=1)
            run.send(messages.Estop(), 2)
            halted = await run.until(messages.Changed, after=2)
            run.send(messages.Reset(), 3)
            run.send(messages.Disable(), 4)
            released = await run.until(messages.Changed, after=4)
        assert (enabled.state, enabled.torque, enabled.reference) == ("idle", True, START)
        assert halted.state == "estopped"
        assert (released.state, released.torque, released.reference) == ("idle", False, None)

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV])
    async def test_how_a_signal_has_ended_it_is_known(
        self, forks: StreamForks, number: signal.Signals
    ) -> None:
        async with self.running(forks) as run:
            await run.until(messages.Ready)
            pid = run.process.pid
            assert pid is not None
            send_signal(forks, pid, number)
            assert await run.end() == -number

    async def test_a_crash_inside_a_driver_ends_it(self, forks: StreamForks) -> None:
        async with self.running(forks, faults=[{"fault": "crash", "at_s": 0.05}]) as run:
            await run.until(messages.Ready)
            assert await run.end() == -signal.SIGABRT

    async def test_it_stands_still_while_it_is_stopped_and_goes_on_then(self, forks: StreamForks) -> None:
        async with self.running(forks) as run:
            await run.until(messages.Ready)
            pid, telemetry = run.process.pid, run.process.telemetry
            assert pid is not None
            send_signal(forks, pid, signal.SIGSTOP)
            await asyncio.sleep(BEATS_S)
            stopped = telemetry.pulse
            run.send(messages.Estop(), 1)
            await asyncio.sleep(BEATS_S)
            assert telemetry.pulse == stopped
            send_signal(forks, pid, signal.SIGCONT)
            assert (await run.until(messages.Changed, after=1)).state == "estopped"

    async def test_it_ends_at_once_although_it_is_stopped(self, forks: StreamForks) -> None:
        async with self.running(forks) as run:
            await run.until(messages.Ready)
            assert run.process.pid is not None
            send_signal(forks, run.process.pid, signal.SIGSTOP)
            run.process.kill()
            assert await run.end() == -signal.SIGKILL

    async def test_it_is_not_to_be_hurried_once_its_driver_is_open(self, forks: StreamForks) -> None:
        async with self.running(forks) as run:
            await run.until(messages.Ready)
            run.process.hurry()
            run.send(messages.Estop(), 1)
            await run.until(messages.Changed, after=1)
            run.send(messages.Shutdown())
            assert await run.end() == 0

    async def test_a_driver_that_cannot_be_opened_is_reported(
        self, forks: StreamForks, tmp_path: Path
    ) -> None:
        trace = tmp_path / "missing" / "trace.npy"
        async with self.running(forks, trace=str(trace)) as run:
            failed = await run.until(messages.Failed)
            assert await run.end() == 1
        assert failed.message == (
            f"driver sim: {trace} cannot be opened; No such file or directory; check `plant` and `trace`"
        )

    async def test_one_device_has_one_process_at_a_time(self, forks: StreamForks, tmp_path: Path) -> None:
        plant = str(tmp_path / "plant.bin")
        async with self.running(forks, plant=plant) as first:
            await first.until(messages.Ready)
            async with self.running(forks, plant=plant) as second:
                lost = await second.until(messages.Lost)
                assert lost.message.startswith(f"plant:{plant}: held by process ")
                first.process.kill()
                assert await first.end() == -signal.SIGKILL
                await second.until(messages.Ready)

    async def test_actuators_that_are_lost_are_looked_for_until_they_are_back(
        self, forks: StreamForks
    ) -> None:
        async with self.running(forks, faults=[{"fault": "bus_lost", "at_s": 0.05, "for_s": 0.2}]) as run:
            await run.until(messages.Ready)
            lost = await run.until(messages.Lost)
            await run.until(messages.Ready)
        assert lost.message == "driver sim: the bus is lost; as a simulated fault; wait, or clear the fault"

    async def test_nothing_stays_of_a_process_that_is_killed_before_it_has_begun(
        self, forks: StreamForks
    ) -> None:
        with type(forks)() as forks_of_its_own:  # which end with it
            async with self.running(forks_of_its_own) as run:
                run.process.kill()

    async def test_a_motion_plays_row_by_row(self, tmp_path: Path) -> None:
        rig = Rig(tmp_path)
        async with rig.running() as registry:
            await rig.until_state("idle")
            goal_id = (await ask(registry, "play", motion="short"))["goal_id"]
            result = await rig.result_of(goal_id)
        assert result["code"] == "SUCCESSFUL"
        assert result["played_s"] >= 0.5  # longer where the machine was late
        positions, rows = read_trace(tmp_path / "trace.npy")["position"], sweep(0.5)
        held = np.flatnonzero((positions != rows[-1]).any(axis=1))[-1] + 2  # from here on, until it has ended
        np.testing.assert_array_equal(positions[held - len(rows) : held], rows)
