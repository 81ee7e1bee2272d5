"""What somebody sees and does on the page of a daemon; each visit looks at several things."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from motiond.daemon.planning.library.reader import MOST_FILES
from motiond.formats.registry import MOTIONS
from tests.daemon.rig import sweep, write_seq
from tests.system.page.browser import JOINTS, browsing, on_the_page, part

if TYPE_CHECKING:
    from tests.system.page.browser import Browsed, ManyRobots

pytestmark = pytest.mark.asyncio(loop_scope="session")
AXE = Path(__file__).parents[3] / "page/node_modules/axe-core/axe.min.js"
QUEUED = "[...document.querySelectorAll('.queue li .name')].map(one => one.innerText).join()"
TIME_OF_MOTION = "parseFloat(document.querySelector('.player .time')?.innerText.split(':')[1])"
PLAY = "button[aria-label='Play long']"
STATES = "[...document.querySelectorAll('.goals li .tag:first-of-type')].map(one => one.innerText).join()"
CONTROL = "document.querySelector('.control')?.innerText"
DROP = """where => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["nothing"], "dropped.seq"));
    const drop = new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer});
    return document.querySelector(where).dispatchEvent(drop);
}"""


async def test_a_motion_is_played_watched_and_stopped(rig: ManyRobots, desk: Browsed) -> None:
    page = desk.page
    await rig.rest()
    await desk.visit(rig, "#/arm/health")
    with part("playing a motion and stopping it"):
        await page.click(PLAY)
        await desk.until_state("playing")
        await desk.until(f"{TIME_OF_MOTION} > 1")
        await page.click("button[aria-label='Preview wave']")
        await desk.until_says("a preview; the robot moves on")
        await page.wait_for_selector("button:text-is('Pause'):enabled")
        await page.click(".player button:text('Close')")
        await page.click("button.stop")
        await desk.until_state("idle")
        result = "long: CANCELED: stopped on request, softly, on the path"
        await desk.until(f"document.querySelector('.log').innerText.includes('{result}')")
        assert await page.inner_text(".player") == f"No motion plays\n\n{result}"
    with part("a lock takes all controls but the stops"):
        await page.click("button:text('Lock')")
        for control in (PLAY, ".connection .torque", "button:text('Reload')"):
            assert await page.is_disabled(control), control
        assert await page.is_enabled("button.stop")
        assert await page.is_enabled("button.estop")
        await page.click("button:text('Locked')")
    with part("an emergency stop holds the robot until it is reset"):
        await page.click(PLAY)
        await desk.until_state("playing")
        assert await page.locator("button.reset").count() == 0
        await page.click("button.estop")
        await desk.until_state("estopped")
        why = "An emergency stop holds the robot; reset it first"
        await page.wait_for_selector(f"{PLAY}[title='{why}']:disabled")
        await page.click("a.back")
        await page.click("button:text('Reset all')")
        await page.click(".tile a:text-is('arm')")
        await desk.until_state("idle")
        await page.wait_for_selector(f"{PLAY}:enabled")
    assert desk.errors == []


async def test_a_motion_is_commanded_by_keyboard_and_pointer(rig: ManyRobots, desk: Browsed) -> None:
    page = desk.page
    await rig.rest()
    await desk.visit(rig, "#/arm/motions")
    with part("who uses the keyboard keeps the place after a command"):
        await page.focus(PLAY)
        await page.keyboard.press("Enter")
        await desk.until_state("playing")
        assert await page.evaluate("document.activeElement.ariaLabel") == "Queue long"
    with part("Escape stops wherever the focus is"):
        await page.keyboard.press("/")
        assert await page.evaluate("document.activeElement.id") == "search"
        await page.keyboard.press("Escape")
        await desk.until_state("idle")
    with part("a motion is paused, sought in and resumed"):
        await page.click(PLAY)
        await desk.until_state("playing")
        await page.click(".player button:text('Pause')")
        await desk.until_state("paused")
        width = await page.evaluate("document.querySelector('.track').clientWidth")
        await page.click(".track", position={"x": 0.2 * width, "y": 8})
        # Both at once: the state and the time are told apart, and either may be the one before.
        is_paused = "document.querySelector('.state').dataset.state === 'paused'"
        await desk.until(f"{is_paused} && Math.abs({TIME_OF_MOTION} - 10) < 0.2")
        await page.click(".player button:text('Resume')")
        await desk.until(f"{TIME_OF_MOTION} > 10.5")
        await page.select_option(".speed select", "0.5")
        await desk.until("document.querySelector('.speed select').value === '0.5'")
    with part("the list of keys leaves the stop to who has no keyboard"):
        await page.click("button[aria-label='Keyboard']")
        await page.wait_for_selector("dialog")
        await page.click("button.stop")
        await desk.until_state("idle")
        await page.keyboard.press("Escape")
        await page.wait_for_selector("dialog", state="hidden")
    with part("a file that is dropped where no robot takes it leaves the page and its stops"):
        await page.evaluate("location.hash = '#/strict/motions'")
        await desk.until("document.querySelector('h1').innerText === 'strict'")
        assert not await page.evaluate(DROP, "header")
        await desk.until_says("No robot here takes files; nothing was sent.")
    assert desk.errors == []


async def test_a_page_that_is_opened_afterwards_shows_how_the_last_motion_ended(
    rig: ManyRobots, desk: Browsed
) -> None:
    await rig.rest()
    await rig.ask("play", motion="long")
    await rig.until_sees("state", lambda seen: seen["state"] == "playing")
    await rig.rest()
    await desk.visit(rig, "#/arm/health")
    ended = "long: CANCELED: stopped on request, softly, on the path"
    await desk.until(f"document.querySelector('.player').innerText === 'No motion plays\\n\\n{ended}'")


async def test_what_waits_and_when_it_starts_is_seen_by_every_page(rig: ManyRobots, desk: Browsed) -> None:
    page = desk.page
    await rig.rest()
    await desk.visit(rig, "#/arm/motions")
    async with browsing(f"{rig.url}#/arm/motions") as other:
        await page.click("text=How to play")
        with part("a start that is past today is told to be tomorrow"):
            await page.fill(".options input[type=time]", "23:59:59")
            assert await page.inner_text(".options .tag") == "changed"
            await page.fill(".options input[type=time]", "00:00:00")
            assert await page.inner_text(".options .tag") == "starts tomorrow"
            said = "document.body.innerText.includes('nod starts at 00:00:00 tomorrow.')"
            was_said = await desk.note(said)  # for 4 s
            await page.click("button[aria-label='Play nod']")
            await desk.until(was_said)
            for one in (desk, other):
                await one.until("document.querySelector('.player .appointed')")
                assert await one.page.inner_text(".player .appointed") == "starts at 00:00:00 tomorrow"
            await page.click("button.stop")
            await desk.until_state("idle")
            await page.fill(".options input[type=time]", "")
        with part("a second motion waits instead of starting over the first"):
            await page.select_option(".options select", "100")
            await page.click(PLAY)
            await desk.until_state("playing")
            await page.click("button[aria-label='Queue nod']")
            await desk.until(f"{QUEUED} === 'nod'")
            assert await page.inner_text(".player .name") == "long"
            await page.click(".queue button:text('Clear')")
            await desk.until("!document.querySelector('.queue')")
        with part("what waits is put earlier and taken out"):
            await page.click("button[aria-label='Queue nod']")
            await page.click("button[aria-label='Queue wave']")
            for one in (desk, other):
                await one.until(f"{QUEUED} === 'nod,wave'")
            await page.click("button[aria-label='wave earlier']")
            for one in (desk, other):
                await one.until(f"{QUEUED} === 'wave,nod'")
            await page.click("button[aria-label='Take wave out of the queue']")
            await desk.until(f"{QUEUED} === 'nod'")
            await page.click("button.stop")
            await desk.until_state("idle")
        assert other.errors == []
    with part("a previewed motion is played as How to play says"):
        await desk.visit(rig, "#/arm/motions")
        await page.click("text=How to play")
        await page.fill(".options input[type=number]", "0.5")
        await page.click("button[aria-label='Preview wave']")
        await page.click("button:text('Play it now')")
        await desk.until_state("playing")
        await desk.until("document.querySelector('.player .speed select')?.value === '0.5'")
    assert desk.errors == []


async def test_a_preview_shows_what_the_motion_takes_of_actuators(rig: ManyRobots, desk: Browsed) -> None:
    page = desk.page
    await rig.rest()
    await desk.visit(rig, "#/strict/motions")
    await page.click("button[aria-label='Preview wave']")
    await page.click(".efforts summary")
    cells = await page.locator(".efforts tr:has(th:text-is('shoulder')) td").all_inner_texts()
    assert [cell.replace("\xa0", " ") for cell in cells] == ["7.08 of 44 N·m", "0:00.4", "6.09 N·m"]
    await page.click(".efforts tr:has(th:text-is('elbow')) button")
    assert float(await page.input_value("input[aria-label='Place in the preview']")) > 1.0
    await page.click(".player button:text('Close')")
    await desk.visit(rig, "#/arm/motions")
    await page.click("button[aria-label='Preview wave']")
    await desk.until("document.querySelector('.player.preview')")
    assert await page.locator(".efforts").count() == 0
    await page.click(".player button:text('Close')")
    assert desk.errors == []


async def test_joints_are_watched_and_robots_found(rig: ManyRobots, desk: Browsed) -> None:
    page = desk.page
    await rig.rest()
    await desk.visit(rig, "#/arm/joints")
    with part("an error that comes near the tolerance stays in its row"):
        await page.evaluate("location.hash = '#/strict/joints'")
        await rig.ask("play", "strict", motion="wave", loop="forever")
        position = "(cell => cell && getComputedStyle(cell).position)(document.querySelector('td.near'))"
        assert await desk.until(position) == "static"
        await rig.rest("strict")
    with part("a robot that is not there is told instead of another one"):
        await page.evaluate("location.hash = '#/nosuch/joints'")
        await desk.until_says("No robot here is called nosuch. These are:")
        assert await page.locator("button.estop").inner_text() == "Emergency stop, all"
        await page.click(".tile a:text('arm')")
        await desk.until_state("idle")
        await page.wait_for_selector(".unknown", state="detached")
    with part("an overview has a tile for each robot, and a link names robot and view"):
        await page.evaluate("location.hash = '#/stand/joints'")
        await desk.until("document.querySelector('h1').innerText === 'stand'")
        await desk.until_says("turn, the last minute")
        await page.click("a[aria-label='All robots']")
        await desk.until(f"document.querySelectorAll('.tile').length === {1 + len(rig.others)}")
        await page.click(".tile a:text('arm')")
        await desk.until("location.hash === '#/arm/motions'")
        await desk.until_says("stretch")
    assert desk.errors == []


async def test_motions_are_uploaded_checked_drawn_and_deleted(rig: ManyRobots, desk: Browsed) -> None:
    page = desk.page
    write_seq(rig.folder / "fine.seq", sweep(2.0, joints=6), JOINTS, 200)
    write_seq(rig.folder / "far.seq", 9 * sweep(0.5, joints=6), JOINTS, 200)
    await rig.rest()
    await desk.visit(rig, "#/arm/health")
    with part("every motion that can be played shows its curves"):
        drawn = "[...document.querySelectorAll('.thumbnail')].filter(one => one.naturalWidth).length"
        await desk.until(f"document.querySelector('.refused') && {drawn} > 2")
        await desk.until(f"{drawn} === document.querySelectorAll('li.motion:not(.refused)').length")
        assert await page.locator("li.refused .thumbnail").count() == 0
    with part("a motion is uploaded, checked and played"):
        accepted = await page.get_attribute(".upload input", "accept")
        assert accepted == ",".join(MOTIONS.suffixes)
        await page.set_input_files(".upload input", [rig.folder / "fine.seq", rig.folder / "far.seq"])
        await desk.until_says("fine.seq: taken")
        await desk.until_says("far.seq: refused")
        assert "far: 0:00.5, 6 joints, cannot be played" in await page.inner_text(".upload")
        assert rig.uploaded("arm") == ["fine.seq"]
        await page.set_input_files(".upload input", [rig.folder / "far.seq"])
        await desk.until("document.querySelectorAll('.report').length === 1")  # the same file again
        await page.click("button[aria-label='Play fine']")
        await desk.until_says("fine: SUCCESSFUL")
    with part("a folder that cannot be read is named, as long as it cannot"):
        many = [rig.folder / f"new of arm/{number}" for number in range(MOST_FILES)]
        for path in many:
            path.touch()
        await page.click("button:text('Reload')")
        said = "new of arm: cannot be listed; it holds more than 20,000 files; remove some"
        await desk.until_says(f"{said}; what it held before stays")
        for path in many:
            path.unlink()
        await page.click("button:text('Reload')")
        await desk.until("!document.querySelector('.unread')")
    with part("a motion is deleted"):
        await page.click("button[aria-label='Delete fine']")
        assert rig.uploaded("arm") == ["fine.seq"]
        await page.click("button:text('Delete the file')")
        names = "[...document.querySelectorAll('li.motion .name')].map(one => one.innerText)"
        await desk.until(f"!{names}.includes('fine')")
        assert rig.uploaded("arm") == []
        assert await page.evaluate("document.activeElement.id") == "motions"
    with part("a file may be dropped on all of a robot's page"):
        assert not await page.evaluate(DROP, "header")
        await desk.until_says("dropped.seq: refused")
    assert len(desk.errors) == 3  # the browser tells of every refusal
    assert all("409" in refused for refused in desk.errors)


async def test_the_first_command_takes_control_and_leaving_returns_it(rig: ManyRobots, desk: Browsed) -> None:
    page = desk.page
    with part("where everybody commands nothing is said of control"):
        await rig.rest()
        await desk.visit(rig, "#/arm/motions")
        await page.click(PLAY)
        await desk.until_state("playing")
        assert await page.locator(".control").count() == 0
        assert (await rig.see("lease"))["holder"] is None
        await page.click("button.stop")
    await desk.visit(rig, "#/leased/motions")
    with part("the first command takes control if nobody has it, and leaving returns it"):
        await desk.until(f"{CONTROL} === 'No one is in control'")
        await page.click(PLAY)
        await desk.until_state("playing")
        await desk.until_says("You are in control")
        assert (await rig.see("lease", "leased"))["holder"].startswith("Page in Chrome on Linux, ")
        await page.click("button.stop")
        await desk.until_state("idle")
        await page.goto("about:blank")
        await rig.until_sees("lease", lambda seen: seen["holder"] is None, "leased")
    await desk.visit(rig, "#/leased/motions")
    with part("a motion is uploaded and deleted in control"):
        file = rig.folder / "added.seq"
        file.write_bytes((rig.folder / "motions/long.seq").read_bytes())
        await page.set_input_files(".upload input[type=file]", str(file))
        await desk.until_says("added.seq: taken")
        await desk.until_says("You are in control")
        await page.click("button[aria-label='Delete added']")
        await page.click("button:text('Delete the file')")
        await desk.until("!document.querySelector(\"button[aria-label='Play added']\")")
    with part("control is renewed while the page is open, and released while the robot plays"):
        await page.click("text=How to play")
        await page.select_option(".options select", "forever")
        await page.click(PLAY)
        await desk.until_state("playing")
        first = await rig.see("lease", "leased")
        assert first["holder"].startswith("Page")
        later = lambda seen: seen["expires_at"] >= first["expires_at"] + 5.0  # noqa: E731 - of here
        assert (await rig.until_sees("lease", later, "leased"))["epoch"] == first["epoch"]
        await page.click(".control button:text('Release')")
        await rig.until_sees("lease", lambda seen: seen["holder"] is None, "leased")
        await desk.until_says("No one is in control")
        assert (await rig.see("state", "leased"))["state"] == "playing"
        await page.click("button.stop")
        await desk.until_state("idle")
    assert desk.errors == []


async def test_control_is_taken_from_others_and_by_them(rig: ManyRobots, desk: Browsed) -> None:
    page = desk.page
    await rig.rest("leased")
    await desk.visit(rig, "#/leased/health")
    with part("who else is in control is named"):
        lease = (await rig.ask("lease/take", "leased", holder="ana"))["data"]["lease"]
        await desk.until_says("ana is in control")
        await rig.ask("play", "leased", motion="long", lease=lease)
        await desk.until_state("playing")
        assert await page.is_disabled("button[aria-label='Queue nod']")
        assert await page.is_disabled(".player button:text('Pause')")
        assert await page.is_enabled("button.stop")
        assert await page.is_enabled("button.estop")
    with part("anybody stops from the page"):
        await page.keyboard.press("Escape")
        await desk.until_state("idle")
        await desk.until_says("ana is in control")
    with part("control is taken from them"):
        await rig.ask("play", "leased", motion="long", lease=lease)
        await desk.until_state("playing")
        await page.click(".control button:text('Take control')")
        await desk.until_says("You are in control")
        await desk.until_state("idle")
        await page.click(PLAY)
        await desk.until_state("playing")
    with part("who takes control from the page is told, and the robot stops"):
        lease = (await rig.ask("lease/take", "leased", holder="ana"))["data"]["lease"]
        await desk.until_says("leased: ana took control.")
        await desk.until_says("ana is in control")
        await desk.until_state("idle")
        await desk.until_says("long: CANCELED: ana took control from Page in Chrome on Linux, ")
        assert await page.is_disabled(PLAY)
        await rig.ask("lease/release", "leased", lease=lease)
    with part("a page that is left while the robot moves keeps its lease"):
        await page.click(PLAY)
        await desk.until_state("playing")
        await page.goto("about:blank")
        await page.goto(f"{rig.url}#/leased/motions")
        # What the page before would have sent has come by then.
        await desk.until(f"/^Page in .* is in control/.test({CONTROL})")
        assert (await rig.see("lease", "leased"))["holder"].startswith("Page in ")
        assert (await rig.see("state", "leased"))["state"] == "playing"
    with part("control that may not be taken has no button"):
        lease = (await rig.ask("lease/acquire", "kept", holder="ana"))["data"]["lease"]
        await desk.visit(rig, "#/kept/motions")
        await desk.until(f"{CONTROL} === 'ana is in control'")
        await rig.ask("lease/release", "kept", lease=lease)
        await desk.until(f"{CONTROL} === 'No one is in control'")
        await page.wait_for_selector(f"{PLAY}:enabled")
    assert desk.errors == []


async def test_why_nothing_is_drawn_in_3d_is_said(rig: ManyRobots) -> None:
    said = "document.querySelector('.scene .words')?.innerText === '{} Everything else works.'"
    async with browsing(f"{rig.url}#/arm/motions") as browsed:
        await browsed.until(said.format("This browser draws no 3D (WebGL is missing)."))
        await browsed.page.unroute_all()
        await browsed.page.route("**/view3d-*.js", lambda route: route.abort())
        await browsed.page.reload()
        await browsed.until(said.format("What draws in 3D did not arrive; load the page again."))


async def test_a_phone_has_all_within_reach(rig: ManyRobots) -> None:
    await rig.rest()
    async with on_the_page(rig, "#/arm/motions", device="Pixel 7") as browsed:
        page = browsed.page
        with part("Stop is within reach of the thumb, and the emergency stop far from it"):
            stop = await page.locator("button.stop").bounding_box()
            estop = await page.locator("button.estop").bounding_box()
            size = page.viewport_size
            assert stop is not None
            assert estop is not None
            assert size is not None
            assert stop["height"] >= 48
            assert stop["width"] > 0.9 * size["width"]
            assert stop["y"] > size["height"] - 100
            assert estop["y"] + estop["height"] < 100
        for view in ("motions", "joints", "health", "teach", "jog"):
            await page.click(f".views a[href='#/arm/{view}']")
            await browsed.until(f"document.querySelector('.panel.{view}')")
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        with part("playing and stopping by the thumb"):
            await page.click(".views a[href='#/arm/motions']")
            await page.tap(PLAY)
            await browsed.until_state("playing")
            await page.tap("button.stop")
            await browsed.until_state("idle")
        with part("who is in control is seen"):
            holder = "a long name of somebody who is in control of this arm"
            await rig.ask("lease/take", "leased", holder=holder)
            await page.evaluate("location.hash = '#/leased/motions'")
            await browsed.until_says("is in control")
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            estop = await page.locator("button.estop").bounding_box()
            assert estop is not None
            assert estop["y"] + estop["height"] < 100
            await axe_finds_nothing_serious(browsed, "somebody is in control, on a phone")
            await page.tap(".control button:text('Take control')")
            await browsed.until_says("You are in control")
            await axe_finds_nothing_serious(browsed, "the page is in control, on a phone")
            await page.tap("button.stop")


BEYOND = """() => [...document.querySelectorAll("button, select, input, a, summary")].filter(one => {
    if (one.closest(".scroll-x") || !one.checkVisibility()) return false;
    const {left, right, width} = one.getBoundingClientRect();
    return width && (left < -0.5 || right > innerWidth + 0.5);
}).map(one => one.outerHTML)"""
SMALL = """() => [...document.querySelectorAll("button, select, input, summary")]
    .filter(one => !one.matches(".marker, [type=checkbox], [type=radio], [type=file]"))
    .filter(one => one.checkVisibility())
    .filter(one => one.getBoundingClientRect().height < 43.5).map(one => one.outerHTML)"""
CUT_OFF = """() => [...document.querySelectorAll(".torque, .state strong, .connection.lost span, .tile h2")]
    .filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth).map(one => one.outerHTML)"""
COVERED = """() => [...document.querySelectorAll(".top :is(h1, .state strong, .torque, .control button)")]
.filter(one => {
    const {left, right, top, bottom} = one.getBoundingClientRect();
    const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return one.checkVisibility() && !one.contains(seen);
}).map(one => one.outerHTML)"""
AXE_RUN = """(async () => {
    const isStale = () => document.querySelector(".stale") !== null;
    let wasStale = isStale();
    const observer = new MutationObserver(() => { wasStale ||= isStale(); });
    observer.observe(document.body, {subtree: true, childList: true, attributeFilter: ["class"]});
    const found = await axe.run();
    observer.disconnect();
    return wasStale ? null : found;
})()"""
"""While axe-core keeps the page busy, no message comes; what is stale for want of them is pale."""
SPACED = """rule => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rule);
    document.adoptedStyleSheets = [sheet];
}"""
PHONES = ((320, 568), (390, 844), (844, 390))


@pytest.mark.parametrize(("theme", "spacing"), [("light", "0"), ("dark", "0.06em")])
async def test_nothing_leaves_the_screen_and_thumbs_hit_what_they_want(
    rig: ManyRobots, theme: Literal["light", "dark"], spacing: str
) -> None:
    await rig.rest()
    holder = "a long name of somebody who is in control of this arm"
    await rig.ask("lease/take", "leased", holder=holder)
    async with on_the_page(rig, "#/arm/motions", color_scheme=theme) as browsed:
        # Each device has letters of its own; spaced ones stand for a wider font.
        await browsed.page.evaluate(SPACED, f"* {{ letter-spacing: {spacing} !important }}")
        await browsed.page.click("button[aria-label='Preview wave']")
        await browsed.until("document.querySelector('.scrub')")
        await rig.ask("play", motion="long", loop="forever")
        for view in ("arm/motions", "arm/joints", "arm/health", "arm/teach", "arm/jog", "leased/motions", ""):
            await browsed.page.evaluate(f"location.hash = '#/{view}'")
            await browsed.until(f"document.querySelector('.panel.{view.partition('/')[2] or 'none'}, .tile')")
            for width, height in (*PHONES, (768, 1024), (1024, 768), (1440, 900)):
                with part(f"#/{view} at {width} x {height}"):
                    await browsed.resize(width, height)
                    assert await browsed.page.evaluate(BEYOND) == []
                    assert (
                        await browsed.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                    )
                    assert await browsed.page.evaluate(CUT_OFF) == []
                    assert await browsed.page.evaluate(COVERED) == []
                    if (width, height) in PHONES:
                        assert await browsed.page.evaluate(SMALL) == []
    await rig.rest()


@pytest.mark.parametrize("spacing", ["0", "0.06em"])
async def test_what_plays_at_once_is_listed_and_each_is_stopped(rig: ManyRobots, spacing: str) -> None:
    await rig.rest(
        "arm", **dict.fromkeys(JOINTS, 0.1)
    )  # where it begins: an approach leaves little to be added
    async with on_the_page(rig, "#/arm/motions") as browsed:
        page = browsed.page
        await page.evaluate(SPACED, f"* {{ letter-spacing: {spacing} !important }}")
        await rig.ask("play", motion="long", loop="forever")
        await browsed.until_state("playing")
        added = await rig.ask("play", motion="long", loop="forever", additive=True, weight=0.02)
        assert added["status"] == "ok", added
        await browsed.until("document.querySelectorAll('.goals li').length === 2")
        for width, height in (*PHONES, (768, 1024), (1024, 768), (1440, 900)):
            with part(f"{width} x {height}"):
                await browsed.resize(width, height)
                assert await page.evaluate(BEYOND) == []
                assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                assert await page.evaluate(COVERED) == []
                if (width, height) in PHONES:
                    assert await page.evaluate(SMALL) == []
        await browsed.until(f"{STATES} === 'playing,playing'")
        said = await page.inner_text(".goals li:last-child")
        assert re.sub(r"\s+", " ", said) == "long playing added, 2 % all joints Pause long Stop long"
        with part("each is paused and goes on alone"):
            for goal, states in (("first", "paused,playing"), ("last", "playing,paused")):
                await page.click(f".goals li:{goal}-child button:text-is('Pause long')")
                await browsed.until(f"{STATES} === '{states}'")
                await page.click(f".goals li:{goal}-child button:text-is('Resume long')")
                await browsed.until(f"{STATES} === 'playing,playing'")
        await page.click(".goals li:last-child button:text-is('Stop long')")
        await browsed.until("!document.querySelector('.goals')")
        await browsed.until_state("playing")
        (left,) = (await rig.see("state"))["goals"]
        assert not left["additive"]
    await rig.rest()


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed")
async def test_axe_finds_nothing_serious(rig: ManyRobots) -> None:
    await rig.rest()
    async with on_the_page(rig, "#/arm/motions", in_3d=True) as browsed:
        page = browsed.page
        await page.set_viewport_size({"width": 1000, "height": 800})
        for view in ("motions", "joints", "health", "teach", "jog"):
            await page.click(f".views a[href='#/arm/{view}']")
            await browsed.until(f"document.querySelector('.panel.{view}')")
            if view == "jog":
                await page.check("text=Switched on")
            await axe_finds_nothing_serious(browsed, view)
        await page.click(".views a[href='#/arm/motions']")
        await page.click("li.motion:has-text('wave') button:text('Preview')")
        await browsed.until("document.querySelector('.player.preview')")
        await axe_finds_nothing_serious(browsed, "a preview")
        await page.click(PLAY)
        await browsed.until_state("playing")
        await page.click(".player button:text('Close')")
        await axe_finds_nothing_serious(browsed, "a motion that plays")
        await page.click("button.stop")


async def axe_finds_nothing_serious(browsed: Browsed, where: str) -> None:
    """Look for what axe-core calls serious or critical, in dark colours and in light ones."""
    if not AXE.exists():
        return
    if not await browsed.page.evaluate("'axe' in window"):
        await browsed.page.evaluate(AXE.read_text())
    for colours in ("light", "dark"):
        await browsed.page.emulate_media(color_scheme=colours)
        found = await browsed.until(AXE_RUN)
        serious = [
            f"{one['id']}: {node['target']}: {node['failureSummary']}"
            for one in found["violations"]
            if one["impact"] in {"serious", "critical"}
            for node in one["nodes"]
        ]
        assert serious == [], f"{where}, {colours}"
