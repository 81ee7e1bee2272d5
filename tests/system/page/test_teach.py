"""Teaching on the page: an arm is moved by a simulated hand, and what it did is saved and played."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import aiohttp
import numpy as np
import pytest

from motiond.daemon.http.live.frames import HEAD
from tests.daemon.programs import running
from tests.system.page.browser import (
    JOINTS,
    MODEL,
    ArmRig,
    browsing,
    browsing_once_it_listens,
    on_the_page,
    part,
    seconds_of,
)
from tests.system.page.test_page import BEYOND, COVERED, CUT_OFF, SMALL
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from playwright.async_api import Page

pytestmark = pytest.mark.asyncio(loop_scope="session")

BEGIN, READY, RELEASE = "button:text('Begin…')", ".risk input[type=checkbox]", ".risk button.danger"
END, SAVE = ".teach button:text('End, and hold')", ".save button:text('Save')"
TAUGHT = """(view => ({
    way: Array.from({length: view.trail.geometry.drawRange.count}, (_, point) => {
        const place = view.trail.geometry.attributes.position;
        return [place.getX(point), place.getY(point), place.getZ(point)];
    }),
    stills: view.stills.filter(({group}) => group.visible),
}))(document.querySelector('canvas').view)"""
"""What is drawn of a lesson: the places of the last link, and robots that stand still."""
HELD = "document.querySelector('.teach .ended')?.innerText"


class TeachRig(ArmRig):
    """Arms that a hand moves and that take uploads; `leased` wants control, `bare` takes no uploads."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.robot |= {"fault_requests": True, "idle_rate_hz": 100.0}
        lease = {"required": True, "ttl_s": 60.0}
        self.others = {
            "leased": self.robot | {"lease": lease} | self._folders("leased"),
            "bare": {**self.robot},
        }
        self.robot |= self._folders("arm")
        del self.robot["driver"]["trace"], self.robot["driver"]["plant"]

    def _folders(self, robot: str) -> dict[str, object]:
        """Make folders for what a robot is taught, and for recordings of that."""
        (self.folder / f"taught {robot}").mkdir()
        uploads = {"folder": f"taught {robot}", "upload": True}
        return {"motions": ["motions", uploads], "recording": {"folder": f"recordings {robot}"}}

    async def hand(self, for_s: float = 1.0, **joints: float) -> None:
        """Let a hand move joints of the arm."""
        for joint, to in joints.items():
            answer = await self.ask("fault", fault="hand", joint=joint, to=to, for_s=for_s)
            assert answer["status"] == "ok", answer

    async def moved(self, **joints: float) -> None:
        """Let a hand move joints of the arm, and wait until telemetry has them there."""
        await self.hand(**joints)
        places = [JOINTS.index(name) for name in joints]
        async with (
            asyncio.timeout(PATIENCE_S),
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{self.url}api/ws") as socket,
        ):
            async for message in socket:
                if message.type is aiohttp.WSMsgType.BINARY and HEAD.unpack_from(message.data)[1] == 0:
                    feedback = np.frombuffer(message.data, "<f4", offset=HEAD.size).reshape(6, -1)[3]
                    if np.abs(feedback[places] - [*joints.values()]).max() < 1e-4:
                        return


@pytest.fixture
def rig(tmp_path: Path) -> TeachRig:
    return TeachRig(tmp_path)


async def seconds_in(page: Page, where: str) -> list[float]:
    """Read the times that stand somewhere, in s."""
    texts = " ".join(await page.locator(where).all_inner_texts())
    return [seconds_of(clock) for clock in re.findall(r"\d+:[\d.]+", texts)]


async def begin(page: Page) -> None:
    """Begin to teach, as somebody does who holds the arm."""
    await page.click(BEGIN)
    await page.check(READY)
    await page.click(RELEASE)


async def test_a_movement_by_hand_becomes_a_motion_that_is_played(rig: TeachRig) -> None:
    async with running(rig), on_the_page(rig, "#/arm/teach") as desk:
        page = desk.page
        with part("nothing is released before somebody says that they hold the arm"):
            await page.click(BEGIN)
            assert await page.is_disabled(RELEASE)
            assert "the arm may drop" in await page.inner_text(".risk")
            await page.click(".risk button:text('Cancel')")
            assert (await rig.see("state"))["state"] == "idle"
        with part("it is moved by hand, and poses are kept"):
            await begin(page)
            await desk.until_state("teaching")
            await rig.moved(elbow=0.5, shoulder=0.2)
            await page.fill("[aria-label='Name of the pose']", "reach")
            await page.keyboard.press("Enter")
            await desk.until("document.querySelector('.teach .poses')?.innerText === 'reach'")
            await rig.moved(elbow=0.1)
            await page.click(".teach button:text('Keep pose')")
            await desk.until("document.querySelectorAll('.teach .poses li').length === 2")
            assert await page.is_visible("button.stop")
        with part("it ends, holding where it is, and says why"):
            await page.click(END)
            await desk.until_state("idle")
            await desk.until(f"{HELD} === 'Ended on request; the robot holds.'")
            assert (await rig.see("state"))["torque"]
        with part("its ends are trimmed by handles"):
            handle = page.locator("input[aria-label='Beginning of the motion']")
            await handle.focus()
            for _ in range(3):
                await page.keyboard.press("PageUp")
            await desk.until("document.querySelector('.trail figcaption span').innerText !== '0:00.0'")
            await desk.until("document.querySelectorAll('.trail polyline').length === 6")
        with part("a page that has not seen it has it from its recording"):
            await page.reload()
            await desk.until("document.querySelectorAll('.trail polyline').length === 6")
            await handle.focus()
            for _ in range(3):
                await page.keyboard.press("PageUp")
        with part("it is checked without being saved"):
            await page.fill("[aria-label='Name of the motion']", "shown")
            await page.click(".save button:text('Check')")
            await desk.until_says("Checked; not saved")
            chosen, whole, lasts = await seconds_in(page, ".trail figcaption span:nth-child(2), .made .num")
            assert 0 < lasts < chosen + 0.15 < whole  # as long as is chosen, at most, but for the digits
            assert [*(rig.folder / "taught arm").iterdir()] == []
        with part("it is saved, looked at and played"):
            await page.click(SAVE)
            await desk.until_says("shown is saved")
            await page.click(".made button:text('Preview')")
            await desk.until("document.querySelector('.player.preview .name')?.innerText === 'shown'")
            await page.click(".player.preview button:text('Close')")
            await page.click(".made button:text('Play')")
            await desk.until_says("shown: SUCCESSFUL")


def place_of(posture: dict[str, float]) -> NDArray[np.float64]:
    """Return where the last link of the arm is: (3,), in m."""
    poses = MODEL.forward_kinematics([posture.get(name, 0.0) for name in JOINTS])
    place: NDArray[np.float64] = poses[MODEL.links[-1].name][:3, 3]
    return place


def is_at(posture: dict[str, float]) -> str:
    """Return what tells whether the way that is drawn ends where the last link is."""
    place = place_of(posture).tolist()
    return f"{TAUGHT}.way.at(-1)?.every((value, axis) => Math.abs(value - {place}[axis]) < 1e-3)"


async def test_the_way_of_the_last_link_and_each_kept_pose_are_drawn_while_it_is_moved(rig: TeachRig) -> None:
    async with running(rig), on_the_page(rig, "#/arm/teach", in_3d=True) as desk:
        await begin(desk.page)
        await desk.until_state("teaching")
        with part("the way leads from where the link was to where it is, over what lies between"):
            await desk.until(is_at({}))
            for posture in ({"shoulder": 0.1, "elbow": 0.4}, {"shoulder": 0.2, "elbow": 0.1}):
                await rig.moved(**posture)
                await desk.until(is_at(posture))
            way = np.array(await desk.page.evaluate(f"{TAUGHT}.way"))
            assert way[0] == pytest.approx(place_of({}), abs=1e-3)
            assert np.linalg.norm(way - place_of({"shoulder": 0.1, "elbow": 0.4}), axis=1).min() < 1e-3
        await desk.page.click(".teach button:text('Keep pose')")
        await desk.until(f"{TAUGHT}.stills.length === 2")
        with part("it is gone where nobody teaches"):
            await desk.page.click(END)
            await desk.until_state("idle")
            await desk.until(f"{TAUGHT}.way.length >= {len(way)}")
            await desk.page.click(".views a:text('Joints')")
            await desk.until(f"{TAUGHT}.way.length + {TAUGHT}.stills.length === 0")


async def test_poses_become_a_motion(rig: TeachRig) -> None:
    async with running(rig), on_the_page(rig, "#/arm/teach", device="Pixel 7") as phone:
        page = phone.page
        await begin(page)
        await phone.until_state("teaching")
        for elbow in (0.4, 0.0):
            await rig.moved(elbow=elbow)
            await page.click(".teach button:text('Keep pose')")
        await phone.until_says("2 poses")
        await page.click(".bottom button:text('End, and hold')")
        await phone.until_state("idle")
        await page.check("label:has-text('Poses') input")
        await page.fill("[aria-label='Name of the motion']", "steps")
        await page.click(SAVE)
        await phone.until_says("steps is saved")
        for width in (412, 320):
            await phone.resize(width, 800)
            for view in (BEYOND, CUT_OFF, COVERED, SMALL):
                assert await page.evaluate(view) == []
            table = "document.querySelector('.made .scroll-x')"
            assert await page.evaluate(f"{table}.scrollWidth <= {table}.clientWidth")
        await page.click(".made button:text('Play')")
        await phone.page.click(".views a:text('Health')")
        await phone.until(
            "document.querySelector('.results .line')?.innerText.endsWith('steps\\nSUCCESSFUL')"
        )


async def test_what_ends_it_is_told(rig: TeachRig) -> None:
    async with running(rig), on_the_page(rig, "#/arm/teach") as desk:
        with part("a joint that is moved too fast"):
            await begin(desk.page)
            await desk.until_state("teaching")
            await rig.hand(for_s=0.2, elbow=2.5)
            await desk.until_state("idle")
            await desk.until(f"{HELD}?.includes(\"Joint 'elbow' \")")
            await desk.until("document.querySelector('.notice.grave')?.innerText.includes('elbow')")
        with part("a stop"):
            await begin(desk.page)
            await desk.until_state("teaching")
            await desk.page.keyboard.press("Escape")
            await desk.until_state("idle")
            await desk.until(f"{HELD} === 'Stopped on request; the robot holds.'")
        with part("a number that is none changes nothing"):
            bound = desk.page.locator("[aria-label='Smoothed within, of joints that turn']")
            for typed, taken in (("", "0.005"), ("-1", "0.000001"), ("", "0.000001"), ("0.004", "0.004")):
                await bound.fill(typed)
                await bound.press("Tab")
                assert await bound.input_value() == taken
        with part("what is refused stands until the next answer"):
            for name, refusal in (("../a", "is no name for a motion"), ("a", "nothing was moved")):
                await desk.page.fill("[aria-label='Name of the motion']", name)
                await desk.page.click(".save button:text('Check')")
                await desk.until_says(refusal)
            assert "is no name for a motion" not in await desk.page.inner_text(".notices")


async def test_who_holds_an_arm_of_which_nothing_is_known_is_told_to_go_on(rig: TeachRig) -> None:
    async with running(rig) as daemon, browsing_once_it_listens(rig, "#/arm/teach") as desk:
        await begin(desk.page)
        await desk.until_state("teaching")
        assert "go on holding it" not in await desk.page.inner_text("body")
        await daemon.kill()
        await desk.until_says("Nothing is known of the arm: go on holding it.")
        async with running(rig):
            await desk.until_says(
                "arm: teaching was cut off, as the daemon has been restarted; go on holding it"
            )
            await desk.until("!document.body.innerText.includes('Nothing is known of the arm')")
            await desk.until("document.querySelector('.teach')?.innerText.includes('Teach by hand')")


async def test_where_nothing_can_be_saved_that_is_said_before_it_is_moved(rig: TeachRig) -> None:
    async with running(rig), on_the_page(rig, "#/bare/teach") as desk:
        await desk.until_says("No folder takes motions of clients, so nothing can be saved")
        await desk.page.evaluate("location.hash = '#/arm/teach'")
        await desk.until("!document.querySelector('.teach').innerText.includes('No folder')")


async def test_actuators_carry_the_arm_where_that_is_asked_for(rig: TeachRig) -> None:
    async with running(rig), on_the_page(rig, "#/arm/teach") as desk:
        await desk.page.check("label:has-text('Gravity') input")
        await begin(desk.page)
        await desk.until_state("teaching")
        assert await desk.page.inner_text(".teach .tag") == "gravity"
        assert (await rig.see("state"))["torque"]
        await desk.page.click(END)
        await desk.until_state("idle")


async def test_one_person_teaches_and_another_who_takes_control_ends_it(rig: TeachRig) -> None:
    async with running(rig):
        await rig.until_listening()
        view = f"{rig.url}#/leased/teach"
        async with browsing(view) as one, browsing(view) as other:
            await one.until_state("idle")
            await begin(one.page)
            await one.until_state("teaching")
            await one.until_says("You are in control")
            await other.until_state("teaching")
            await other.until_says("is in control")
            await other.page.wait_for_selector(".teach button.end:disabled")
            assert await other.page.is_enabled("button.stop")
            await other.page.click("button:text('Take control')")
            for page in (one, other):
                await page.until_state("idle")
                await page.until(f"{HELD}?.includes(' took control from ')")
            assert [*one.errors, *other.errors] == []
