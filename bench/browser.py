"""How soon the page is ready to act, and how much script it runs for each frame that it draws.

A real browser without a graphics processor looks at a robot of 30 joints that plays. Script is counted by the
browser itself: all that the page runs, plots and tables too.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from playwright.async_api import async_playwright

from bench.programs import running_daemon
from tests.daemon.rig import sweep, write_seq
from tests.system.page.browser import CHROMIUM, ArmRig, Browsed

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

SECONDS = 10
LOADS = 7
JOINTS = 30
RATE_HZ = 200
GOAL_READY_S, GOAL_SCRIPT_S = 1.0, 4e-3
NOTE_READY = """
const look = () => {
    const button = document.querySelector("button[aria-label^='Play']");
    if (button && !button.disabled) window.readyMs = performance.now();
    else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


class Script(NamedTuple):
    """What a page has drawn, and the time in s that its script took."""

    frames: int
    took_s: float


def main(seconds: float = SECONDS) -> None:
    """Print when the page is ready, beside a file without script, and its script a frame."""
    if shutil.which("chromium") is None:
        print("chromium is missing; fix with: apt-get install chromium")
        return
    asyncio.run(_measure(seconds))


async def _measure(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = name  # nothing is left behind
        rig = _rig(Path(name))
        with running_daemon(rig.config):
            await _look(rig, seconds)


async def _look(rig: ArmRig, seconds: float) -> None:
    await rig.until_listening()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(CHROMIUM)
        )
        ready_s, plain_s = await _loads(browser, rig)
        frames_hz, script_s = await _drawing(browser, rig, seconds)
        await browser.close()
    print(f"first load, {LOADS} times in a browser that keeps nothing; s, median and longest")
    print(f"{'ready to act':20}{median(ready_s):8.2f}{max(ready_s):8.2f}   (goal: under {GOAL_READY_S:g})")
    print(f"{'a plain text':20}{median(plain_s):8.2f}{max(plain_s):8.2f}")
    print(f"{JOINTS} joints that play, {seconds:g} s, drawn without a graphics processor")
    print(f"{'frames a second':20}{frames_hz:8.1f}")
    print(f"{'script a frame':20}{1e3 * script_s:8.2f} ms   (goal: under {1e3 * GOAL_SCRIPT_S:g})")


def _rig(folder: Path) -> ArmRig:
    """Write a chain of many joints."""
    rig = ArmRig(folder)
    names = tuple(f"joint{number}" for number in range(JOINTS))
    parts = ['<link name="link0"/>']
    for number, name in enumerate(names):
        link = f"link{number + 1}"
        body = "<pose>0 0 0.05 0 0 0</pose><geometry><box><size>0.04 0.04 0.1</size></box></geometry>"
        limit = "<limit><lower>-2</lower><upper>2</upper><velocity>10</velocity></limit>"
        parts.append(
            f'<link name="{link}"><pose relative_to="{name}"/><visual name="body">{body}</visual></link>'
            f'<joint name="{name}" type="revolute"><pose relative_to="link{number}">0 0 0.1 0 0 0</pose>'
            f"<parent>link{number}</parent><child>{link}</child>"
            f"<axis><xyz>{number % 2} {1 - number % 2} 0</xyz>{limit}</axis></joint>"
        )
    (folder / "chain.sdf").write_text(
        f'<sdf version="1.10"><model name="chain">{"".join(parts)}</model></sdf>'
    )
    rig.robot |= {"model": "chain.sdf", "driver": {"type": "sim"}, "joints": {}}
    for path in (folder / "motions").iterdir():
        path.unlink()
    write_seq(folder / "motions" / "long.seq", sweep(20.0, RATE_HZ, JOINTS, swings=10), names, RATE_HZ)
    return rig


async def _loads(browser: Browser, rig: ArmRig) -> tuple[list[float], list[float]]:
    """Return when the page was ready, and when a plain text was there, in s."""
    ready_s, plain_s = [], []
    for number in range(LOADS + 1):
        # Each in a browser of its own: neither finds the other's connection.
        plain = await browser.new_page()
        await plain.goto(f"{rig.url}licences.txt")
        plain_ms = await plain.evaluate("performance.getEntriesByType('navigation')[0].domComplete")
        await plain.context.close()
        page = await browser.new_page()
        await page.add_init_script(NOTE_READY)
        await page.goto(rig.url)
        ready_ms = await Browsed(page).until("window.readyMs")
        if number:  # the robot has come up by then
            plain_s.append(1e-3 * plain_ms)
            ready_s.append(1e-3 * ready_ms)
        await page.context.close()
    return ready_s, plain_s


async def _drawing(browser: Browser, rig: ArmRig, seconds: float) -> tuple[float, float]:
    """Return frames a second and the script of each, in s, while the robot plays."""
    page = await browser.new_page(viewport={"width": 1440, "height": 860})
    browsed = Browsed(page)
    await page.goto(f"{rig.url}#/arm/joints")
    await browsed.until_drawn()
    await page.click("button[aria-label='Play long']")
    await browsed.until_state("playing")
    counting = await page.context.new_cdp_session(page)
    await counting.send("Performance.enable")
    before = await _script(page, counting)
    await asyncio.sleep(seconds)
    after = await _script(page, counting)
    await page.click("button.stop")
    await browsed.until_state("idle")
    frames = after.frames - before.frames
    return frames / seconds, (after.took_s - before.took_s) / frames


async def _script(page: Page, counting: Any) -> Script:
    told = await counting.send("Performance.getMetrics")
    took_s = next(one["value"] for one in told["metrics"] if one["name"] == "ScriptDuration")
    return Script(await page.evaluate("document.querySelector('canvas').view.drawn"), took_s)
