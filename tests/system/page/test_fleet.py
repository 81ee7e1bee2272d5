"""The page of all robots at a broker, before real daemons of two robots and a server that has none."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests import ports
from tests.daemon import answers
from tests.daemon.asking import ask
from tests.daemon.fleet.members import members, until
from tests.daemon.programs import Daemon, background, running
from tests.daemon.rig import Rig
from tests.system.page.browser import Browsed, browsing, part, until_listening
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.config.mqtt import MqttSettings
    from tests.daemon.conftest import Mosquitto

pytestmark = pytest.mark.asyncio(loop_scope="session")


@asynccontextmanager
async def fleet_page(settings: MqttSettings) -> AsyncIterator[Browsed]:
    """Run `motiond fleet serve` and look at its page; nothing may be in the console at the end."""
    port = ports.free_port()
    listen = ("--listen", f"127.0.0.1:{port}", "--broker", settings.url)
    with background("fleet", "serve", *listen, stdout=None, stderr=None) as process:
        await until_listening(port)
        async with browsing(f"http://127.0.0.1:{port}/") as browsed:
            yield browsed
            assert browsed.errors == [], browsed.errors
    assert process.returncode == 0


def tile(robot: str, part: str = "") -> str:
    return f"document.querySelector('.tile[data-robot={robot}]{part}')"


def says(robot: str, text: str) -> str:
    return f"{tile(robot)}?.innerText.includes({text!r})"


def does(robot: str, state: str) -> str:
    return f"{tile(robot, ' .state')}?.dataset.state === '{state}'"


@asynccontextmanager
async def two_daemons(folder: Path, broker: Mosquitto) -> AsyncIterator[dict[str, Daemon]]:
    async with AsyncExitStack() as stack:
        daemons = {}
        for robot, daemon in (("left", "d1"), ("right", "d2")):
            (folder / robot).mkdir()
            rig = OneRobot(folder / robot, robot, daemon, broker)
            daemons[robot] = await stack.enter_async_context(running(rig))
        yield daemons


class OneRobot(Rig):
    """One robot of a group, at a broker that is shared."""

    def __init__(self, folder: Path, robot: str, daemon: str, broker: Mosquitto) -> None:
        super().__init__(folder)
        self._name = robot
        self.daemon |= {"id": daemon, "mqtt": {"broker": broker.settings.url, "stop_when_lost_s": 10.0}}
        self.robot["groups"] = ["choir"]

    @property
    def config(self) -> Path:
        path = super().config
        path.write_text(path.read_text().replace("\n  arm:\n", f"\n  {self._name}:\n"))
        return path


async def play_together(browsed: Browsed) -> None:
    """Play; again where a daemon was held up, so that none plays."""
    loop = asyncio.get_running_loop()
    both = " && ".join(does(robot, "playing") for robot in ("left", "right"))
    for _ in range(4):
        await browsed.page.click("button[aria-label='Play together: choir']")
        until_s = loop.time() + PATIENCE_S / 4  # by then a reservation has expired
        while loop.time() < until_s:
            if await browsed.page.evaluate(both):
                browsed.errors.clear()  # of a start that was refused
                return
            await asyncio.sleep(0.2)
    raise AssertionError(await browsed.page.inner_text("body"))


async def test_robots_of_two_daemons_are_watched_played_and_stopped(
    tmp_path: Path, mosquitto: Mosquitto
) -> None:
    async with two_daemons(tmp_path, mosquitto) as daemons, fleet_page(mosquitto.settings) as browsed:
        page = browsed.page
        for robot, daemon in (("left", "d1"), ("right", "d2")):
            await browsed.until(does(robot, "idle"))
            await browsed.until(says(robot, f"{daemon} on "))
            await browsed.until(says(robot, "choir"))
        with part("one robot is commanded without what its daemon alone has"):
            await page.click(".tile[data-robot=right] h2 a")
            await page.click("button[aria-label='Play long']")
            await browsed.until_state("playing")
            await page.click(".views a[href$=joints]")
            moves = "parseFloat(document.querySelector('.joints tbody tr')?.cells[1].innerText) > 0.15"
            await browsed.until(moves)  # telemetry comes of the robot that is looked at
            assert await page.locator("button:text('Preview')").count() == 0
            assert await page.locator("img.thumbnail").count() == 0
            await page.click("button.stop")
            await browsed.until_state("idle")
            await page.click("a[aria-label='All robots']")
        with part("all play together and stop together"):
            await page.select_option("select[aria-label='Motion for choir']", "long")
            await play_together(browsed)
            results = [await ask(mosquitto.settings, robot, "status") for robot in ("left", "right")]
            assert [one["motion"] for one in results] == ["long", "long"]
            await page.click("button[aria-label='Stop choir']")
            for robot in ("left", "right"):
                await browsed.until(does(robot, "idle"))
            await page.click("button[aria-label='Emergency stop of choir']")
            for robot in ("left", "right"):
                await browsed.until(does(robot, "estopped"))
        with part("a daemon that is killed is offline, with the reason"):
            await daemons["left"].kill()
            await browsed.until(does("left", "offline"))
            await browsed.until(says("left", "Offline since "))
            await browsed.until(says("left", "its daemon 'd1' has crashed, or has lost the broker"))
            assert await page.evaluate(does("right", "estopped"))


async def test_sixty_robots_stay_usable(mosquitto: Mosquitto) -> None:
    async with members(mosquitto.settings) as crowd:
        for number in range(60):
            name = f"r{number:02}"
            crowd.add(name)
            described = {**answers.DESCRIPTION, "groups": [f"row{number // 20}"]}
            crowd.report(name, "description", described, retain=True)
            crowd.report(name, "state", answers.state("idle"), retain=True)
        crowd.report("r07", "state", answers.state("fault", message="a wire is loose"), retain=True)
        async with fleet_page(mosquitto.settings) as browsed:
            await browsed.until("document.querySelectorAll('.tile').length === 60")
            await browsed.until(does("r07", "fault"))
            across = "new Set([...document.querySelectorAll('.tile')].map(one => one.offsetLeft)).size"
            assert await browsed.page.evaluate(across) >= 5
            overflow = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            assert not await browsed.page.evaluate(overflow)
            await browsed.page.select_option(".filter select", "in trouble")
            await browsed.until("document.querySelectorAll('.tile').length === 1")
            await browsed.page.select_option(".filter select", "=row1")
            await browsed.until("document.querySelectorAll('.tile').length === 20")
            await browsed.page.click("button:text('Stop all')")
            await until(lambda: len(crowd.asked_for("stop")) == 60)


async def test_a_lost_broker_is_told_and_no_state_is_shown_as_the_present_one(mosquitto: Mosquitto) -> None:
    async with members(mosquitto.settings) as crowd:
        crowd.add("arm")
        crowd.report("arm", "state", answers.state("idle"), retain=True)
        async with fleet_page(mosquitto.settings) as browsed:
            await browsed.until(does("arm", "idle"))
            await mosquitto.kill()
            await browsed.until_says("Broker lost")
            await browsed.until(does("arm", "unknown"))
            await browsed.page.click(".tile .stop")
            await browsed.until_says("The stop did not reach arm. Use its own switch.")
            browsed.errors.clear()  # what a browser says of the refused request
