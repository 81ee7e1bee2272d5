"""Makes the pictures of docs/page.md: the example's arm on simulated actuators, in Debian's chromium.

.venv/bin/python scripts/make_screenshots.py
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Playwright, ViewportSize

HERE = Path(__file__).parents[1]
IMAGES = HERE / "docs/images"
CHROMIUM = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
TABLET: ViewportSize = {"width": 768, "height": 1024}
DESK: ViewportSize = {"width": 1440, "height": 860}
PATIENCE_S = 60.0
READY = "document.querySelector('canvas')?.view?.robot !== undefined"


def main() -> None:
    """Make all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with daemon() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(CHROMIUM))
        show_playing(browser, url)
        show_preview(browser, url)
        show_phone(playwright, browser, url)
        show_run(browser, url)
        show_jog(browser, url)
        browser.close()


@contextmanager
def daemon() -> Iterator[str]:
    """Run the example on ports of its own, and give the page's address."""
    with tempfile.TemporaryDirectory() as folder:
        example = Path(folder, "config")
        shutil.copytree(HERE / "config", example)
        settings = yaml.safe_load((example / "demo.yaml").read_text())
        broker, page = free_port(), free_port()
        settings |= {"mqtt": {"listen": f"127.0.0.1:{broker}"}, "http": {"listen": f"127.0.0.1:{page}"}}
        settings["robots"]["arm"]["recording"] = {"folder": "recordings", "when": "motion"}
        (example / "demo.yaml").write_text(yaml.safe_dump(settings))
        program = Path(sys.executable).with_name("motiond")
        process = subprocess.Popen([program, "run", "-c", example / "demo.yaml"])  # noqa: S603
        try:
            wait_for(page)
            yield f"http://127.0.0.1:{page}/"
        finally:
            process.terminate()
            process.wait()


def show_playing(browser: Browser, url: str) -> None:
    """Show a desk in the middle of a motion."""
    page = browser.new_page(viewport=DESK, color_scheme="dark")
    page.goto(f"{url}#/arm/joints")
    until(page, READY)
    page.click("button[aria-label='Play wave']")
    until_state(page, "playing")
    page.select_option(".follow select", "tool/end_effector")
    page.click(".joints button:text('elbow')")
    page.click("button[aria-label='Queue nod']")
    page.wait_for_timeout(2000)
    save(page, "page-desk")
    page.click("button.stop")
    until_state(page, "idle")
    page.close()


def show_preview(browser: Browser, url: str) -> None:
    """Show a motion on the ghost, by daylight."""
    page = browser.new_page(viewport=DESK, color_scheme="light")
    page.goto(f"{url}#/arm/health")
    until(page, READY)
    page.click("li.motion:has-text('wave') button:text('Preview')")
    until(page, "document.querySelector('.scrub')")
    page.select_option(".follow select", "tool/end_effector")
    page.fill(".scrub", "1.2")
    page.wait_for_timeout(3000)
    save(page, "page-preview")
    page.close()


def show_phone(playwright: Playwright, browser: Browser, url: str) -> None:
    """Show a phone beside the robot."""
    context = browser.new_context(**playwright.devices["Pixel 7"] | {"color_scheme": "dark"})
    page = context.new_page()
    page.goto(url)
    until(page, READY)
    page.tap("button[aria-label='Play nod']")
    until_state(page, "playing")
    page.wait_for_timeout(1500)
    save(page, "page-phone")
    page.tap("button.stop")
    until_state(page, "idle")
    context.close()


def show_jog(browser: Browser, url: str) -> None:
    """Show a tablet on which somebody holds a pad."""
    page = browser.new_page(viewport=TABLET, color_scheme="light")
    page.goto(f"{url}#/arm/jog")
    until(page, READY)
    page.check("text=Switched on")
    page.hover("button[aria-label='shoulder on, while it is held']")
    page.mouse.down()
    until_state(page, "following")
    page.wait_for_timeout(2500)
    save(page, "page-jog")
    page.mouse.up()
    until_state(page, "idle")
    page.close()


def show_run(browser: Browser, url: str) -> None:
    """Show a recorded run, with two places marked."""
    page = browser.new_page(viewport=DESK, color_scheme="dark")
    page.goto(f"{url}#/arm/recordings")
    until(page, READY)
    page.click("button[aria-label='Play wave']")
    until_state(page, "playing")
    until_state(page, "idle")
    page.locator(".recording a.button").first.click()
    until(page, "document.querySelector('.run-plot canvas')")
    width = page.evaluate("document.querySelector('.replay .track').clientWidth")
    for share, key in ((0.32, "a"), (0.66, "b"), (0.5, "Shift")):
        page.click(".replay .track", position={"x": share * width, "y": 8})
        page.keyboard.press(key)
    page.wait_for_timeout(2000)
    save(page, "page-run")
    page.close()


def save(page: Page, name: str) -> None:
    """Save what is seen."""
    page.screenshot(path=IMAGES / f"{name}.png", scale="css")


def until_state(page: Page, state: str) -> None:
    """Wait until the robot does something."""
    until(page, f"document.querySelector('.state')?.dataset.state === '{state}'")


def until(page: Page, expression: str) -> None:
    """Evaluate until it holds; the page's policy forbids the browser to wait for a text by itself."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not page.evaluate(f"!!({expression})"):
        if time.monotonic() > deadline_s:
            raise SystemExit(f"{expression}: not in {PATIENCE_S:g} s")
        page.wait_for_timeout(50)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int) -> None:
    """Wait until somebody listens."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.1)
        else:
            return


if __name__ == "__main__":
    main()
