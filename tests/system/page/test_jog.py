"""Jogging on the page: the robot moves while something is held, and rests whatever becomes of the browser."""

from __future__ import annotations

import asyncio
import json
import struct
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import pytest
import pytest_asyncio

from tests import ports
from tests.system.page.browser import (
    JOINTS,
    MODEL,
    ArmRig,
    browsing,
    daemon_of,
    on_the_page,
    part,
)
from tests.system.page.test_page import BEYOND, COVERED, CUT_OFF, SMALL, SPACED, axe_finds_nothing_serious
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from numpy.typing import NDArray
    from playwright.async_api import Page

    from tests.system.page.browser import Browsed

pytestmark = pytest.mark.asyncio(loop_scope="session")

ON, BACK = (
    "button[aria-label='elbow on, while it is held']",
    "button[aria-label='elbow back, while it is held']",
)
SWITCH = ".jog .panel-head input"
LEVER = ".pads li:has-text('elbow') .lever"
SAID = "document.querySelector('.jog [role=status]')?.innerText"
PLAYER = "document.querySelector('.player').innerText"
TOOL = "tool/end_effector"
ELBOW = JOINTS.index("elbow")
FASTEST = 2.0
SPEED = 0.2
"""What the page begins with, of that."""
WITHIN_S = 0.5
BEGINS_WITHIN_S = 10.0
ATTEMPTS = 5
"""A machine that is busy elsewhere may be late; by chance it is never early."""
PADS = """
window.pads = [];
navigator.getGamepads = () => window.pads;
window.setPad = (axes, ...held) => {
    const button = pressed => ({pressed, value: +pressed});
    const buttons = Array.from({length: 17}, (_, number) => button(held.includes(number)));
    window.pads = axes && [{id: "Pad of a test", connected: true, axes, buttons}] || [];
};
"""
PATIENT = """() => {
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) {
        send.call(this, typeof data === "string" ? data.replace('"timeout_s":0.2', '"timeout_s":10') : data);
    };
}"""
"""Lets the robot wait for targets of a page that a busy machine holds up; what stops it is the page, then."""
A_WHILE = "new Promise(done => setTimeout(done, 500))"
LISTENS = "new Promise(done => setTimeout(done, 200))"
"""What is shown listens to keys within a tenth of a second, by a timer of the same page."""
HIDE = """() => {
    Object.defineProperty(document, "hidden", {configurable: true, get: () => true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


class JogRig(ArmRig):
    """Arms that are jogged; `leased` by who is in control."""

    def __init__(self, folder: Any) -> None:
        super().__init__(folder)
        self.http["telemetry_hz"] = 50.0
        limits = {"lower": -3.0, "upper": 3.0, "velocity": FASTEST, "acceleration": 20.0}
        self.robot["joints"] = {name: {"limits": limits} for name in JOINTS}
        self.robot |= {"idle_rate_hz": 100.0, "poses": {"lean": {"elbow": 0.4}}}
        del self.robot["driver"]["trace"], self.robot["driver"]["plant"]
        table = {"name": "table", "plane": [0, 0, 1], "position": [0, 0, -0.2]}
        self.others = {
            "leased": self.robot | {"lease": {"required": True, "ttl_s": 120.0}},
            "over_a_table": self.robot | {"collision": {"workspace": [table]}},
        }

    async def to_zero(self) -> None:
        """Let the arm rest where there is way in both directions."""
        await self.rest(elbow=0.0)

    async def last_result(self, robot: str = "arm") -> dict[str, Any]:
        result: dict[str, Any] = (await self.ask("history", robot, limit=1))["data"]["results"][0]
        return result


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[JogRig]:
    rig = JogRig(tmp_path_factory.mktemp("jogged"))
    with daemon_of(rig):
        await rig.until_listening()
        await rig.until_sees("state", lambda seen: seen.get("state") == "idle")
        yield rig


class Watched:
    """The setpoints of the elbow, as telemetry reports them: times by the machine's clock, and velocities."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.velocities: list[float] = []
        self.posture: NDArray[np.float64] = np.zeros(len(JOINTS))
        self._came = asyncio.Event()

    async def watch(self, rig: JogRig) -> None:
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{rig.url}api/ws") as socket:
            async for message in socket:
                if message.type is aiohttp.WSMsgType.BINARY:
                    self._take(message.data)

    def _take(self, data: bytes) -> None:
        robot, joints, stamp_s = struct.unpack_from("<HH2xd", data, 2)
        if robot == 0:
            quantities = np.frombuffer(data, dtype="<f4", offset=24).reshape(6, joints)
            self.times.append(stamp_s)
            self.velocities.append(float(quantities[1, ELBOW]))
            self.posture = quantities[0].astype(np.float64)
            self._came.set()

    async def until(self, holds: Callable[[float], bool], since: int | None = None) -> float:
        """Wait for a sample whose velocity holds, among those to come or after so many; give its time."""
        seen = len(self.times) if since is None else since
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for place in range(seen, len(self.times)):
                    if holds(self.velocities[place]):
                        return self.times[place]
                seen = len(self.times)
                self._came.clear()
                await self._came.wait()

    def tool(self) -> NDArray[np.float64]:
        """Return where the tool is to be: (4, 4)."""
        return MODEL.forward_kinematics(self.posture)[TOOL]

    async def until_moves(self, velocity: float = SPEED * FASTEST) -> None:
        await self.until(lambda now: abs(now - velocity) < 0.02 * FASTEST)

    async def rested_at(self, rig: JogRig) -> float:
        """Wait until what moves is idle, and give when its setpoints moved last."""
        await self.until(lambda now: now == 0.0)
        await rig.until_sees("state", lambda seen: seen["state"] == "idle")
        return self.times[max(place for place, now in enumerate(self.velocities) if now != 0.0)]


@asynccontextmanager
async def watching(rig: JogRig) -> AsyncIterator[Watched]:
    watched = Watched()
    task = asyncio.create_task(watched.watch(rig))
    try:
        yield watched
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def switch_on(page: Page) -> None:
    await page.evaluate(PATIENT)
    await show_pads(page)


async def show_pads(page: Page) -> None:
    """Switch jogging on, and wait for all that it shows: what comes later moves the pads."""
    await page.check(SWITCH)
    await page.wait_for_selector(".way")
    await page.evaluate(LISTENS)


async def rests_well(rig: JogRig, watched: Watched) -> None:
    """Wait until the robot rests as it does where the page has stopped it, not for want of targets."""
    await watched.rested_at(rig)
    result = await rig.last_result()
    assert (result["motion"], result["code"]) == ("follow", "SUCCESSFUL")


async def hold(page: Page, where: str = ON) -> None:
    """Press the mouse on something, once the page knows that the robot rests, and hold it."""
    await page.wait_for_selector(".state.idle")
    await page.hover(where)
    await page.mouse.down()


async def test_a_joint_moves_while_it_is_held_and_rests_once_it_is_released(rig: JogRig) -> None:
    await rig.to_zero()
    async with on_the_page(rig, "#/arm/jog") as desk, watching(rig) as watched:
        page = desk.page
        with part("nothing is there to be pressed before jogging is switched on"):
            assert await page.locator(".pads, .poses").count() == 0
            await page.keyboard.press("ArrowRight")
            await switch_on(page)
        with part("a pad moves its joint at the speed that is set"):
            await hold(page)
            await watched.until_moves()
            await desk.until_state("following")
            await desk.until(f"/Jogged from this page\\s+Latency .* m?s, 99 % within/.test({PLAYER})")
            await page.mouse.up()
            await rests_well(rig, watched)
        with part("the speed is a share of the velocity limit, and changes on the way"):
            await hold(page, BACK)
            await watched.until_moves(-SPEED * FASTEST)
            await page.eval_on_selector(
                ".pace input",
                "one => { one.value = 40; one.dispatchEvent(new Event('input', {bubbles: true})); }",
            )
            await watched.until_moves(-0.4 * FASTEST)
            await page.mouse.up()
            await rests_well(rig, watched)
        with part("a pointer that leaves the pad lets go of it"):
            await hold(page)
            await watched.until_moves(0.4 * FASTEST)
            await page.mouse.move(5, 5)
            await rests_well(rig, watched)
            await page.mouse.up()
        with part("the lever moves it as fast as it is pulled"):
            await hold(page, LEVER)
            box = await page.locator(LEVER).bounding_box()
            assert box is not None
            await page.mouse.move(box["x"] + box["width"] / 4, box["y"])
            await watched.until_moves(-0.2 * FASTEST)
            await page.mouse.move(box["x"] - 50, box["y"] - 50)
            await watched.until_moves(-0.4 * FASTEST)
            await page.mouse.up()
            await rests_well(rig, watched)


async def test_keys_move_a_joint_while_they_are_held_and_poses_are_gone_to(rig: JogRig) -> None:
    await rig.to_zero()
    async with on_the_page(rig, "#/arm/jog") as desk, watching(rig) as watched:
        page = desk.page
        await switch_on(page)
        with part("keys move the chosen joint while they are held, and a pad that has the focus"):
            await page.click(".pads .name:has-text('shoulder')")
            await page.keyboard.press("ArrowDown")
            await page.wait_for_selector(".pads li:nth-child(3).chosen")
            for key in ("ArrowRight", " ", "Enter"):
                if key != "ArrowRight":
                    await page.focus(ON)
                await page.keyboard.down(key)
                await watched.until_moves()
                await page.keyboard.up(key)
                await rests_well(rig, watched)
        with part("a pose is gone to"):
            await page.click(".poses button:text('lean')")
            await rig.until_sees("state", lambda seen: seen["state"] == "idle" and seen["motion"] is None)
            await page.click("a[href='#/arm/joints']")
            await desk.until_rests_at({"elbow": 0.4})
        with part("the switch falls back when the view is left"):
            await page.click("a[href='#/arm/jog']")
            await page.wait_for_selector(f"{SWITCH}:not(:checked)")


async def test_what_is_in_the_way_is_named_while_it_holds_the_robot(rig: JogRig) -> None:
    robot = "over_a_table"
    async with on_the_page(rig, f"#/{robot}/jog") as desk:
        page = desk.page
        await switch_on(page)
        await hold(page)
        await desk.until(rf"/^table and \S+ are 5\.\d mm apart: jog another way\.$/.test({SAID})")
        await desk.until(f"/table and \\S+ are 5\\.\\d mm apart/.test({PLAYER})")
        await page.mouse.up()
        await rig.until_sees("state", lambda seen: seen["state"] == "idle", robot)
        with part("it goes on where that leads away"):
            await hold(page, BACK)
            await desk.until(f"{SAID} === 'It moves while this is held.'")
            await page.mouse.up()
            await rig.until_sees("state", lambda seen: seen["state"] == "idle", robot)


FIELD = ".pads [aria-label^='Go to a position of elbow']"


async def test_a_number_sends_a_joint_there_while_the_robot_rests(rig: JogRig) -> None:
    await rig.to_zero()
    async with on_the_page(rig, "#/arm/jog") as desk, watching(rig) as watched:
        page = desk.page
        await switch_on(page)

        async def type_in(position: str) -> int:
            """Type a number and Enter, and give how many samples had come before."""
            await page.fill(FIELD, position)
            before = len(watched.times)
            await page.press(FIELD, "Enter")
            return before

        with part("it goes there, and the field keeps the focus meanwhile"):
            was_read_only = await desk.note(f"document.querySelector({FIELD!r})?.readOnly")
            before = await type_in("0.25")
            await watched.until(lambda now: now > 0.0, before)
            await desk.until(was_read_only)
            await page.keyboard.press("Enter")
            await watched.rested_at(rig)
            await desk.until(f"document.activeElement === document.querySelector({FIELD!r})")
            assert watched.posture[ELBOW] == pytest.approx(0.25, abs=1e-6)
            gone = await rig.last_result()
            assert (gone["motion"], gone["code"]) == ("goto", "SUCCESSFUL")
        with part("in degrees, where those are shown"):
            await desk.until(f"!document.querySelector({FIELD!r}).readOnly")
            await page.click(".jog button:text('rad')")
            before = await type_in("-9")
            await watched.until(lambda now: now < 0.0, before)
            await watched.rested_at(rig)
            assert watched.posture[ELBOW] == pytest.approx(np.deg2rad(-9), abs=1e-6)
            gone = await rig.last_result()
        with part("not beyond a limit, not without a number, and not while it moves"):
            await desk.until(f"!document.querySelector({FIELD!r}).readOnly")
            for refused in ("172", "-172", ""):
                await type_in(refused)
            await rig.ask("play", motion="long")
            await desk.until(f"document.querySelector({FIELD!r}).readOnly")
            await page.press(FIELD, "Enter")
            await page.wait_for_selector(f"{FIELD}[title='The robot moves']")
            await page.click("button.stop")
            await watched.rested_at(rig)
            stopped, before = (await rig.ask("history", limit=2))["data"]["results"]
            assert (stopped["motion"], before["goal_id"]) == ("long", gone["goal_id"])
        with part("at a limit it is there"):
            await desk.until(f"!document.querySelector({FIELD!r}).readOnly")
            before = await type_in(str(await page.get_attribute(FIELD, "max")))
            await watched.until(lambda now: now > 0.0, before)
            await watched.rested_at(rig)
            assert watched.posture[ELBOW] == pytest.approx(3.0, abs=1e-6)


async def test_a_frame_is_moved_along_an_axis_of_the_base_and_turned_about_one_of_its_own(
    rig: JogRig,
) -> None:
    await rig.rest(shoulder=0.6, elbow=1.2, wrist1=0.6, wrist2=0.4)
    async with on_the_page(rig, "#/arm/jog") as desk, watching(rig) as watched:
        page = desk.page
        await switch_on(page)
        await page.check("text=A frame")
        assert await page.input_value("[aria-label=Frame]") == TOOL
        assert "0.050 m/s, 0.20 rad/s" in await page.inner_text(".pace")
        await watched.until(lambda now: now == 0.0)
        with part("up, along the base's axis"):
            begin = watched.tool()
            await hold(page, "button[aria-label='along z on, while it is held']")
            await watched.until(lambda _: watched.tool()[2, 3] - begin[2, 3] > 0.03)
            assert (await rig.see("state"))["follow"]["frame"] == TOOL
            await page.mouse.up()
            await rests_well(rig, watched)
            moved = (watched.tool() - begin)[:3]
            assert np.abs(moved[:, 3]) == pytest.approx([0.0, 0.0, moved[2, 3]], abs=0.002)
            assert np.abs(moved[:, :3]).max() < 0.01
        with part("back, about its own axis"):
            await page.select_option("[aria-label='Along whose axes']", "tool")
            begin = watched.tool()
            await hold(page, "button[aria-label='turn about z back, while it is held']")
            await watched.until(lambda _: turned(begin, watched.tool())[2] < -0.1)
            await page.mouse.up()
            await rests_well(rig, watched)
            assert turned(begin, watched.tool())[:2] == pytest.approx([0.0, 0.0], abs=0.01)
            assert watched.tool()[:3, 3] == pytest.approx(begin[:3, 3], abs=0.002)
        with part("where it may turn as it goes, there is nothing to turn it by"):
            assert await page.locator(".pads li").count() == 6
            await page.check("text=it may turn as it goes")
            assert await page.locator(".pads li").count() == 3


async def test_what_holds_up_a_frame_is_said_while_its_pad_is_held(rig: JogRig) -> None:
    await rig.rest("arm", **dict.fromkeys(JOINTS, 0.0))
    async with on_the_page(rig, "#/arm/jog") as desk, watching(rig) as watched:
        page = desk.page
        await switch_on(page)
        await page.check("text=A frame")
        await watched.until(lambda now: now == 0.0)
        begin = watched.tool()
        await hold(page, "button[aria-label='along y on, while it is held']")
        singular = "It is at a singularity, where joints cannot keep up: jog another way, or move a joint."
        await page.wait_for_selector(f".jog [role=status]:text-is('{singular}')")
        assert watched.tool()[:3, 3] == pytest.approx(begin[:3, 3], abs=0.001)
        await page.mouse.up()
        await rig.until_sees("state", lambda seen: seen["state"] == "idle")


def turned(begin: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much, about each of its own axes, a frame has turned a little: (3,), in rad."""
    turn = begin[:3, :3].T @ end[:3, :3]
    return np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2.0


PRESS = "where => [...document.querySelectorAll('button')].find(one => one.title.startsWith(where)).click()"
ENDS = {
    "a stop": ("Escape", "stopped on request"),
    "a dialog": ("Keyboard", "A dialog was opened"),
    "a lock": ("Lock all controls", "The controls are locked on this device"),
}


@pytest.mark.parametrize(("how", "said"), ENDS.values(), ids=ENDS)
async def test_what_ends_jogging_is_said_and_what_is_held_moves_nothing_any_more(
    rig: JogRig, how: str, said: str
) -> None:
    await rig.to_zero()
    async with on_the_page(rig, "#/arm/jog") as desk, watching(rig) as watched:
        page = desk.page
        await switch_on(page)
        await hold(page, LEVER)  # which no focus leaves
        await page.mouse.move(1270, 400)
        await watched.until_moves()
        await (page.keyboard.press(how) if how == "Escape" else page.evaluate(PRESS, how))
        await watched.rested_at(rig)
        await desk.until(f"({SAID})?.startsWith({said!r})")
        goal = (await rig.last_result())["goal_id"]
        await page.evaluate(A_WHILE)  # it is held on
        assert (await rig.see("state"))["state"] == "idle"
        await page.mouse.up()
        assert (await rig.last_result())["goal_id"] == goal


async def test_somebody_else_in_control_is_why_a_robot_cannot_be_jogged(rig: JogRig) -> None:
    lease = (await rig.ask("lease/take", "leased", holder="ana"))["data"]["lease"]
    async with on_the_page(rig, "#/leased/jog") as desk:
        page = desk.page
        await desk.until("document.querySelector('.jog .empty')?.innerText === 'ana is in control'")
        await page.wait_for_selector(f"{SWITCH}[title='ana is in control']:disabled")
        await rig.ask("lease/release", "leased", lease=lease)
        await desk.until("!document.querySelector('.jog input[type=checkbox]').disabled")
        await switch_on(page)
        await hold(page)
        await desk.until_state("following")
        await desk.until_says("You are in control")
        await rig.ask("lease/take", "leased", holder="bob")
        await desk.until_state("idle")
        await desk.until("document.querySelector('.jog [role=status]').innerText.includes('bob')")
        assert await page.is_disabled(ON)
        await page.mouse.up()
        result = await rig.last_result("leased")
        assert (result["motion"], result["code"]) == ("follow", "CANCELED")


async def test_a_finger_jogs_and_lets_go_where_it_leaves_the_pad(rig: JogRig) -> None:
    await rig.to_zero()
    async with (
        on_the_page(rig, "#/arm/jog", viewport={"width": 768, "height": 1024}, has_touch=True) as tablet,
        watching(rig) as watched,
    ):
        page = tablet.page
        await switch_on(page)
        cdp = await page.context.new_cdp_session(page)

        async def touch(kind: str, **place: float) -> None:
            points = [place] if place else []
            await cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        async def touch_pad() -> dict[str, float]:
            """Touch a pad where it is once the robot rests, and give that place when it moves."""
            await tablet.until_state("idle")
            box = await page.locator(ON).bounding_box()
            assert box is not None
            at = {"x": box["x"] + 20, "y": box["y"] + 20}
            await touch("touchStart", **at)
            await watched.until_moves()
            return at

        with part("a finger that is lifted stops it"):
            await touch_pad()
            await touch("touchEnd")
            await rests_well(rig, watched)
        with part("what comes and goes above it, which moves it away from the finger, does not stop it"):
            await touch_pad()
            await page.evaluate("document.querySelector('.pads').style.marginTop = '200px'")
            await page.evaluate(A_WHILE)
            assert (await rig.see("state"))["state"] == "following"
            await page.evaluate("document.querySelector('.pads').style.marginTop = ''")
            await touch("touchEnd")
            await rests_well(rig, watched)
        with part("a finger that slides off stops it, though it is still on the glass"):
            at = await touch_pad()
            await touch("touchMove", x=at["x"], y=at["y"] + 200)
            await rests_well(rig, watched)
            await touch("touchEnd")
        with part("a touch that the system takes away stops it"):
            await touch_pad()
            await touch("touchCancel")
            await rests_well(rig, watched)


@pytest.mark.parametrize("spacing", ["0", "0.06em"])
async def test_nothing_of_jogging_leaves_the_screen(rig: JogRig, spacing: str) -> None:
    await rig.to_zero()
    async with on_the_page(rig, "#/arm/jog", has_touch=True) as browsed:
        page = browsed.page
        await page.evaluate(SPACED, f"* {{ letter-spacing: {spacing} !important }}")
        await switch_on(page)
        await page.click("summary:has-text('What it moves')")
        for width, height in ((320, 568), (390, 844), (844, 390), (768, 1024), (1024, 768), (1440, 900)):
            with part(f"{width} x {height}"):
                await browsed.resize(width, height)
                assert await page.evaluate(BEYOND) == []
                assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                assert await page.evaluate(CUT_OFF) == []
                assert await page.evaluate(COVERED) == []
                if min(width, height) < 500:
                    assert await page.evaluate(SMALL) == []
        await axe_finds_nothing_serious(browsed, "jogging")


# -- the browser goes ---------------------------------------------------------------------------------------


class Network:
    """A way from the browser to the daemon that can be cut without either being told."""

    def __init__(self, to_port: int) -> None:
        self.port = ports.free_port()
        self._to_port = to_port
        self.whole = asyncio.Event()
        self.whole.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        try:
            yield
        finally:
            self.whole.set()
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to = await asyncio.open_connection("127.0.0.1", self._to_port)
        await asyncio.gather(self._pass_on(reader, to), self._pass_on(there, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                await self.whole.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


async def close(browsed: Browsed, _network: Network) -> None:
    await browsed.page.close()


async def leave(browsed: Browsed, _network: Network) -> None:
    await browsed.page.goto("about:blank")


async def crash(browsed: Browsed, _network: Network) -> None:
    session = await browsed.page.context.new_cdp_session(browsed.page)
    asyncio.get_running_loop().create_task(_without_answer(session.send("Page.crash")))
    await browsed.page.wait_for_event("crash")


async def _without_answer(asked: Awaitable[Any]) -> None:
    with suppress(Exception):
        await asked


async def hang(browsed: Browsed, _network: Network) -> None:
    busy = "setTimeout(() => { for (const until = Date.now() + 2000; Date.now() < until;); })"
    await browsed.page.evaluate(busy)


async def hide(browsed: Browsed, _network: Network) -> None:
    await browsed.page.evaluate(HIDE)  # a browser without windows hides none


async def put_behind(browsed: Browsed, _network: Network) -> None:
    """Put the window behind another one, as far as a browser has any that draws none."""
    page, context = browsed.page, browsed.page.context
    session = await context.new_cdp_session(page)
    await session.send("Emulation.setFocusEmulationEnabled", {"enabled": False})
    await (await context.new_page()).bring_to_front()
    window = await session.send("Browser.getWindowForTarget")
    bounds = {"windowId": window["windowId"], "bounds": {"windowState": "minimized"}}
    await session.send("Browser.setWindowBounds", bounds)
    await browsed.until("!document.hasFocus()")


async def cut(_browsed: Browsed, network: Network) -> None:
    network.whole.clear()


@pytest.mark.parametrize("go", [close, leave, crash, hang, hide, put_behind, cut])
async def test_the_robot_rests_within_half_a_second_when_the_browser_goes_while_a_pad_is_held(
    rig: JogRig, go: Callable[[Browsed, Network], Awaitable[None]]
) -> None:
    took = []
    for _ in range(ATTEMPTS):
        await rig.to_zero()
        network = Network(rig.port)
        async with (
            network.open(),
            browsing(f"http://127.0.0.1:{network.port}/#/arm/jog") as browsed,
            watching(rig) as watched,
        ):
            await browsed.until_state("idle")
            await show_pads(browsed.page)
            await hold(browsed.page)
            try:
                async with asyncio.timeout(BEGINS_WITHIN_S):
                    await watched.until_moves()
            except TimeoutError:
                continue  # a page that is held up sends its targets too late
            await go(browsed, network)
            gone_s = time.monotonic()
            took.append(await watched.rested_at(rig) - gone_s)
            result = await rig.last_result()
            assert result["motion"] == "follow"
            assert result["code"] in {"SUCCESSFUL", "CANCELED"}
            if go in {cut, hang}:
                await comes_back(rig, browsed, network, result)
        if -1.0 < took[-1] <= WITHIN_S:  # and not long before
            return
    raise AssertionError(f"in {ATTEMPTS} attempts it moved for {took} s after the browser was gone")


async def comes_back(rig: JogRig, browsed: Browsed, network: Network, result: dict[str, Any]) -> None:
    """The page is back: what was held all the time, and what was sent meanwhile, moves nothing."""
    assert result["code"] == "CANCELED"
    assert result["message"].startswith("no target came for 0.2 s")
    network.whole.set()
    await browsed.until_state("idle")
    await browsed.page.evaluate(A_WHILE)
    assert (await rig.see("state"))["state"] == "idle"
    assert (await rig.last_result())["goal_id"] == result["goal_id"]


# -- gamepads -----------------------------------------------------------------------------------------------


async def test_a_gamepad_jogs_only_while_its_dead_man_button_is_held(rig: JogRig) -> None:
    await rig.to_zero()
    async with on_the_page(rig, "") as desk, watching(rig) as watched:
        page = desk.page
        await page.add_init_script(PADS)
        await page.goto("about:blank")
        await page.goto(f"{rig.url}#/arm/jog")
        await desk.until_state("idle")
        await page.evaluate("setPad([0, 0, 0, 1], 4)")
        await switch_on(page)
        with part("a button that was held before counts only once it was released"):
            await desk.until_says("Pad of a test moves it while button 4 is held.")
            await page.evaluate(A_WHILE)
            assert (await rig.see("state"))["state"] == "idle"
        with part("it moves the joint of its axis while the button is held"):
            await page.evaluate("setPad([0, 0, 0, -1])")
            await page.evaluate(A_WHILE)
            await page.evaluate("setPad([0, 0, 0, -1], 4)")
            await watched.until_moves()
            await page.evaluate("setPad([0, 0, 0, -1])")
            await rests_well(rig, watched)
        with part("a gamepad that goes away stops it, and one that comes back held moves nothing"):
            await page.evaluate("setPad([0, 0, 0, 1], 4)")
            await watched.until_moves(-SPEED * FASTEST)
            await page.evaluate("setPad(null); dispatchEvent(new Event('gamepaddisconnected'))")
            await rests_well(rig, watched)
            await desk.until(f"({SAID}) === 'A gamepad came or went'")
            await page.evaluate("setPad([0, 0, 0, 1], 4); dispatchEvent(new Event('gamepadconnected'))")
            await page.evaluate(A_WHILE)
            assert (await rig.see("state"))["state"] == "idle"


async def test_what_a_gamepad_moves_is_edited_on_the_page_and_kept_for_every_page(rig: JogRig) -> None:
    await rig.to_zero()
    file = rig.folder / "gamepads" / "arm.json"
    async with on_the_page(rig, "#/arm/jog") as desk:
        page = desk.page
        await switch_on(page)
        await page.click("summary:has-text('What it moves')")
        await page.fill("label:has-text('Dead-man button') input", "5")
        await page.fill("label:has-text('Dead zone') input", "20")
        await page.select_option("[aria-label='What moves elbow']", "buttons 6 and 7")
        await page.fill(".inputs li:has-text('elbow') input", "-50")
        for joint in set(JOINTS) - {"elbow"}:
            await page.select_option(f"[aria-label='What moves {joint}']", "")
        await page.check("text=A frame")
        for direction in ("x", "y", "rx", "ry", "rz"):
            await page.select_option(f"[aria-label='What moves {direction}']", "")
        await page.select_option("[aria-label='What moves z']", "axis 1")
        await page.click(".gamepad button:text('Keep')")
        await desk.until_says("None is seen.")
        wanted = {
            "dead_man": 5,
            "dead_zone": 0.2,
            "curve": 2.0,
            "joints": {"elbow": {"minus": 6, "plus": 7, "scale": -0.5}},
            "directions": {"z": {"axis": 1, "scale": 1.0}},
        }
        async with asyncio.timeout(PATIENCE_S):
            while not file.exists():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)
        assert json.loads(file.read_text()) == wanted
    async with browsing("about:blank") as other, watching(rig) as watched:
        await other.page.add_init_script(PADS)
        await other.page.goto(f"{rig.url}#/arm/jog")
        await other.until_state("idle")
        await switch_on(other.page)
        await other.page.evaluate("setPad([0, 0, 0, 1])")
        await other.until_says("Pad of a test moves it while button 5 is held.")
        await other.page.evaluate("setPad([0, 0, 0, 1], 5, 7)")
        await watched.until_moves(-0.5 * SPEED * FASTEST)
        await other.page.evaluate("setPad([0, 0, 0, 1], 7)")
        await rests_well(rig, watched)
    file.write_text("{")
    async with on_the_page(rig, "#/arm/jog") as desk:
        await desk.page.check(SWITCH)
        await desk.until_says(f"{file}: Invalid JSON: EOF while parsing an object at line 1 column 1")
    file.unlink()
