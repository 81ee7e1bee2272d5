"""`motiond follow`: a robot follows another, until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import pytest

from tests.daemon.cli.program import OnTerminal, daemon_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.cli.program import Daemon
    from tests.daemon.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("terminals")]
LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 40.0}
STOPPED = "arm: follow ended with SUCCESSFUL; following has ended on request; the robot holds\n"


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.robot |= {
        "joints": {name: {"limits": LIMITS} for name in rig.robot["joints"]},
        "fault_requests": True,
    }
    driver = rig.driver | {"trace": "other.npy", "plant": "other.bin"}
    rig.others = {"other": rig.robot | {"driver": driver}}
    return rig


@pytest.fixture
async def daemon(rig: Rig) -> AsyncIterator[Daemon]:
    async with daemon_of(rig) as daemon:
        yield daemon


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_it_ends_softly_where_it_is_asked_to_end_or_its_terminal_is_closed(
    daemon: Daemon, number: signal.Signals
) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # whatever runs the tests may have it ignored
    try:
        follow = daemon.start("follow", "arm", "--leader", "other")
        await daemon.until("following")
        follow.send_signal(number)
        follow.send_signal(number)  # a shell passes on what the system has sent already
        code, out, _ = await follow.end()
    finally:
        signal.signal(number, before)
    assert (code, out) == (0, STOPPED)
    assert (await daemon.ask("status"))["state"] == "idle"


async def test_it_shows_how_far_it_lags_until_ctrl_c_ends_it_softly(daemon: Daemon) -> None:
    await daemon.ask("teach/start", "other")
    follow = OnTerminal("follow", "arm", "--leader", "other", "-c", daemon.config)
    await follow.writes("arm: goes with other, ")
    await follow.writes(" rad behind at ")
    await daemon.ask("fault", "other", fault="hand", joint="elbow", to=0.5, for_s=1.0)
    await asyncio.sleep(1.5)
    follow.send_signal(signal.SIGINT)
    code, out, err = await follow.end()
    assert code == 0
    assert out == STOPPED
    assert "arm: stopping softly; Ctrl-C again stops the waiting only" in err
    assert (await daemon.ask("status"))["state"] == "idle"


async def test_it_ends_by_itself_after_so_long(daemon: Daemon) -> None:
    assert await daemon.cli("follow", "arm", "--leader", "other", "--for", "1") == (0, STOPPED, "")


async def test_a_map_says_which_joint_moves_which(daemon: Daemon, rig: Rig) -> None:
    map_ = rig.folder / "arm.map.yaml"
    map_.write_text("joints:\n  shoulder: {from: elbow, sign: -1}\nignore: others\n")
    follow = daemon.start("follow", "arm", "--leader", "other", "--map", map_, "--for", "2")
    told = await daemon.until_status(lambda told: told["state"] == "following")
    assert (told["follow"]["leader"], told["follow"]["joints"]) == ("other", ["shoulder"])
    assert await follow.end() == (0, STOPPED, "")
    map_.write_text("joints: {shoulder: {from: elbow, sing: -1}}\n")
    code, out, err = await daemon.cli("follow", "arm", "--leader", "other", "--map", map_)
    assert (code, out) == (2, "")
    assert "arm.map.yaml:1: unknown key 'sing'" in err


async def test_a_leader_that_is_lost_ends_it_with_exit_code_1(daemon: Daemon) -> None:
    follow = daemon.start("follow", "arm", "--leader", "other")
    await daemon.until("following")
    await daemon.ask("estop", "other")
    lost = "arm: follow ended with CANCELED; other does not lead any more; its emergency stop is latched\n"
    assert await follow.end() == (1, "", lost)


async def test_what_cannot_lead_is_refused(daemon: Daemon) -> None:
    refusal = "arm: it cannot follow arm; it would follow itself; choose another leader\n"
    assert await daemon.cli("follow", "arm", "--leader", "arm") == (1, "", refusal)
