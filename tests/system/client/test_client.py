"""The client's contract beside a real daemon, and what only real threads and signals can show."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import motiond.client
from motiond.client import connect, sync
from tests.daemon.client.contract import STEPS
from tests.daemon.programs import MOTIOND, background
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S, lines_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.client import Daemon
    from tests.daemon.client.contract import Step

PAGE = Path(__file__).parents[3] / "docs" / "client.md"
PLAYING = """
import signal, sys, motiond.client
signal.signal(signal.SIGINT, signal.default_int_handler)
with motiond.client.sync.connect(config=sys.argv[1]) as daemon:
    print("connected", file=sys.stderr, flush=True)
    daemon.robot("arm").play("long", loop="forever")
"""
"""It heeds Ctrl-C also below a shell that ignores it, as one does for what it runs in the background."""


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    rig = Rig(tmp_path_factory.mktemp("daemon"))
    del rig.driver["trace"], rig.driver["plant"]
    broker, page = free_port(), free_port()
    rig.daemon = {
        "mqtt": {"listen": f"127.0.0.1:{broker}"},
        "http": {"listen": f"127.0.0.1:{page}"},
    }
    with background("run", "-c", rig.config) as process:
        lines_until(process.stderr, "the page is at")
        yield {
            "broker": f"mqtt://127.0.0.1:{broker}",
            "page": f"http://127.0.0.1:{page}",
            "socket": str(rig.config),
            "pid": str(process.pid),
        }


def client(ways: dict[str, str], way: str) -> Daemon:
    return connect(config=ways[way]) if way == "socket" else connect(ways[way])


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("way", ["broker", "socket", "page"])
async def test_the_client_keeps_its_contract(ways: dict[str, str], way: str, step: Step) -> None:
    async with client(ways, way) as daemon, client(ways, way) as other, asyncio.timeout(PATIENCE_S):
        await step(daemon, other)


@pytest.mark.parametrize("verbs", [["play"], ["status", "stop"]])
@pytest.mark.parametrize("way", ["broker", "socket", "page"])
async def test_what_a_daemon_was_asked_while_it_hung_ends_in_time_and_moves_nothing_later(
    ways: dict[str, str], way: str, verbs: list[str]
) -> None:
    pid = int(ways["pid"])
    async with client(ways, way) as daemon, daemon.robot("arm").telemetry() as samples:
        await anext(samples)
        await daemon.robot("arm").play("short")  # so that answers to it are subscribed to
        os.kill(pid, signal.SIGSTOP)
        try:
            for verb in verbs:
                keys = {"motion": "long"} if verb == "play" else {}
                async with asyncio.timeout(PATIENCE_S):
                    with pytest.raises(motiond.client.NoAnswer):
                        await daemon.robot("arm").request(verb, keys, timeout_s=1.0)
        finally:
            os.kill(pid, signal.SIGCONT)
        async with asyncio.timeout(PATIENCE_S):
            assert (await daemon.robot("arm").play("short")).code == "SUCCESSFUL"


def test_several_threads_use_one_client_without_asyncio(ways: dict[str, str]) -> None:
    states = list[str]()
    with sync.connect(config=ways["socket"]) as daemon:
        arm = daemon.robot("arm")
        threads = [
            threading.Thread(target=lambda: states.append(arm.status()["state"]), name=f"asks{number}")
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        assert arm.play("short").is_successful
        with arm.telemetry() as samples:
            assert len(samples.get(PATIENCE_S)["feedback"]["position"]) == 2
        for thread in threads:
            thread.join()
    daemon.close()
    assert len(states) == 8
    with pytest.raises(motiond.client.ClientError, match="the client is not connected"):
        arm.status()


def test_a_robot_follows_targets_of_a_program_without_asyncio(ways: dict[str, str]) -> None:
    with sync.connect(config=ways["socket"]) as daemon:
        with daemon.robot("arm").follow(["elbow"], timeout_s=10.0) as follow:
            for step in range(20):
                follow.send([0.005 * step])
            follow.chunk([[0.1], [0.11]], period_s=0.1)
            with pytest.raises(ValueError, match="2 values; 1 joints are followed"):
                follow.send([0.1, 0.2])
        assert follow.result().code == "SUCCESSFUL"
        with pytest.raises(motiond.client.Refused, match="it follows no more"):
            follow.send([0.0])
        with (
            pytest.raises(ZeroDivisionError),
            daemon.robot("arm").follow(["elbow"], timeout_s=10.0) as follow,
        ):
            raise ZeroDivisionError
        assert follow.result().code == "CANCELED"


def test_what_other_threads_wait_for_ends_once_the_client_is_closed(ways: dict[str, str]) -> None:
    waiting, ended = threading.Event(), list[str]()

    async def wait_for_ever() -> None:
        waiting.set()
        await asyncio.Event().wait()

    def wait() -> None:
        try:
            daemon.call(wait_for_ever())
        except motiond.client.ClientError as error:
            ended.append(str(error))

    with sync.connect(config=ways["socket"]) as daemon:
        thread = threading.Thread(target=wait, name="waits", daemon=True)
        thread.start()
        assert waiting.wait(PATIENCE_S)
    thread.join(PATIENCE_S)
    assert ended == [f"{ways['socket']}: the client was closed meanwhile"]


def test_the_example_without_asyncio_runs(ways: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTIOND_CONFIG", ways["socket"])
    example = PAGE.read_text().split("```python\n")[-1].partition("```")[0]
    exec(compile(example, str(PAGE), "exec"), {"motiond": motiond})  # noqa: S102 - the page's own


def test_ctrl_c_ends_the_wait_and_leaves_the_robot_playing(ways: dict[str, str]) -> None:
    with sync.connect(config=ways["socket"]) as daemon, daemon.robot("arm").states() as states:
        command = [sys.executable, "-c", PLAYING, ways["socket"]]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program:
            lines_until(program.stderr, "connected")
            while states.get(PATIENCE_S)["state"] != "playing":
                pass
            program.send_signal(signal.SIGINT)
            assert "KeyboardInterrupt" in program.communicate(timeout=PATIENCE_S)[1]
        assert daemon.robot("arm").status()["motion"] == "long"
        daemon.robot("arm").stop()
        while states.get(PATIENCE_S)["state"] != "idle":
            pass


def test_a_stop_on_the_daemons_machine_loads_no_library(ways: dict[str, str]) -> None:
    code = (
        "import sys; sys.argv[0] = 'motiond'\n"
        "from motiond.daemon.cli.main import main\n"
        "try:\n    main(['stop', 'arm'])\n"
        "finally:\n    print(*sys.modules, file=sys.stderr)"
    )
    environment = {"MOTIOND_CONFIG": ways["socket"], "PATH": str(MOTIOND.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert done.stdout == "arm: nothing plays\n"
    assert not loaded & {"asyncio", "typing", "pathlib", "typer", "pydantic", "numpy", "yaml", "paho.mqtt"}
