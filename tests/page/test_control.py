"""On the page: who is in control of a robot where somebody has to be, and how that changes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from tests.daemon.programs import running
from tests.page.browser import ArmRig, browsing
from tests.page.test_page import AXE, serious_findings
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.page.browser import Browsed

LONG_S = 600.0
"""Longer than any test takes: what a page does not release, it keeps."""
PLAY = "button[aria-label='Play long']"
CONTROL = "document.querySelector('.control')?.innerText"


@pytest.fixture
def rig(rig: ArmRig) -> ArmRig:
    rig.robot["lease"] = {"required": True, "ttl_s": LONG_S}
    return rig


class Ana:
    """Another client, by HTTP."""

    def __init__(self, rig: ArmRig, session: aiohttp.ClientSession) -> None:
        self._url = f"{rig.url}api/robots/arm"
        self._session = session

    async def ask(self, verb: str, **body: Any) -> Any:
        async with self._session.post(f"{self._url}/{verb}", json=body) as response:
            told = await response.json()
        assert told["status"] == "ok", told
        return told["data"]

    async def see(self, subject: str) -> Any:
        async with self._session.get(f"{self._url}/{subject}") as response:
            return await response.json()

    async def until_in_control(self, who: str | None) -> dict[str, Any]:
        """Wait until somebody is in control whose name begins so."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                told: dict[str, Any] = await self.see("lease")
                holder = told["holder"]
                if holder is None if who is None else holder is not None and holder.startswith(who):
                    return told
                await asyncio.sleep(0.05)


@asynccontextmanager
async def page_and_ana(rig: ArmRig, view: str = "", **options: Any) -> AsyncIterator[tuple[Browsed, Ana]]:
    async with running(rig), aiohttp.ClientSession() as session:
        await rig.until_listening()
        async with browsing(rig, view, **options) as browsed:
            await browsed.until_state("idle")
            yield browsed, Ana(rig, session)
            assert browsed.errors == []


async def test_the_first_command_takes_control_if_nobody_has_it_and_leaving_returns_it(rig: ArmRig) -> None:
    async with page_and_ana(rig) as (browsed, ana):
        await browsed.until(f"{CONTROL} === 'Nobody is in control'")
        await browsed.page.click(PLAY)
        await browsed.until_state("playing")
        await browsed.until_says("You are in control")
        await ana.until_in_control("Page in Chrome on Linux, ")
        await browsed.page.click("button.stop")
        await browsed.until_state("idle")
        await browsed.page.goto("about:blank")
        await ana.until_in_control(None)


async def test_control_is_renewed_while_the_page_is_open(rig: ArmRig) -> None:
    rig.robot["lease"]["ttl_s"] = 20.0
    async with page_and_ana(rig) as (browsed, ana):
        await browsed.page.click("text=How to play")
        await browsed.page.select_option(".options select", "forever")
        await browsed.page.click(PLAY)
        first = await ana.until_in_control("Page")
        async with asyncio.timeout(PATIENCE_S):
            while (await ana.see("lease"))["expires_at"] < first["expires_at"] + 5.0:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        assert (await ana.see("lease"))["epoch"] == first["epoch"]
        await browsed.page.click(".control button:text('Release')")
        await ana.until_in_control(None)
        await browsed.until_says("Nobody is in control")
        assert (await ana.see("state"))["state"] == "playing"


async def test_who_else_is_in_control_is_named_and_control_is_taken_from_them(rig: ArmRig) -> None:
    async with page_and_ana(rig) as (browsed, ana):
        lease = (await ana.ask("lease/acquire", holder="ana"))["lease"]
        await browsed.until_says("ana is in control")
        await ana.ask("play", motion="long", lease=lease)
        await browsed.until_state("playing")
        assert await browsed.page.is_disabled("button[aria-label='Queue nod']")
        assert await browsed.page.is_disabled(".player button:text('Pause')")
        assert await browsed.page.is_enabled("button.stop")
        assert await browsed.page.is_enabled("button.estop")
        await browsed.page.click(".control button:text('Take control')")
        await browsed.until_says("You are in control")
        await browsed.until_state("idle")
        await browsed.page.click(PLAY)
        await browsed.until_state("playing")


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_who_is_in_control_is_seen_on_a_phone_too(rig: ArmRig, colours: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed")
    async with page_and_ana(rig, device="Pixel 7", color_scheme=colours) as (browsed, ana):
        await ana.ask("lease/acquire", holder="a long name of somebody who is in control of this arm")
        await browsed.until_says("is in control")
        assert await browsed.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        estop = await browsed.page.locator("button.estop").bounding_box()
        assert estop is not None
        assert estop["y"] + estop["height"] < 100
        assert await serious_findings(browsed) == []
        await browsed.page.tap(".control button:text('Take control')")
        await browsed.until_says("You are in control")
        assert await serious_findings(browsed) == []


async def test_anybody_stops_from_the_page(rig: ArmRig) -> None:
    async with page_and_ana(rig) as (browsed, ana):
        lease = (await ana.ask("lease/acquire", holder="ana"))["lease"]
        await ana.ask("play", motion="long", lease=lease)
        await browsed.until_state("playing")
        await browsed.page.keyboard.press("Escape")
        await browsed.until_state("idle")
        await browsed.until_says("ana is in control")


async def test_who_takes_control_from_the_page_is_told_and_the_robot_stops(rig: ArmRig) -> None:
    async with page_and_ana(rig, "#/arm/health") as (browsed, ana):
        await browsed.page.click(PLAY)
        await browsed.until_state("playing")
        await ana.ask("lease/take", holder="ana")
        await browsed.until_says("arm: ana took control.")
        await browsed.until_says("ana is in control")
        await browsed.until_state("idle")
        await browsed.until_says("long: CANCELED: ana took control from Page in Chrome on Linux, ")
        assert await browsed.page.is_disabled(PLAY)


async def test_control_that_may_not_be_taken_has_no_button(rig: ArmRig) -> None:
    rig.robot["lease"]["takeover"] = False
    async with page_and_ana(rig) as (browsed, ana):
        lease = (await ana.ask("lease/acquire", holder="ana"))["lease"]
        await browsed.until(f"{CONTROL} === 'ana is in control'")
        await ana.ask("lease/release", lease=lease)
        await browsed.until(f"{CONTROL} === 'Nobody is in control'")
        assert await browsed.page.is_enabled(PLAY)


async def test_a_page_that_is_left_while_the_robot_moves_lets_its_lease_run_out(rig: ArmRig) -> None:
    async with page_and_ana(rig) as (browsed, ana):
        await browsed.page.click(PLAY)
        await browsed.until_state("playing")
        await browsed.page.goto("about:blank")
        await asyncio.sleep(1.0)  # what it would send has come by then; on a slow machine this shows nothing
        assert (await ana.see("lease"))["holder"].startswith("Page in ")
        assert (await ana.see("state"))["state"] == "playing"


async def test_a_motion_is_uploaded_and_deleted_in_control(rig: ArmRig) -> None:
    (rig.folder / "new").mkdir()
    rig.robot["motions"] = ["motions", {"folder": "new", "upload": True}]
    file = rig.folder / "added.seq"
    file.write_bytes((rig.folder / "motions/long.seq").read_bytes())
    async with page_and_ana(rig) as (browsed, _):
        await browsed.page.set_input_files(".upload input[type=file]", str(file))
        await browsed.until_says("added.seq: taken")
        await browsed.until_says("You are in control")
        await browsed.page.click("button[aria-label='Delete added']")
        await browsed.page.click("button:text('Delete the file')")
        await browsed.until("!document.querySelector(\"button[aria-label='Play added']\")")


async def test_where_everybody_commands_nothing_is_said_of_control(rig: ArmRig) -> None:
    rig.robot["lease"] = {"required": False}
    async with page_and_ana(rig) as (browsed, ana):
        await browsed.page.click(PLAY)
        await browsed.until_state("playing")
        assert await browsed.page.locator(".control").count() == 0
        assert (await ana.see("lease"))["holder"] is None
