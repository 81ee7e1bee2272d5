"""A real browser on a real daemon, with an arm of simulated actuators that has a description to draw."""

from __future__ import annotations

import asyncio
import io
import shutil
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import pytest

from motiond.formats import load_robot
from tests import ports
from tests.daemon.programs import in_a_session
from tests.daemon.rig import Rig, sweep, write_seq
from tests.lasting import LASTING, processes_below
from tests.system.page import meshes
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncIterator, Callable, Iterator

    from numpy.typing import NDArray
    from playwright.async_api import Browser, BrowserContext, Page, Playwright

EXAMPLE = Path(__file__).parents[3] / "config"
MODEL = load_robot(EXAMPLE / "robots/six_axis.hrdf")
TURNED = (-2.5, 1.5, 2.8)
MESHES = meshes.all_formats()
PLACES = np.array([(0.0, 0.5 * number - 1.0, 0.5) for number in range(len(MESHES))])
JOINTS = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
PROGRAMS = ("chromium-headless-shell", "chromium")
"""The same browser without windows takes half of the processor time, where it is installed."""
CHROMIUM = (
    "--no-sandbox",
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
)
"""The page itself is painted without a graphics processor; one that is imitated for it costs more, and so
does a process in reserve for each page."""
COARSE, SHARP = 0.5, 1
"""Device pixels to a pixel of the page. To draw in 3D without a graphics processor costs by the pixel; few
tests look at the picture, and these want it sharp."""
SELDOM = """
window.requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), 100);
window.cancelAnimationFrame = clearTimeout;
"""
"""Draws ten times a second, which is enough where the picture is coarse, for the same reason."""
WITHOUT_3D = "export class View3D { constructor() { throw new Error('WebGL is missing'); } }"
"""What draws in 3D, for tests that look at all else: a fifth of what a page takes."""
LOOK_AGAIN_S = 0.2
LAID_OUT = """new Promise(done => new ResizeObserver((_, observer) => {
    observer.disconnect();
    setTimeout(done);
}).observe(document.body))"""
"""Once all that watches sizes has been told of a new one: a new observer is told last."""
NOTE = """(() => {{
    const place = (window.noted ??= []).push(false) - 1;
    new MutationObserver(() => {{ noted[place] ||= Boolean({}); }})
        .observe(document, {{subtree: true, childList: true, attributes: true, characterData: true}});
    return `noted[${{place}}]`;
}})()"""
"""What may hold for less than the time between two looks from outside."""
DRAWN = "(view => view?.robot && view.drawn && !view.dirty)(document.querySelector('canvas')?.view)"


class ArmRig(Rig):
    """The example's arm, with a page and without a broker."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = ports.free_port()
        self.http: dict[str, Any] = {"listen": f"127.0.0.1:{self.port}"}
        self.daemon |= {
            "id": "bench",
            "http": self.http,
            "mqtt": {"listen": f"127.0.0.1:{ports.free_port()}"},
        }
        self.robot["model"] = str(EXAMPLE / "robots/six_axis.hrdf")
        limits = {"lower": -3.0, "upper": 3.0, "acceleration": 20.0}
        self.robot["joints"] = {name: {"limits": limits} for name in JOINTS}
        for file in filter(Path.is_file, (EXAMPLE / "motions").iterdir()):
            shutil.copy(file, folder / "motions")
        (folder / "motions/short.seq").unlink()
        write_seq(folder / "motions/long.seq", sweep(50.0, 50.0, joints=6, swings=25), JOINTS, 50)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def ask(self, verb: str, robot: str = "arm", **body: Any) -> dict[str, Any]:
        """Ask by HTTP, as another client does."""
        url = f"{self.url}api/robots/{robot}/{verb}"
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
            answer: dict[str, Any] = await response.json()
        return answer

    async def see(self, subject: str, robot: str = "arm") -> Any:
        """Read what is known of a robot."""
        url = f"{self.url}api/robots/{robot}/{subject}"
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return await response.json()

    async def until_sees(
        self, subject: str, holds: Callable[[Any], object], robot: str = "arm"
    ) -> dict[str, Any]:
        """Read until it holds."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds(seen := await self.see(subject, robot)):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.1)
        known: dict[str, Any] = seen
        return known

    async def rest(self, robot: str = "arm", **posture: float) -> None:
        """Let a robot stop and forget what waits, and go to a posture."""
        for verb in ("stop", "reset"):
            await self.ask(verb, robot)
        await self.until_sees("state", lambda seen: seen["state"] == "idle", robot)
        if posture:
            goal = (await self.ask("goto", robot, joints=posture))["data"]["goal_id"]
            ended = lambda seen: seen["state"] == "idle" and seen["goal_id"] != goal  # noqa: E731 - of here
            await self.until_sees("state", ended, robot)

    async def until_listening(self) -> None:
        """Wait until the daemon takes connections of browsers."""
        await until_listening(self.port)


async def until_listening(port: int) -> None:
    """Wait until a port of this machine takes connections."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                await writer.wait_closed()
                return


class ManyRobots(ArmRig):
    """Robots for everything that somebody sees and does on the page.

    `arm` is the example's; `strict` allows little; `leased` and `kept` are commanded by who is in control,
    and nobody takes that from them at `kept`; `stand` is drawn by meshes, of which `ruin` has broken ones.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "motions/broken.seq").write_text("type: CompositeSeq\n")
        self.daemon["id"] = "the-host-of-a-daemon-with-a-longer-name"
        self.http["telemetry_hz"], self.daemon["mqtt"]["telemetry_hz"] = 5.0, 0
        seldom = {"idle_rate_hz": 20.0, "stream_timeout_s": 10.0}
        self.robot |= seldom | {
            "poses": {
                "lean": {"elbow": 0.4},
                **{f"turned {base:g}": {"base": base, "shoulder": 0.1} for base in TURNED},
            },
            "motions": ["motions", self._folder_for_uploads("arm")],
        }
        del self.robot["driver"]["trace"], self.robot["driver"]["plant"]
        # The shoulder moves at 0.3125 rad/s at most in the motion `wave`.
        joints = self.robot["joints"]
        strict = joints | {"shoulder": {"limits": joints["shoulder"]["limits"] | {"velocity": 0.336}}}
        lease = {"required": True, "ttl_s": 30.0}
        uploads = {"motions": ["motions", self._folder_for_uploads("leased")]}
        self.others = {
            "strict": self.robot
            | {"joints": strict, "tolerances": {"goal": 0.001}, "motions": ["motions"], "effort": {}},
            "leased": self.robot | {"lease": lease} | uploads,
            "kept": self.robot | {"lease": lease | {"takeover": False}, "motions": ["motions"]},
            "stand": seldom | {"model": "stand.sdf", "driver": {"type": "sim"}},
            "ruin": seldom | {"model": "ruin.sdf", "driver": {"type": "sim"}},
        }
        meshes.describe(folder / "stand.sdf", MESHES, PLACES)
        meshes.describe(folder / "ruin.sdf", meshes.broken(), np.zeros((4, 3)))

    def _folder_for_uploads(self, robot: str) -> dict[str, Any]:
        (self.folder / f"new of {robot}").mkdir()
        return {"folder": f"new of {robot}", "upload": True}

    def uploaded(self, robot: str) -> list[str]:
        """Return the names of the files that were uploaded for a robot."""
        return sorted(path.name for path in (self.folder / f"new of {robot}").iterdir())


def seconds_of(clock: str) -> float:
    """Read a time as the page writes it, `1:04.2`, in s."""
    minutes, seconds = clock.split(":")
    return 60 * int(minutes) + float(seconds)


@contextmanager
def part(what: str) -> Iterator[None]:
    """Name what fails within a visit that looks at several things."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"while {what}")
        raise


class Browsed:
    """The page in a browser."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.set_default_timeout(1e3 * PATIENCE_S)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)

    async def visit(self, rig: ArmRig, view: str = "") -> None:
        """Load the page again at a view, with nothing in the console."""
        await self.page.goto("about:blank")
        self.errors.clear()
        await self.page.goto(rig.url + view)
        await self.until_state("idle")

    async def until(self, expression: str) -> Any:
        """Evaluate until it holds; the page's policy forbids the browser to wait for a text by itself."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + PATIENCE_S
        while not (seen := await self.page.evaluate(expression)):
            if loop.time() > deadline_s:
                body = await self.page.inner_text("body")
                raise AssertionError(f"{expression}: not in {PATIENCE_S:g} s; the page says:\n{body}")
            await asyncio.sleep(LOOK_AGAIN_S)
        return seen

    async def note(self, expression: str) -> str:
        """Evaluate at each change of the page from now on, and return what tells whether it has ever held."""
        noted: str = await self.page.evaluate(NOTE.format(expression))
        return noted

    async def until_state(self, state: str) -> None:
        await self.until(f"document.querySelector('.state')?.dataset.state === '{state}'")

    async def until_says(self, text: str) -> None:
        await self.until(f"document.body.innerText.includes({text!r})")

    async def until_drawn(self) -> None:
        await self.until(DRAWN)

    async def time_of_motion(self) -> float:
        """Return what the player shows, in s."""
        return seconds_of((await self.page.inner_text(".player .time")).partition(" / ")[0])

    async def until_rests_at(self, posture: dict[str, float]) -> None:
        """Wait until the table shows a posture, and the goal has ended."""
        rows = "[...document.querySelectorAll('.joints tbody tr')]"
        texts = f"{rows}.map(row => [row.cells[0].innerText, parseFloat(row.cells[1].innerText)])"
        within = f"({texts}).every(([name, value]) => Math.abs(value - (wanted[name] ?? value)) < 0.005)"
        await self.until(f"(wanted => {within})({posture})")
        await self.until_state("idle")  # it may have been so before it went, too

    async def resize(self, width: int, height: int) -> None:
        """Have another size, and let the page arrange itself: what is another size then may move the rest."""
        await self.page.set_viewport_size({"width": width, "height": height})
        for _ in range(2):
            await self.page.evaluate(LAID_OUT)

    async def picture(self) -> NDArray[np.float64]:
        """Return the 3D view as it is seen: (rows, columns, 3), 0 to 1."""
        import matplotlib.image  # noqa: PLC0415 - a third of what every worker would load to collect the tests

        await self.until_drawn()
        await self.page.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        png = await self.page.locator(".scene canvas").screenshot()
        return np.asarray(matplotlib.image.imread(io.BytesIO(png)), dtype=np.float64)[..., :3]

    async def pixels_of(self, places: NDArray[np.float64]) -> NDArray[np.int_]:
        """Return where the camera sees places (n, 3): column and row (n, 2)."""
        camera = "document.querySelector('canvas').view.camera"
        told = await self.page.evaluate(
            f"[{camera}.projectionMatrix, {camera}.matrixWorldInverse].map(one => [...one.elements])"
        )
        projection, view = (np.reshape(one, (4, 4)).T for one in told)
        seen = np.column_stack([places, np.ones(len(places))]) @ (projection @ view).T
        box = await self.page.locator(".scene canvas").bounding_box()
        assert box is not None
        share = seen[:, :2] / seen[:, 3:] * [0.5, -0.5] + 0.5
        pixels: NDArray[np.int_] = np.rint(share * [box["width"], box["height"]]).astype(int)
        return pixels


class Browsers:
    """The browser of a worker; each test has a profile of its own in it, as if it were the first."""

    def __init__(self) -> None:
        self._running: tuple[Playwright, Browser] | None = None

    async def start(self) -> None:
        """Start it, where there is one."""
        from playwright.async_api import async_playwright  # noqa: PLC0415 - a tenth of the same

        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        if program is not None:
            before = set(processes_below("self"))
            playwright = await async_playwright().start()
            LASTING.update(dict.fromkeys(set(processes_below("self")) - before, True))
            browser = await playwright.chromium.launch(
                executable_path=program, args=list(CHROMIUM), timeout=1e3 * PATIENCE_S
            )
            self._running = playwright, browser

    async def end(self) -> None:
        if self._running is not None:
            playwright, browser = self._running
            self._running = None
            await browser.close()
            await playwright.stop()

    @asynccontextmanager
    async def profile(self, device: str | None = None, **options: Any) -> AsyncIterator[BrowserContext]:
        """Give a new profile; `options` are of playwright's contexts."""
        if self._running is None:
            pytest.skip("chromium is not installed")
        playwright, browser = self._running
        as_device = {} if device is None else dict(playwright.devices[device])
        as_device |= {"color_scheme": "dark", "device_scale_factor": COARSE}
        as_device |= options
        context = await browser.new_context(**as_device)
        try:
            if as_device["device_scale_factor"] == COARSE:
                await context.add_init_script(SELDOM)
            yield context
        finally:
            await context.close()


BROWSERS = Browsers()


@asynccontextmanager
async def browsing(
    url: str, model: dict[str, Any] | None = None, *, in_3d: bool = False, **options: Any
) -> AsyncIterator[Browsed]:
    """Open the page in a profile of its own; `model` is drawn instead of the robot's own.

    `in_3d` is for who looks at the robot; to others it is as if the browser could not draw it. `options` are
    of playwright's contexts, or the name of a `device`.
    """
    async with BROWSERS.profile(**options) as context:
        browsed = Browsed(await context.new_page())
        if not in_3d:
            script = {"body": WITHOUT_3D, "content_type": "text/javascript"}
            await browsed.page.route("**/view3d-*.js", lambda route: route.fulfill(**script))
        if model is not None:
            await browsed.page.route("**/api/robots/*/model", lambda route: route.fulfill(json=model))
        await browsed.page.goto(url)
        yield browsed


@contextmanager
def daemon_of(rig: ArmRig) -> Iterator[subprocess.Popen[str]]:
    """Run a rig's daemon."""
    with in_a_session("run", "-c", rig.config, stdout=None, stderr=None) as daemon:
        yield daemon


@asynccontextmanager
async def on_the_page(rig: ArmRig, view: str = "", **options: Any) -> AsyncIterator[Browsed]:
    """Look at a daemon's page, and let nothing be in the console at the end."""
    async with browsing_once_it_listens(rig, view, **options) as browsed:
        yield browsed
        assert browsed.errors == [], browsed.errors


@asynccontextmanager
async def browsing_once_it_listens(rig: ArmRig, view: str = "", **options: Any) -> AsyncIterator[Browsed]:
    await rig.until_listening()
    async with browsing(rig.url + view, **options) as browsed:
        await browsed.until_state("idle")
        yield browsed
