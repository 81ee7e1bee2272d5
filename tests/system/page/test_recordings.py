"""Recordings on the page: whether a robot is recorded, what has been, and a run beside its reference.

Their answers stand in for a daemon's where it would take long to come to them: many, failed, with gaps.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

from tests.system.page.browser import JOINTS, browsing, part
from tests.system.page.recorded import StandIn, listed, run_of
from tests.system.page.test_page import BEYOND, PHONES, SMALL, axe_finds_nothing_serious
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.system.page.browser import Browsed, ManyRobots

pytestmark = pytest.mark.asyncio(loop_scope="session")
FAILED = {"codes": ["SUCCESSFUL", "PATH_TOLERANCE_VIOLATED"], "gaps": 2, "why": "motion"}
GAP = {"time": 4.0, "until": 4.4, "ticks": 79, "reason": "the ring overflowed"}
ABRUPT = {"time": 7.9, "motion": "wave", "code": "PATH_TOLERANCE_VIOLATED", "message": "elbow is stuck"}
PLAYED = {"motion": "failed", "speed": 1, "loop": 1, "ping_pong": False}
ROWS = "[...document.querySelectorAll('.list .recording .name')].map(one => one.innerText).join()"
CLOCK = "parseFloat(document.querySelector('.replay .time')?.innerText)"
LINES = "[...document.querySelectorAll('.run-plot .at:not([hidden])')].map(one => one.innerText).join()"

ABOUT_OF = """async url => {
    const data = await (await fetch(url)).arrayBuffer();
    const length = new DataView(data).getUint32(0, true);
    return JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
}"""


def wave_and_failed() -> StandIn:
    recordings = [listed("failed", 3, **FAILED), listed("run", 2, kept=True), listed("bare", 1, motions=[])]
    failed = run_of(JOINTS, late_s=0.05, gaps=[GAP], results=[ABRUPT])
    return StandIn(recordings, {"run": run_of(JOINTS), "failed": failed})


@asynccontextmanager
async def standing_in(
    stand_in: StandIn, rig: ManyRobots, view: str = "", **options: Any
) -> AsyncIterator[Browsed]:
    """Look at the arm's recordings, as a stand-in has them."""
    await rig.rest()
    async with browsing("about:blank", **options) as browsed:
        await stand_in.stand_before(browsed.page)
        await browsed.page.goto(f"{rig.url}#/arm/recordings{view}")
        await browsed.until_state("idle")
        yield browsed


async def test_a_robot_is_recorded_by_a_button_beside_its_player(rig: ManyRobots) -> None:
    stand_in = wave_and_failed()
    async with standing_in(stand_in, rig) as browsed:
        page = browsed.page
        stand_in.report()
        await browsed.until_says("Not recording")
        with part("recording by request"):
            await page.click("button:text('Record')")
            await stand_in.until_asked(("record/start", {}))
            since = await page.evaluate("new Date(Date.now() - 90_000).toISOString()")
            writes = {"recording": True, "file": "f", "since_utc": since, "bytes": 4_200_000}
            stand_in.report(why="request", **writes)
            await browsed.until_says("Recording by request")
            said = await page.inner_text(".record")
            assert re.search(r"[1-9]\d*:\d\d\.\d", said)
            assert "4.2 MB" in said
            stand_in.report(why="motion", gaps=2, **writes)
            await browsed.until_says("Recording with a motion")
            assert "2 gaps" in await page.inner_text(".record")
            await page.click("button:text('End recording')")
            await stand_in.until_asked(("record/stop", {}))
        with part("a problem is shown, and a refusal told"):
            stand_in.report(problem="recordings: the disk is full; free some space")
            await browsed.until_says("recordings: the disk is full; free some space")
            stand_in.refusals["record/start"] = "record/start: the folder is gone; create it"
            await page.click("button:text('Record')")
            await browsed.until_says("record/start: the folder is gone; create it")
        assert browsed.errors == []


async def test_those_that_are_not_listed_are_counted_and_a_lesson_s_is_not_ended(rig: ManyRobots) -> None:
    stand_in = wave_and_failed()
    stand_in.unlisted = 100
    async with standing_in(stand_in, rig) as browsed:
        await browsed.until_says("the newest 3 of 103 files, ")
        stand_in.report(recording=True, file="l.mcap", why="teaching")
        await browsed.until_says("Recording with teaching")
        assert await browsed.page.is_disabled("button:text('End recording')")


async def test_recordings_are_listed_kept_played_again_and_deleted(rig: ManyRobots) -> None:
    stand_in = wave_and_failed()
    async with standing_in(stand_in, rig) as browsed:
        page = browsed.page
        await browsed.until(f"{ROWS} === 'wave,wave,bare'")
        with part("a failure stands out"):
            failed = "document.querySelector('.list .recording strong.bad')"
            assert await page.evaluate(f"{failed}.innerText") == "PATH_TOLERANCE_VIOLATED"
            assert "2 gaps" in await page.inner_text(".list .recording:first-child .facts")
            assert await page.inner_text(".list .recording:nth-child(2) .kept") == "kept"
        await page.click("button[aria-label='More of failed']")
        with part("it is played again, by its references or its feedback"):
            for source in ("reference", "feedback"):
                await page.click(f"button:text('Play {source}')")
                await stand_in.until_asked(("play", PLAYED | {"source": source}))
        with part("it is kept, and let go again"):
            await page.click("button:text-is('Keep')")
            kept = ("recordings/keep", {"name": "failed", "keep": True})
            await stand_in.until_asked(kept, ("recordings", {}))
            await page.click("button:text-is('Kept')")
            await page.wait_for_selector("button:text-is('Keep')")
        with part("it is downloaded"):
            link = page.locator("a:text('Download')")
            assert await link.get_attribute("href") == "/api/robots/arm/recordings/failed"
            assert await link.get_attribute("download") == "failed.mcap"
        with part("it is deleted after a question"):
            await page.click("button[aria-label='Delete failed']")
            assert "recordings/delete" not in dict(stand_in.asked)
            await page.click("button:text('Delete the file')")
            await browsed.until(f"{ROWS} === 'wave,bare'")
            assert await page.evaluate("document.activeElement.id") == "recordings"
        with part("the list is asked for again when a file begins or ends, and not before"):
            asked = len(stand_in.asked)
            stand_in.report(ticks=1)
            await browsed.until_says("Not recording")
            stand_in.recordings.insert(0, listed("now", 9, motions=["nod"], is_written=True))
            stand_in.report(recording=True, file="now.mcap", why="motion", ticks=2)
            await browsed.until(f"{ROWS} === 'nod,wave,bare'")
            stand_in.report(recording=True, file="now.mcap", why="motion", ticks=3, bytes=7)
            await browsed.until_says("7 bytes")
            assert len(stand_in.asked) <= asked + 2
            assert await page.locator(".recording:first-child button, .recording:first-child a").count() == 0
        with part("a list that cannot be had says why"):
            stand_in.refusals["recordings"] = "recordings: the folder cannot be read"
            stand_in.report(problem="recordings: the folder cannot be read")
            await browsed.until_says("recordings: the folder cannot be read")
        assert browsed.errors == []


async def test_a_list_is_short_or_long(rig: ManyRobots) -> None:
    async with standing_in(StandIn([], {}), rig) as browsed:
        await browsed.until_says("Nothing is recorded yet.")
    many = StandIn([listed(f"run{number}", number, motions=[f"m{number}"]) for number in range(500)], {})
    async with standing_in(many, rig) as browsed:
        await browsed.until_says("500 files")
        drawn = "document.querySelectorAll('.recordings .recording').length"
        assert 40 <= await browsed.page.evaluate(drawn) < 200
        scroll = "document.querySelector('.recordings .list').lastElementChild.scrollIntoView()"
        await browsed.until(f"{scroll}, {drawn} === 500")


async def test_a_run_is_opened_beside_its_reference(rig: ManyRobots) -> None:
    async with standing_in(wave_and_failed(), rig, in_3d=True) as browsed:
        page = browsed.page
        await page.click("a[aria-label='Open failed']")
        await browsed.until(f"{CLOCK} === 0")
        with part("the picture is the recorded one, and says so"):
            assert "not the robot as it is now" in await page.inner_text("p.recorded")
            await page.keyboard.press("ArrowRight")
            await browsed.until(f"{CLOCK} === 0.005")
            shown = "document.querySelector('canvas')?.view?.now"
            await page.click("button[aria-label^='Go to the largest error of wrist3']")
            time = await browsed.until(f"{CLOCK} > 1 && {CLOCK}")
            positions = "[now.reference.position[5], now.feedback.position[5]]"
            wanted = [0.6 * np.sin(1.6 * (time - 1.0 - late_s)) for late_s in (0.0, 0.05)]
            within = f"{positions}.every((value, side) => Math.abs(value - {wanted}[side]) < 1e-4)"
            await browsed.until(f"(now => now && {within})({shown})")
        with part("its errors are those of all ticks"):
            assert (await page.inner_text("tbody tr:last-child td")).startswith("0.0480")
        with part("keys run the picture and no robot"):
            await page.focus(".replay .track")
            await page.keyboard.press("Space")
            await browsed.until(f"{CLOCK} > {time} + 0.3")
            await page.keyboard.press("Space")
            await browsed.until_says("Run here")
            assert (await rig.see("state"))["state"] == "idle"
        with part("what happened, gaps too, is a list that leads there"):
            said = await page.inner_text(".log")
            assert "gap 79 ticks missing: the ring overflowed" in said
            await page.click(".log button:has-text('7.900 s')")
            await browsed.until(f"{CLOCK} === 7.9")
            assert "wave: PATH_TOLERANCE_VIOLATED: elbow is stuck" in said
        with part("the robot is shown again where one goes back"):
            await page.click("a:text('Recordings'):not([aria-current])")
            await browsed.until("!document.querySelector('p.recorded, .replay')")
        assert browsed.errors == []


async def test_two_places_are_compared_and_looped_between(rig: ManyRobots) -> None:
    async with standing_in(wave_and_failed(), rig, "/run") as browsed:
        page = browsed.page
        await browsed.until("document.querySelector('.run-plot canvas')")
        for mark, share in (("b", 0.75), ("a", 0.5)):
            box = await page.locator(".replay .track").bounding_box()
            assert box is not None
            await page.mouse.click(box["x"] + share * box["width"], box["y"] + 8)
            await page.keyboard.press(mark)
        await browsed.until_says("B \N{MINUS SIGN} A")
        assert (await page.inner_text(".replay .places")).count(" s") >= 3
        difference = await page.evaluate("+document.querySelector('tbody tr:last-child').lastChild.innerText")
        at_a, at_b = (0.6 * np.sin(1.6 * (time - 1.02)) for time in (4.0, 6.0))
        assert difference == pytest.approx(at_b - at_a, abs=0.01)  # a click is as exact as a pixel
        await browsed.until(f"{LINES} === ',A,B,,A,B'")
        await page.check("text=Loop")
        await page.select_option(".replay select", "10")
        await page.click("button:text('Run here')")
        for _ in range(5):
            await page.wait_for_timeout(200)
            assert 3.9 <= await page.evaluate(CLOCK) <= 6.1
        await page.click("button:text('Hold')")
        await page.click("button:text('Clear')")
        await browsed.until(f"{LINES} === ','")
        assert browsed.errors == []


async def test_another_run_is_laid_on_one(rig: ManyRobots) -> None:
    later = run_of(JOINTS, phases=[{"time": 2.0, "state": "playing", "torque": True, "goal": 1}])
    stand_in = wave_and_failed()
    stand_in.recordings.append(listed("later", 0))
    stand_in.runs["later"] = later
    async with standing_in(stand_in, rig, "/run") as browsed:
        page = browsed.page
        await browsed.until("document.querySelectorAll('.beside option').length === 4")
        with part("where they differ, and how far"):
            await page.select_option(".beside select", "failed")
            await browsed.until("document.querySelectorAll('.run-plot').length === 3")
            last = "[...document.querySelectorAll('tbody tr:last-child td')]"
            cells = f"{last}.map(one => parseFloat(one.innerText))"
            largest, _, root = (await browsed.until(f"({cells}).length > 5 && {cells}"))[3:6]
            assert largest == pytest.approx(0.6 * 1.6 * 0.03, rel=0.02)
            assert 0.5 * largest < root < largest
            assert await page.evaluate("location.hash") == "#/arm/recordings/run/failed"
        with part("both begin where their motions began"):
            await page.select_option(".beside select", "later")
            await browsed.until("location.hash.endsWith('/later') && document.querySelector('.beside input')")
            await browsed.until(f"({cells})[3] > 0.1")
        with part("one that is gone is told"):
            await page.evaluate("location.hash = '#/arm/recordings/run/gone'")
            await browsed.until_says("gone: no such recording; it may have been removed")
        assert all("404" in error for error in browsed.errors)


async def test_nothing_of_a_run_is_fetched_before_it_is_opened(rig: ManyRobots) -> None:
    joints = [f"joint{number}" for number in range(30)]
    names = ("run", "again")
    stand_in = StandIn([listed(name) for name in names], dict.fromkeys(names, run_of(joints, rows=4000)))
    async with standing_in(stand_in, rig) as browsed:
        page = browsed.page
        await browsed.until_says("2 files")
        assert not await page.evaluate(
            "performance.getEntriesByType('resource').some(one => one.name.includes('run'))"
        )
        await page.click("a[aria-label='Open run']")
        await browsed.until("document.querySelectorAll('.run tbody tr').length === 30")
        for number in (1, 2, 3):
            await page.click(f".run tbody button:text-is('joint{number}')")
        await browsed.until("document.querySelectorAll('.run-plot canvas').length === 8")
        await page.focus(".replay .track")
        await page.keyboard.press("Space")
        await browsed.until(f"{CLOCK} > 0.5")
        await page.keyboard.press("Space")
        await page.select_option(".beside select", "again")
        await browsed.until("document.querySelectorAll('.run-plot canvas').length === 12")
        assert browsed.errors == []


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_recordings_are_within_reach_of_a_thumb(
    rig: ManyRobots, theme: Literal["light", "dark"]
) -> None:
    stand_in = wave_and_failed()
    long = "a motion whose name is as long as somebody liked it, or nearly"
    stand_in.recordings.append(listed(long.replace(" ", "_"), motions=[long, long]))
    async with standing_in(stand_in, rig, color_scheme=theme) as browsed:
        page = browsed.page
        stand_in.report(recording=True, file="f", why="motion", since_utc="2026-11-26T10:00:00Z", gaps=3)
        await page.click("button[aria-label='More of failed']")
        for view, count in {"": 4, "/failed": 2, "/failed/run": 3}.items():
            await page.evaluate(f"location.hash = '#/arm/recordings{view}'")
            await browsed.until(
                f"document.querySelectorAll('.list .recording, .run-plot canvas').length === {count}"
            )
            if view:
                await page.keyboard.press("a")
                await page.keyboard.press("ArrowRight")
                await page.keyboard.press("b")
            for width, height in (*PHONES, (768, 1024), (1024, 768), (1440, 900)):
                with part(f"{view} at {width} x {height}"):
                    await browsed.resize(width, height)
                    assert await page.evaluate(BEYOND) == []
                    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                    if (width, height) in PHONES:
                        assert await page.evaluate(SMALL) == []
            await axe_finds_nothing_serious(browsed, f"recordings{view}")
        assert browsed.errors == []


async def test_a_motion_is_recorded_and_looked_at(rig: ManyRobots, desk: Browsed) -> None:
    page = desk.page
    await rig.rest()
    await desk.visit(rig, "#/arm/recordings")
    with part("recording it by the button"):
        await page.click("button:text('Record')")
        await desk.until_says("Recording by request")
        was_playing = await desk.note("document.querySelector('.state')?.dataset.state === 'playing'")
        await page.click("button[aria-label='Play nod']")
        await desk.until(was_playing)
        await desk.until_state("idle")
        await page.click("button:text('End recording')")
        await desk.until_says("Not recording")
        await desk.until("document.querySelector('.recording a.button')")
    made = (await rig.ask("recordings"))["data"]["recordings"][0]
    assert (made["motions"], made["codes"], made["gaps"]) == (["nod"], ["SUCCESSFUL"], 0)
    with part("it is opened, with the errors that the simulated arm had"):
        await page.click(f"a[aria-label='Open {made['name']}']")
        await desk.until("document.querySelector('.run-plot canvas')")
        about = await page.evaluate(ABOUT_OF, f"{rig.url}api/robots/arm/recordings/{made['name']}/run")
        cells = "[...document.querySelectorAll('.run tbody tr')].map(row => row.cells[1].innerText)"
        told = await desk.until(f"{cells}.length === {len(JOINTS)} && {cells}")
        shown = [float(cell.removesuffix("rad")) for cell in told]
        assert shown == [pytest.approx(about["worst"][name]["max"], abs=6e-5) for name in JOINTS]
        assert max(shown) > 0
        assert "nod: SUCCESSFUL" in await page.inner_text(".run .facts")
    with part("its keys ask nothing of a robot, and Escape stops it all the same"):
        await rig.ask("play", motion="long")
        await desk.until_state("playing")
        await rig.ask("pause")
        await desk.until_state("paused")
        await page.keyboard.press("Space")
        await desk.until(f"{CLOCK} > 0.2")
        assert (await rig.see("state"))["state"] == "paused"
        await page.keyboard.press("Escape")
        await desk.until_state("idle")
    with part("the list of results leads there too"):
        await page.evaluate("location.hash = '#/arm/health'")
        await desk.until("document.querySelector('.results li a')")
        link = page.locator(".results li:has-text('nod') a")
        assert await link.get_attribute("href") == f"#/arm/recordings/{made['name']}"
    assert desk.errors == []


async def until_read(rig: ManyRobots, recording: str) -> None:
    """Have the daemon read a recording, which takes longer than a page waits on a busy machine."""
    async with asyncio.timeout(PATIENCE_S):
        while (answer := await rig.ask("play", motion=recording))["status"] != "ok":
            assert answer["code"] == "BUSY", answer
    await rig.rest()


async def test_a_recording_of_the_robot_is_kept_played_again_and_deleted(
    rig: ManyRobots, desk: Browsed
) -> None:
    page = desk.page
    await rig.rest()
    await rig.ask("record/start", name="again")
    await rig.ask("play", motion="wave")
    await rig.until_sees("state", lambda seen: seen["state"] == "playing")
    await rig.rest()
    name = (await rig.ask("record/stop"))["data"]["file"].removesuffix(".mcap")
    await desk.visit(rig, "#/arm/recordings")
    await page.click(f"button[aria-label='More of {name}']")
    delete = f"button[aria-label='Delete {name}']"
    with part("it is kept"):
        await page.click("button:text-is('Keep')")
        await page.wait_for_selector("button:text-is('Kept')")
        assert (await rig.ask("recordings"))["data"]["recordings"][0]["kept"]
        assert await page.is_disabled(delete)
        await page.click("button:text-is('Kept')")
        await page.wait_for_selector("button:text-is('Keep')")
    with part("it is played again by its references"):
        await until_read(rig, name)
        was_played = await desk.note(
            "document.querySelector('.state')?.dataset.state === 'playing'"
            f" && document.querySelector('.player .name')?.innerText.startsWith({name!r})"
        )
        await page.click("button:text('Play reference')")
        await desk.until(was_played)
        await page.click("button.stop")
        await desk.until_state("idle")
    with part("it is deleted"):
        await page.click(delete)
        await page.click("button:text('Delete the file')")
        await desk.until(f"!document.querySelector(\"a[aria-label='Open {name}']\")")
        files = (await rig.ask("recordings"))["data"]["recordings"]
        assert name not in [one["name"] for one in files]
    assert desk.errors == []
