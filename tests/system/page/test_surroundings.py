"""What stands around a robot, what it touches, and where a motion comes nearest to something, as drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import numpy as np
import orjson
import pytest

from motiond.daemon.http.live.frames import LENGTH, described_arrays
from tests.daemon.rig import write_seq
from tests.system.page.browser import JOINTS, SHARP, ArmRig, daemon_of, on_the_page, part

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tests.system.page.browser import Browsed, ManyRobots

pytestmark = pytest.mark.asyncio(loop_scope="session")
SHARPLY = {"in_3d": True, "device_scale_factor": SHARP, "viewport": {"width": 900, "height": 640}}
VIEW = "document.querySelector('canvas').view"
BLUE = [0.1, 0.2, 0.9, 1.0]


def shape(name: str, role: str, kind: str, place: tuple[float, float, float], *size: float) -> dict[str, Any]:
    x, y, z = place
    pose = [1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, z, 0, 0, 0, 1]
    colour = BLUE if role == "scene" else None
    return {
        "name": name, "role": role, "kind": kind, "pose": pose, "size": size, "colour": colour,
        "mesh": None, "format": None, "scale": [1, 1, 1],
    }  # fmt: skip


TOUCH = f"""contacts => {{
    const view = {VIEW}, {{ take }} = Object.getPrototypeOf(view);
    view.take = sample => take.call(view, {{ ...sample, contacts }});
    view.take(view.now);
}}"""
"""Lets each sample have contacts."""
ARROWS = f"{VIEW}.arrows.group.children.filter(one => one.visible).map(one => one.position.toArray())"
AROUND = [
    shape("floor", "floor", "plane", (0.0, 0.0, 0.0), 0.0, 0.0),
    shape("table", "scene", "box", (0.5, 0.3, 0.1), 0.2, 0.2, 0.2),
    shape("door", "forbidden", "box", (0.1, 0.4, 0.3), 0.2, 0.2, 0.2),
    shape("cell", "allowed", "box", (0.0, 0.0, 0.5), 2.0, 2.0, 1.0),
]
TOUCHING = [{"bodies": ["floor", "base"], "position": [0.2, -0.25, 0.0], "force": [0.0, 0.0, 80.0]}]


async def seen_at(browsed: Browsed, *places: tuple[float, float, float]) -> NDArray[np.float64]:
    """Return the colours that are drawn at places, shape (places, 3)."""
    picture = await browsed.picture()
    columns, rows = (await browsed.pixels_of(np.array(places))).T
    colours: NDArray[np.float64] = picture[rows, columns]
    return colours


async def test_the_page_draws_what_stands_around_and_what_touches(rig: ManyRobots) -> None:
    await rig.rest()
    model = await rig.see("model", "arm")
    assert model["surroundings"] == []
    places = (0.5, 0.3, 0.2), (0.1, 0.4, 0.3), (0.2, -0.25, 0.1)
    async with on_the_page(rig, "#/arm/joints", model=model, **SHARPLY) as browsed:
        await browsed.until_drawn()
        without = await seen_at(browsed, *places)
    model["surroundings"] = AROUND
    async with on_the_page(rig, "#/arm/joints", model=model, **SHARPLY) as browsed:
        await browsed.until_drawn()
        table, door, nothing = await seen_at(browsed, *places)
        with part("a thing has its colour, a forbidden place is red, and one sees through it"):
            assert table[2] > table[0] + 0.2
            assert door[0] > without[1][0] + 0.05
        with part("an arrow stands where something touches, for as long as it does"):
            await browsed.page.evaluate(TOUCH, TOUCHING)
            (arrow,) = await seen_at(browsed, places[2])
            assert np.abs(arrow - nothing).max() > 0.3
            await browsed.page.evaluate(TOUCH, [])
            (gone,) = await seen_at(browsed, places[2])
            assert np.abs(gone - nothing).max() < 0.1


NEAREST = {
    "links": ["link1", "tool"],
    "distance_m": 0.0123,
    "margin_m": 0.005,
    "time": 1.2,
    "points": [[0.2, -0.1, 0.2], [0.2, -0.1, 0.4]],
}
STANDING_OUT = f"""[...{VIEW}.ghost.ghosts].flatMap(
    ([link, looks]) => looks.some(look => look.opacity > 0.5) ? [link] : []
)"""


async def test_a_preview_shows_where_the_motion_comes_nearest_before_anything_moves(rig: ManyRobots) -> None:
    await rig.rest()
    async with aiohttp.ClientSession() as session:
        url = f"{rig.url}api/robots/arm/motions/wave/plan"
        async with session.get(url) as response:
            (length,) = LENGTH.unpack_from(body := await response.read())
    about, rows = orjson.loads(body[4 : 4 + length]), np.frombuffer(body, "<f4", offset=4 + length)
    plan = described_arrays({**about, "nearest": NEAREST}, rows)
    async with on_the_page(rig, "#/arm/motions", **SHARPLY) as browsed:
        page = browsed.page
        await page.route("**/motions/wave/plan", lambda route: route.fulfill(body=plan))
        await browsed.until_drawn()
        between = (0.2, -0.1, 0.3)
        (without,) = await seen_at(browsed, between)
        await page.click("li.motion:has-text('wave') button:text('Preview')")
        await page.click(".nearest button:has-text('link1 and tool come within 12.3 mm')")
        await browsed.until(f"{STANDING_OUT}.join() === 'link1,tool'")
        await browsed.until_says("0:01.2 / 0:06.4")
        (line,) = await seen_at(browsed, between)
        assert np.abs(line - without).max() > 0.3
        await page.click(".player button:text('Close')")
        await browsed.until(f"{STANDING_OUT}.length === 0")
        (gone,) = await seen_at(browsed, between)
        assert np.abs(gone - without).max() < 0.1
        assert (await rig.see("state"))["state"] == "idle"


CELL = """<mujoco>
  <worldbody>
    <geom name="table" type="box" size="0.1 0.1 0.1" pos="0.5 0.3 0.1" rgba="0.1 0.2 0.9 1"/>
  </worldbody>
</mujoco>
"""


async def test_an_arm_that_falls_on_the_floor_shows_where_and_how_hard(tmp_path: Path) -> None:
    rig = ArmRig(tmp_path)
    (tmp_path / "cell.xml").write_text(CELL)
    physics = {"type": "sim", "physics": True, "floor": True, "scene": "cell.xml"}
    rig.robot |= {"driver": physics, "idle_rate_hz": 50.0}
    with daemon_of(rig):
        async with on_the_page(rig, "#/arm/joints", **SHARPLY) as browsed:
            await browsed.until_drawn()
            with part("without torque it falls"):
                said = "document.querySelector('.touches')?.innerText"
                await browsed.until(rf"/floor.* [0-9.]+ N/.test({said})")
            with part("arrows stand where it touches"):
                points = await browsed.until(f"{ARROWS}.length && {ARROWS}")
                assert np.abs(np.array(points)[:, 2]).min() < 0.02
            with part("the table of the scene is drawn where it is"):
                (table,) = await seen_at(browsed, (0.5, 0.3, 0.2))
                assert table[2] > table[0] + 0.2


async def test_what_would_collide_is_shown_before_anything_moves(tmp_path: Path) -> None:
    rig = ArmRig(tmp_path)
    press = {"name": "press", "box": [0.3, 0.3, 0.3], "position": [0.0, 0.4, 0.15]}
    cell = {"name": "cell", "kind": "allowed", "box": [2.4, 2.4, 2.4], "position": [0.0, 0.0, 0.5]}
    rig.robot["collision"] = {"workspace": [press, cell]}
    turn = np.zeros((100, len(JOINTS)))
    turn[:, 0] = 1.0 - np.cos(np.linspace(0.0, np.pi, 100))
    write_seq(tmp_path / "motions" / "turn.seq", turn, JOINTS, 50)
    with daemon_of(rig):
        async with on_the_page(rig, "#/arm/motions", **SHARPLY) as browsed:
            page = browsed.page
            await browsed.until_drawn()
            with part("the workspace is drawn"):
                roles = await page.evaluate(f"{VIEW}.model.surroundings.map(one => [one.role, one.name])")
                assert roles == [["forbidden", "press"], ["allowed", "cell"]]
            with part("a motion that is refused shows where"):
                await browsed.until_says("'press'")
                await page.click("button:text('Where')")
                await browsed.until(f"{VIEW}.gap.group.visible")
                (links,) = [
                    motion["nearest"]["links"]
                    for motion in (await rig.see("motions"))["motions"]
                    if motion["name"] == "turn"
                ]
                assert "press" in links
                standing_out = [link for link in links if link != "press"]
                await browsed.until(f"{STANDING_OUT}.join() === '{standing_out[0]}'")
                await browsed.until_drawn()
                await page.click("button:text('Where')")
                await browsed.until(f"!{VIEW}.gap.group.visible")
            with part("the preview of one that is not has its nearest pair"):
                await page.click("li.motion:has-text('wave') button:text('Preview')")
                await browsed.until("/come within .* mm/.test(document.querySelector('.nearest')?.innerText)")
                await browsed.until(f"{VIEW}.gap.group.visible")
                await page.click(".nearest button")
                await browsed.until_drawn()
            assert (await rig.see("state"))["state"] == "idle"
