"""A stop on the daemons' own machine: it goes to all that have the robot, and is true of each."""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
from contextlib import ExitStack, asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.cli import stop_here
from motiond.local import address_of
from tests.daemon.cli.program import motiond
from tests.daemon.conftest import Robots, control_of, known_hub
from tests.daemon.fleet.members import members
from tests.users import listening_as_other_user

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.daemon.conftest import Embedded

PLAYING = {"goal_id": "1f", "state": "stopping", "reached": True, "stops_within_s": 0.4}
IDLE = {"goal_id": None, "state": "idle", "reached": True, "stops_within_s": 0.0}
LOST = {"goal_id": None, "state": "offline", "reached": False, "message": "no answer from j1"}
REASON = "it is offline (no answer from j1), and no actuator was reached; use the robot's own switch"
SWITCH = "use the robot's own switch, or end that daemon: its robots then stop softly"
HANGS = (
    f"arm: no answer in 5 s; a daemon on this machine hangs, process {os.getpid()} of user {os.geteuid()} "
    f"({pwd.getpwuid(os.geteuid()).pw_name}); {SWITCH}"
)
NOBODY = (
    "mqtt://127.0.0.1:1883: no connection to the broker; nobody listens there; "
    "start the daemon or the broker, or correct the URL"
)


@pytest.fixture(autouse=True)
def no_configuration(programs: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    del programs
    monkeypatch.setattr(stop_here, "DEFAULT_CONFIG", str(tmp_path / "none.yaml"))


@pytest.mark.parametrize(
    ("holds", "told"), [(True, "it holds"), (False, "it has no torque: go on holding it")]
)
async def test_a_stop_that_ends_teaching_says_whether_the_robot_holds(
    tmp_path: Path, told: str, *, holds: bool
) -> None:
    async with daemons(tmp_path, IDLE | {"state": "stopping", "ended_teaching": True, "holds": holds}):
        assert await motiond("stop", "arm") == (0, f"arm: teaching has ended; {told}\n", "")


@asynccontextmanager
async def daemons(folder: Path, *answers: dict[str, Any] | None) -> AsyncIterator[list[Robots]]:
    """Run daemons of an arm that answer a stop so; None is one that hangs."""
    serving, all_robots, opened = [], [Robots() for _ in answers], ExitStack()
    for number, (answer, robots) in enumerate(zip(answers, all_robots, strict=True)):
        config = folder / f"{number}.yaml"
        if answer is None:
            hanging = opened.enter_context(socket.socket(socket.AF_UNIX))
            hanging.bind(address_of(config))
            hanging.listen()
            continue
        robots.answers |= {"stop": answer, "estop": answer}
        serving.append(asyncio.create_task(control_of(config, robots, known_hub()).run()))
    await asyncio.sleep(0.0)
    with opened:
        yield all_robots
    for task in serving:
        task.cancel()
    await asyncio.gather(*serving, return_exceptions=True)


async def test_each_robot_of_the_name_has_its_line_and_json_is_of_the_one_that_stops_last(
    tmp_path: Path,
) -> None:
    async with daemons(tmp_path, PLAYING, IDLE):
        code, out, err = await motiond("stop", "arm")
        assert (code, sorted(out.splitlines()), err) == (0, ["arm: nothing plays", "arm: stops softly"], "")
        for words in (("stop", "arm", "--json"), ("stop", "--json", "arm")):
            code, out, _ = await motiond(*words)
            assert (code, orjson.loads(out)) == (0, PLAYING)


async def test_what_no_stop_reaches_is_reported_beside_what_stops(tmp_path: Path) -> None:
    async with daemons(tmp_path, PLAYING, LOST):
        code, out, err = await motiond("stop", "arm")
        assert (code, out, err) == (1, "arm: stops softly\n", f"arm: nothing plays; {REASON}\n")


async def test_daemons_that_hang_are_named_and_keep_no_stop_from_the_others(tmp_path: Path) -> None:
    async with daemons(tmp_path, None, PLAYING, None, IDLE) as robots:
        began_s = asyncio.get_running_loop().time()
        stopping = asyncio.create_task(motiond("stop", "arm"))
        await asyncio.sleep(0.01)
        assert [one.verbs() for one in robots] == [[], ["stop"], [], ["stop"]]
        code, out, err = await stopping
        assert asyncio.get_running_loop().time() - began_s < 5.1
    assert (code, sorted(out.splitlines())) == (1, ["arm: nothing plays", "arm: stops softly"])
    assert err.splitlines() == [HANGS, HANGS]


async def test_where_all_daemons_here_hang_the_broker_is_asked_and_they_are_named(tmp_path: Path) -> None:
    async with daemons(tmp_path, None):
        began_s = asyncio.get_running_loop().time()
        assert await motiond("stop", "arm") == (3, "", f"{HANGS}\n{NOBODY}\n")
        assert asyncio.get_running_loop().time() - began_s < 5.6


async def test_a_stop_by_the_broker_does_not_hide_that_the_daemon_here_hangs(
    tmp_path: Path, broker: Embedded
) -> None:
    config = tmp_path / "0.yaml"
    config.write_text(f"mqtt: {{broker: 'mqtt://{broker.settings.listen}', protocol: '3.1.1'}}\n")
    async with daemons(tmp_path, None), members(broker.settings) as crowd:
        crowd.add("arm")
        await crowd.settle()
        began_s = asyncio.get_running_loop().time()
        stopping = asyncio.create_task(motiond("stop", "arm", "-c", config))
        await asyncio.sleep(1.0)
        assert crowd.asked_for("stop") == {"arm"}
        assert await stopping == (1, "arm: stops softly\n", f"{HANGS}\n")
        assert asyncio.get_running_loop().time() - began_s < 5.1


async def test_an_impostor_beside_a_daemon_that_stops_the_robot_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(listening_as_other_user(monkeypatch, address_of(tmp_path / "false.yaml"))):
        async with daemons(tmp_path, IDLE):
            code, out, err = await motiond("stop", "arm")
    assert (code, out, err.startswith("this machine: process ")) == (0, "arm: nothing plays\n", True)
