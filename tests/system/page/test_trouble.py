"""The page of a daemon that ends, loses its broker or wants a token, and a page of somebody else."""

from __future__ import annotations

import asyncio
import re
import signal
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Error

from tests import ports
from tests.daemon.conftest import Mosquitto
from tests.daemon.programs import running, use
from tests.system.page.browser import ArmRig, browsing, browsing_once_it_listens, on_the_page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import BrowserContext

pytestmark = pytest.mark.asyncio(loop_scope="session")
HTTP_PAGE = Path(__file__).parents[3] / "docs" / "http.md"
IS_WHOLE = """() => {
    const alert = document.querySelector("[role=alert]");
    const {right, bottom} = alert.getBoundingClientRect();
    const isWhole = alert.scrollWidth <= alert.offsetWidth + 1 && right <= innerWidth && bottom > 0;
    return alert.checkVisibility() && isWhole;
}"""
TIME_OF_MOTION = "parseFloat(document.querySelector('.player .time')?.innerText.split(':')[1])"


@pytest.fixture
def rig(tmp_path: Path) -> ArmRig:
    return ArmRig(tmp_path)


async def test_a_daemon_that_is_killed_is_told_and_found_again(rig: ArmRig) -> None:
    async with running(rig) as daemon, browsing_once_it_listens(rig, "#/arm/health") as browsed:
        await browsed.page.click("button[aria-label='Play long']")
        await browsed.until_state("playing")
        await browsed.until(f"({TIME_OF_MOTION}) > 1")
        await daemon.kill()
        await browsed.until_says("Connection lost")
        await browsed.until_state("unknown")
        # How long it is lost stands beside it: what is read aloud does not change twice a second.
        alert = await browsed.page.inner_text("[role=alert]")
        assert alert == "Connection lost; trying again"
        for width, height in ((320, 568), (844, 390), (1280, 720)):
            await browsed.resize(width, height)
            assert await browsed.page.evaluate(IS_WHOLE), (width, height)
        assert await browsed.page.is_disabled("button[aria-label='Queue long']")
        await browsed.page.click("button.stop")
        await browsed.until_says("The stop did not reach arm. Use its own switch.")
        async with running(rig):
            await browsed.until_state("idle")
            await browsed.until_says(" at the last report, and the daemon has been restarted, which cuts off")
            shown = "document.querySelector('.player').innerText"
            await browsed.until(f"{shown}.startsWith('No motion plays\\n\\nlong: no result')")
            said = await browsed.page.locator(".log .message:has-text('no result')").inner_text()
            assert re.fullmatch(
                r"long: no result; it was at 0:\d\d\.\d at the last report, "
                "and the daemon has been restarted, which cuts off what plays",
                said,
            )
            await browsed.page.click("button[aria-label='Play long']")
            await browsed.until_state("playing")


async def test_an_error_that_a_servo_keeps_is_cleared_on_the_page(rig: ArmRig) -> None:
    rig.robot["fault_requests"] = True
    async with running(rig), on_the_page(rig, "#/arm/health") as browsed:
        page, table = browsed.page, "[aria-label='Servo errors']"
        await rig.ask("enable")
        assert await page.locator(table).count() == 0
        await rig.ask("fault", fault="overload", joint="shoulder")
        await browsed.until_state("fault")
        rows = f'[...document.querySelectorAll("{table} tbody tr")].map(one => one.innerText).join()'
        await browsed.until(f"{rows}.split(/\\s/)[0] === 'shoulder'")
        desk = page.viewport_size
        assert desk is not None
        await browsed.resize(390, 844)
        for way in ("Clear", "Restart"):
            box = await page.locator(f"button[aria-label='{way} shoulder']").bounding_box()
            assert box is not None
            assert (box["x"] >= 0, box["x"] + box["width"] <= 390) == (True, True), way
        await browsed.resize(desk["width"], desk["height"])
        await page.click("button[aria-label='Clear shoulder']")
        await browsed.until_says("shoulder: cleared on request; reset the robot to go on")
        await page.click("button.reset")
        await browsed.until_state("idle")
        await browsed.until(rf"{rows}.replaceAll(/\s+/g, ' ').trim() === 'shoulder 0 0 1 0'")
        assert await page.locator("button[aria-label='Clear shoulder']").count() == 0
        await page.click("button[aria-label='Play long']")
        await browsed.until_state("playing")


async def test_what_holds_after_a_loss_is_seen_and_the_others_are_made_to_hold_too(rig: ArmRig) -> None:
    rig.robot["fault_requests"] = True
    rig.robot["driver"] = {"type": "sim", "command_lifetime_s": None}
    async with running(rig), on_the_page(rig, "#/arm/health") as browsed:
        page, switch = browsed.page, ".top .torque"
        await rig.ask("enable")
        await rig.ask("fault", fault="torque_drop", joint="elbow", at_s=0.2)
        await rig.ask("fault", fault="bus_lost", for_s=0.4)
        await browsed.until(f"document.querySelector('{switch}')?.innerText === 'Torque partly on'")
        await page.wait_for_selector(f"{switch}[title='No torque in elbow']")
        await page.click(switch)
        await page.click(".top .asks button:text('Hold all')")
        await browsed.until(f"document.querySelector('{switch}')?.innerText === 'Torque on'")
        assert (await rig.see("state"))["loose"] == []


async def test_why_a_motion_failed_is_seen_until_the_next_one_also_after_a_reload_and_a_sigkill(
    rig: ArmRig,
) -> None:
    rig.robot |= {"fault_requests": True, "tolerances": {"path": 0.05}}
    rig.daemon["id"] = "a-daemon-that-has-played-nothing"
    rests = "document.querySelector('.player').innerText"
    why = "No motion plays\n\nwave: PATH_TOLERANCE_VIOLATED: joint 'shoulder' "
    async with running(rig) as daemon, on_the_page(rig, "#/arm/health") as browsed:
        await rig.ask("fault", fault="stuck", joint="shoulder")
        await rig.ask("play", motion="wave")
        await browsed.until_says("PATH_TOLERANCE_VIOLATED")
        await rig.ask("fault", fault="clear")
        await rig.rest(elbow=0.1)
        shown = await browsed.until(f"{rests}.startsWith({why!r}) && {rests}")
        await browsed.visit(rig, "#/arm/health")
        await browsed.until(f"{rests} === {shown!r}")
        rows = (
            "[...document.querySelectorAll('.results li')].map(row => row.querySelector('.line').innerText)"
        )
        goto, wave = await browsed.until(f"({rows}).length === 2 && {rows}")
        assert (goto.split()[-2:], wave.split()[-2:]) == (
            ["goto", "SUCCESSFUL"],
            ["wave", "PATH_TOLERANCE_VIOLATED"],
        )
        failed = await browsed.page.inner_text(".results li.failed")
        assert "127.0.0.1 over HTTP" in failed
        assert re.search(r"worst error shoulder 0\.\d{4} rad", failed)
        await daemon.kill()
        browsed.errors.clear()  # of the connection
        async with running(rig):
            await rig.until_listening()
            await browsed.visit(rig, "#/arm/health")
            await browsed.until(f"{rests} === {shown!r}")
            await rig.ask("play", motion="nod")
            await browsed.until(f"{rests}.startsWith('No motion plays\\n\\nnod: SUCCESSFUL')")
            await browsed.until(f"({rows}).length === 3")
            await browsed.page.goto("about:blank")  # before the daemon ends


async def test_a_daemon_that_stands_still_is_reported_and_acts_on_nothing_that_was_asked_meanwhile(
    rig: ArmRig,
) -> None:
    async with running(rig) as daemon, browsing_once_it_listens(rig, "#/arm/health") as browsed:
        # The page knows the daemon's clock, and is to be released only: it would soon be lost.
        await browsed.until("document.querySelector('.connection')?.innerText.includes('alone')")
        await browsed.page.hover("button[aria-label='Play long']")
        await browsed.page.mouse.down()
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            await browsed.page.mouse.up()
            await browsed.until_says("play: the connection was lost before an answer came")
            await browsed.until_state("unknown")
            await browsed.until("/What is shown is 0:\\d\\d\\.\\d old/.test(document.body.innerText)")
            opacity = "getComputedStyle(document.querySelector('.panel')).opacity"
            assert await browsed.until(f"{opacity} < 1 && {opacity}") == "0.5"
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        await browsed.until_state("idle")
        assert (await rig.ask("play", motion="wave"))["status"] == "ok"  # it would be refused beside another
        await browsed.until_says("wave: SUCCESSFUL")


async def test_a_broker_that_goes_is_told_and_motions_play_on_while_somebody_watches(rig: ArmRig) -> None:
    broker = Mosquitto(ports.free_port(), rig.folder)
    use(rig, broker.settings, stop_when_lost_s=3.5)  # a beat of the page may come two seconds late
    await broker.start()
    try:
        async with running(rig), on_the_page(rig, "#/arm/health") as browsed:
            await browsed.until("document.querySelector('.connection')?.innerText.includes('alone')")
            # The page may be there before the broker has answered the daemon.
            await browsed.until("!document.body.innerText.includes('Broker lost')")
            await browsed.page.click("button[aria-label='Play long']")
            await browsed.until_state("playing")
            await broker.kill()
            await browsed.until_says("Broker lost")
            lost_at = await browsed.time_of_motion()
            await browsed.until(
                f"({TIME_OF_MOTION}) > {lost_at} + 1.5 * {rig.daemon['mqtt']['stop_when_lost_s']}"
            )
            await browsed.page.click("button.stop")
            await browsed.until_says("long: CANCELED: stopped on request, softly, on the path")
            await broker.start()
            await browsed.until("!document.body.innerText.includes('Broker lost')")
    finally:
        await broker.kill()


async def test_nothing_is_shown_without_the_token(rig: ArmRig) -> None:
    (rig.folder / "token").write_text("open sesame, please\n")
    rig.http |= {"token_file": "token"}
    async with running(rig):
        await rig.until_listening()
        async with browsing(rig.url) as browsed:
            await browsed.page.fill("input[name=token]", "open barley")
            await browsed.page.keyboard.press("Enter")
            await browsed.until_says("the token is wrong; it is the first line of http.token_file")
            assert "arm" not in (await browsed.page.inner_text("body")).split()
            await browsed.page.fill("input[name=token]", "open sesame, please")
            await browsed.page.keyboard.press("Enter")
            await browsed.until_state("idle")
            await browsed.page.reload()
            await browsed.until_state("idle")


@asynccontextmanager
async def elsewhere() -> AsyncIterator[str]:
    """Serve an empty page, and give its origin; one that is only imitated would count as of the Internet."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://localhost:{server.sockets[0].getsockname()[1]}"


async def told_to_a_page(context: BrowserContext, origin: str, script: str) -> str:
    """Run a script on a page of an origin, and give the first message of `reports`."""
    page = await context.new_page()
    await page.goto(f"{origin}/")
    heard = "new Promise(heard => { reports.onmessage = told => heard(told.data); reports.onerror = heard; })"
    told: str = await page.evaluate(f"async () => {{ {script}; return String(await {heard}); }}")
    await page.close()
    return told


async def test_a_page_of_ones_own_plays_and_listens_if_its_origin_is_listed(rig: ArmRig) -> None:
    (example,) = re.findall(r"```js\n(.*?)```", HTTP_PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = example.replace("http://127.0.0.1:8080", rig.url.rstrip("/")).replace("…", "open sesame, please")
    (rig.folder / "token").write_text("open sesame, please\n")
    async with elsewhere() as listed, elsewhere() as not_listed:
        rig.http |= {"token_file": "token", "origins": [listed]}
        async with running(rig):
            await rig.until_listening()
            async with browsing(rig.url) as browsed:
                context = browsed.page.context
                await browsed.page.fill("input[name=token]", "open sesame, please")
                await browsed.page.keyboard.press("Enter")
                await browsed.until_state("idle")
                with pytest.raises(Error, match="Failed to fetch"):
                    await told_to_a_page(context, not_listed, script)
                listens_only = re.sub("(?m)^await.*", "", script)
                assert await told_to_a_page(context, not_listed, listens_only) == "[object Event]"
                state = "document.querySelector('.state').dataset.state"
                assert await browsed.until(f"{state} !== 'unknown' && {state}") == "idle"
                assert '"robots":["arm"]' in await told_to_a_page(context, listed, script)
                await browsed.until_state("playing")
