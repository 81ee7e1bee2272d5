"""What somebody sees and does on the page."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests import ports
from tests.daemon.conftest import Mosquitto
from tests.daemon.programs import running, use
from tests.page.browser import JOINTS, MODEL, SHARP, browsing, browsing_once_it_listens, on_the_page

if TYPE_CHECKING:
    from tests.page.browser import ArmRig, Browsed

REACHING = {"base": 0.9, "shoulder": 1.3, "elbow": 1.2, "wrist1": 0.5, "wrist2": 0.4, "wrist3": 0.0}
QUEUED = "[...document.querySelectorAll('.queue li .name')].map(one => one.innerText).join()"
TIME_OF_MOTION = "parseFloat(document.querySelector('.player .time').innerText.split(':')[1])"
ON_THE_GROUND = 0.2
"""Of 1, in any channel: more than this apart from the ground is no grid."""


async def test_a_motion_is_played_watched_and_stopped(rig: ArmRig) -> None:
    async with on_the_page(rig, "#/arm/health", in_3d=True) as browsed:
        await browsed.page.click("button[aria-label='Play long']")
        await browsed.until_state("playing")
        await browsed.until("parseFloat(document.querySelector('.player .time').innerText.split(':')[1]) > 1")
        await browsed.page.click("button.stop")
        await browsed.until_state("idle")
        await browsed.until_says("long: CANCELED: stopped on request, softly, on the path")
        assert await browsed.page.inner_text(".player") == "No motion plays"


async def test_the_first_load_is_small(rig: ArmRig) -> None:
    async with on_the_page(rig, in_3d=True) as browsed:
        await browsed.until_drawn()
        loaded = await browsed.page.evaluate(
            "[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]"
            ".filter(one => !one.name.includes('/api/')).map(one => [one.name, one.encodedBodySize])"
        )
        assert len(loaded) > 4
        assert sum(size for _, size in loaded) < 250_000, loaded


async def test_an_emergency_stop_holds_the_robot_until_it_is_reset(rig: ArmRig) -> None:
    async with on_the_page(rig) as browsed:
        await browsed.page.click("button[aria-label='Play long']")
        await browsed.until_state("playing")
        assert await browsed.page.locator("button.reset").count() == 0
        await browsed.page.click("button.estop")
        await browsed.until_state("estopped")
        assert await browsed.page.is_disabled("button[aria-label='Play long']")
        await browsed.page.click("button.reset")
        await browsed.until_state("idle")
        assert await browsed.page.is_enabled("button[aria-label='Play long']")


async def test_why_nothing_is_drawn_in_3d_is_said(rig: ArmRig) -> None:
    said = "document.querySelector('.scene .words')?.innerText === '{} Everything else works.'"
    async with running(rig), browsing_once_it_listens(rig) as browsed:
        await browsed.until(said.format("This browser draws no 3D (WebGL is missing)."))
        await browsed.page.unroute_all()
        await browsed.page.route("**/view3d-*.js", lambda route: route.abort())
        await browsed.page.reload()
        await browsed.until(said.format("What draws in 3D did not arrive; load the page again."))


async def test_escape_stops_wherever_the_focus_is(rig: ArmRig) -> None:
    async with on_the_page(rig) as browsed:
        await browsed.page.click("button[aria-label='Play long']")
        await browsed.until_state("playing")
        await browsed.page.keyboard.press("/")
        assert await browsed.page.evaluate("document.activeElement.id") == "search"
        await browsed.page.keyboard.press("Escape")
        await browsed.until_state("idle")


async def test_a_motion_is_paused_sought_in_and_resumed(rig: ArmRig) -> None:
    async with on_the_page(rig) as browsed:
        await browsed.page.click("button[aria-label='Play long']")
        await browsed.until_state("playing")
        await browsed.page.click(".player button:text('Pause')")
        await browsed.until_state("paused")
        width = await browsed.page.evaluate("document.querySelector('.track').clientWidth")
        await browsed.page.click(".track", position={"x": 0.5 * width, "y": 8})
        # Both at once: the state and the time are told apart, and either may be the one before.
        is_paused = "document.querySelector('.state').dataset.state === 'paused'"
        await browsed.until(f"{is_paused} && Math.abs({TIME_OF_MOTION} - 10) < 0.2")
        await browsed.page.click(".player button:text('Resume')")
        await browsed.until(
            "parseFloat(document.querySelector('.player .time').innerText.split(':')[1]) > 10.5"
        )
        await browsed.page.select_option(".speed select", "0.5")
        await browsed.until("document.querySelector('.speed select').value === '0.5'")


async def test_a_second_motion_waits_instead_of_starting_over_the_first(rig: ArmRig) -> None:
    async with on_the_page(rig) as browsed:
        await browsed.page.click("button[aria-label='Play long']")
        await browsed.until_state("playing")
        await browsed.page.click("button[aria-label='Queue nod']")
        await browsed.until(f"{QUEUED} === 'nod'")
        assert await browsed.page.inner_text(".player .name") == "long"
        await browsed.page.click(".queue button:text('Clear')")
        await browsed.until("!document.querySelector('.queue')")


async def test_what_waits_is_put_earlier_and_taken_out(rig: ArmRig) -> None:
    async with on_the_page(rig) as browsed:
        await browsed.page.click("text=How to play")
        await browsed.page.select_option(".options select", "100")
        await browsed.page.click("button[aria-label='Play long']")
        await browsed.until_state("playing")
        await browsed.page.click("button[aria-label='Queue nod']")
        await browsed.page.click("button[aria-label='Queue wave']")
        await browsed.until(f"{QUEUED} === 'nod,wave'")
        async with browsing(rig) as other:
            await other.until(f"{QUEUED} === 'nod,wave'")
            await browsed.page.click("button[aria-label='wave earlier']")
            await browsed.until(f"{QUEUED} === 'wave,nod'")
            await other.until(f"{QUEUED} === 'wave,nod'")
        await browsed.page.click("button[aria-label='Take wave out of the queue']")
        await browsed.until(f"{QUEUED} === 'nod'")


async def test_the_drawn_robot_moves_and_stands_where_forward_kinematics_says(rig: ArmRig) -> None:
    places = MODEL.forward_kinematics([REACHING[name] for name in JOINTS])
    reached = np.array([places[name][:3, 3] for name in ("elbow", "wrist1", "wrist3")])
    async with on_the_page(rig, "#/arm/joints", in_3d=True, device_scale_factor=SHARP) as browsed:
        await browsed.until_drawn()
        before = await browsed.picture()
        columns, rows = (await browsed.pixels_of(reached)).T
        ground = before[4, before.shape[1] // 2]
        assert (np.abs(before[rows, columns] - ground).max(axis=1) < ON_THE_GROUND).all()
        await browsed.page.evaluate(
            "joints => fetch('/api/robots/arm/goto', {method: 'POST', "
            "headers: {'Content-Type': 'application/json'}, body: JSON.stringify({joints})})",
            REACHING,
        )
        await browsed.until_rests_at(REACHING)
        after = await browsed.picture()
        columns, rows = (await browsed.pixels_of(reached)).T  # the camera may have stepped back
        assert (np.abs(after[rows, columns] - ground).max(axis=1) > ON_THE_GROUND).all()
        await browsed.page.select_option(".follow select", "tool/end_effector")
        await browsed.until("document.querySelector('.follow output')")
        shown = (await browsed.page.inner_text(".follow output")).removesuffix(" m").split()
        assert np.array(shown, dtype=float) == pytest.approx(places["tool/end_effector"][:3, 3], abs=0.005)


@pytest.mark.parametrize("samples", ["between frames", "with each frame"])
async def test_a_robot_that_rests_is_not_drawn_again(rig: ArmRig, samples: str) -> None:
    view = "document.querySelector('canvas').view"
    async with on_the_page(rig, in_3d=True) as browsed:
        await browsed.until_drawn()
        if samples == "with each frame":  # so that none is drawn whole before the next one comes
            await browsed.page.evaluate(
                f"Object.defineProperty({view}, 'intervalMs', {{get: () => 1e6, set: () => undefined}});"
                f"{view}.dirty = true"
            )
        for _ in range(20):  # on a busy machine the robot comes to rest, and the shapes come, only later
            drawn = await browsed.page.evaluate(f"{view}.drawn")
            for _ in range(5):  # samples go on coming
                before = await browsed.page.evaluate_handle(f"{view}.now")
                while await browsed.page.evaluate(f"before => {view}.now === before", before):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            if await browsed.page.evaluate(f"{view}.drawn") == drawn:
                break
        else:
            pytest.fail("it is drawn again and again")


async def test_a_preview_is_scrubbed_on_the_ghost_while_the_robot_rests(rig: ArmRig) -> None:
    rig.limit("shoulder", velocity=0.336)  # where the motion is at 0.3125 rad/s at most
    async with on_the_page(rig, in_3d=True, device_scale_factor=SHARP) as browsed:
        await browsed.until_drawn()
        alone = await browsed.picture()
        await browsed.page.click("li.motion:has-text('wave') button:text('Preview')")
        await browsed.page.fill(".scrub", "3.2")
        await browsed.until_says("0:03.2 / 0:06.4")
        await browsed.until_says("shoulder: 93 % of its velocity limit")
        with_ghost = await browsed.picture()
        rows = min(len(alone), len(with_ghost)) // 2
        assert (np.abs(with_ghost[:rows] - alone[:rows]).max(axis=2) > 0.05).sum() > 500
        await browsed.page.click("button.marker:text('raised')")
        await browsed.until_says("0:01.2 / 0:06.4")
        assert await browsed.page.get_attribute(".state", "data-state") == "idle"
        await browsed.page.click("text=How to play")
        await browsed.page.select_option(".options select", "forever")  # a picture may take a second
        await browsed.page.click("button:text('Play it now')")
        await browsed.until_state("playing")


async def test_a_previewed_motion_is_played_as_how_to_play_says(rig: ArmRig) -> None:
    async with on_the_page(rig) as browsed:
        await browsed.page.click("text=How to play")
        await browsed.page.fill(".options input[type=number]", "0.5")
        await browsed.page.click("button[aria-label='Preview wave']")
        await browsed.page.click("button:text('Play it now')")
        await browsed.until_state("playing")
        assert await browsed.page.input_value(".player .speed select") == "0.5"


async def test_a_start_that_is_past_today_is_told_to_be_tomorrow(rig: ArmRig) -> None:
    async with on_the_page(rig) as browsed:
        await browsed.page.click("text=How to play")
        await browsed.page.fill(".options input[type=time]", "23:59:59")
        assert await browsed.page.inner_text(".options .tag") == "changed"
        await browsed.page.fill(".options input[type=time]", "00:00:00")
        assert await browsed.page.inner_text(".options .tag") == "starts tomorrow"
        await browsed.page.evaluate(
            "window.said = ''; new MutationObserver(() => { said += document.body.innerText; })"
            ".observe(document.body, {childList: true, subtree: true}); undefined"
        )
        await browsed.page.click("button[aria-label='Play nod']")
        await browsed.until("said.includes('nod starts at 00:00:00 tomorrow.')")  # it is shown for 4 s


async def test_an_appointed_start_is_seen_by_every_page(rig: ArmRig) -> None:
    async with on_the_page(rig) as browsed, browsing(rig) as other:
        await browsed.page.click("text=How to play")
        await browsed.page.fill(".options input[type=time]", "00:00:00")
        await browsed.page.click("button[aria-label='Play nod']")
        for page in (browsed, other):
            await page.until("document.querySelector('.player .appointed')")
            assert await page.page.inner_text(".player .appointed") == "starts at 00:00:00 tomorrow"


async def test_a_robot_that_is_not_there_is_told_instead_of_another_one(rig: ArmRig) -> None:
    async with on_the_page(rig) as browsed:
        await browsed.page.evaluate("location.hash = '#/nosuch/joints'")
        await browsed.until_says("No robot here is called nosuch. These are:")
        assert await browsed.page.locator("button.estop").inner_text() == "Emergency stop, all"
        await browsed.page.click(".tile a:text('arm')")
        await browsed.until_state("idle")
        await browsed.page.wait_for_selector(".unknown", state="detached")


async def test_who_uses_the_keyboard_keeps_the_place_after_a_command(rig: ArmRig) -> None:
    async with on_the_page(rig) as browsed:
        await browsed.page.focus("button[aria-label='Play long']")
        await browsed.page.keyboard.press("Enter")
        await browsed.until_state("playing")
        assert await browsed.page.evaluate("document.activeElement.ariaLabel") == "Queue long"


async def test_a_file_that_is_dropped_beside_its_place_leaves_the_page_and_its_stops(rig: ArmRig) -> None:
    drop = "new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: new DataTransfer()})"
    async with on_the_page(rig) as browsed:
        assert not await browsed.page.evaluate(f"document.querySelector('.scene').dispatchEvent({drop})")
        await browsed.until_says("The file was dropped beside the place for motions; nothing was sent.")


@pytest.mark.parametrize("base", [-2.5, 1.5, 2.8])
async def test_all_of_the_robot_stays_in_the_picture_until_somebody_moves_the_camera(
    rig: ArmRig, base: float
) -> None:
    rig.robot["poses"] = {"turned": {"base": base, "shoulder": 0.1}}
    rig.robot["approach"] = {"velocity": 2.0, "acceleration": 5.0, "jerk": 50.0}
    furthest = """(({robot, camera}) => {
        let most = 0;
        robot.group.traverse(one => {
            const place = one.getWorldPosition(camera.position.clone()).project(camera);
            if (one.isMesh) most = Math.max(most, Math.abs(place.x), Math.abs(place.y));
        });
        return most;
    })(document.querySelector('canvas').view)"""
    async with on_the_page(rig, "#/arm/joints", in_3d=True) as browsed:
        await browsed.until_drawn()
        await browsed.page.check("text=Jog")
        await browsed.page.click(".poses button:text('turned')")
        await browsed.until_rests_at({"base": base})
        await browsed.picture()
        assert 0.2 < await browsed.page.evaluate(furthest) < 0.97


async def test_the_scale_of_errors_has_the_unit_of_the_joints(rig: ArmRig) -> None:
    async with on_the_page(rig, in_3d=True) as browsed:
        await browsed.until("document.querySelector('.scene .legend')")
        assert await browsed.page.inner_text(".scene .legend .num") == "error 0 to 0.1 rad"


async def test_an_error_that_comes_near_the_tolerance_stays_in_its_row(rig: ArmRig) -> None:
    rig.robot["tolerances"] = {"goal": 0.001}
    async with on_the_page(rig, "#/arm/joints") as browsed:
        await browsed.page.click("button[aria-label='Play long']")
        position = "(cell => cell && getComputedStyle(cell).position)(document.querySelector('td.near'))"
        assert await browsed.until(position) == "static"


async def test_a_joint_is_jogged_only_where_that_is_switched_on(rig: ArmRig) -> None:
    async with on_the_page(rig, "#/arm/joints") as browsed:
        await browsed.page.click(".joints button:text('elbow')")
        assert await browsed.page.locator(".jog").count() == 0
        await browsed.page.check("text=Jog")
        await browsed.page.click("button[aria-label='elbow on by 0.05 rad']")
        await browsed.until_rests_at({"elbow": 0.05})
        await browsed.page.fill(".jog input[type=range]", "0.4")
        await browsed.until_rests_at({"elbow": 0.4})


async def test_a_pose_is_gone_to_where_jogging_is_switched_on(rig: ArmRig) -> None:
    rig.robot["poses"] = {"lean": {"elbow": 0.4}}
    async with on_the_page(rig, "#/arm/joints") as browsed:
        assert await browsed.page.locator(".poses").count() == 0
        await browsed.page.check("text=Jog")
        await browsed.page.click(".poses button:text('lean')")
        await browsed.until_rests_at({"elbow": 0.4})


async def test_a_lock_takes_all_controls_but_the_stops(rig: ArmRig) -> None:
    async with on_the_page(rig, "#/arm/health") as browsed:
        await browsed.page.click("button:text('Lock')")
        for control in (
            "button[aria-label='Play long']",
            "button:text('Switch on')",
            "button:text('Reload')",
        ):
            assert await browsed.page.is_disabled(control)
        assert await browsed.page.is_enabled("button.stop")
        assert await browsed.page.is_enabled("button.estop")


async def test_an_overview_has_a_tile_for_each_robot_and_a_link_names_robot_and_view(rig: ArmRig) -> None:
    rig.others["leg"] = {
        "driver": {"type": "sim"},
        "joints": {"knee": {"limits": {"lower": -1, "upper": 1, "velocity": 1}}},
    }
    async with on_the_page(rig, "#/leg/joints", in_3d=True) as browsed:
        assert await browsed.page.inner_text("h1") == "leg"
        await browsed.until_says("knee, the last minute")
        await browsed.page.click("a[aria-label='All robots']")
        await browsed.until("document.querySelectorAll('.tile').length === 2")
        await browsed.page.click(".tile a:text('arm')")
        await browsed.until("location.hash === '#/arm/motions'")
        await browsed.until_says("stretch")


async def test_a_daemon_that_is_killed_is_told_and_found_again(rig: ArmRig) -> None:
    async with running(rig) as daemon, browsing_once_it_listens(rig, "#/arm/health", in_3d=True) as browsed:
        await browsed.page.click("button[aria-label='Play long']")
        await browsed.until_state("playing")
        await browsed.until(f"({TIME_OF_MOTION}) > 1")
        await daemon.kill()
        await browsed.until_says("Connection lost")
        await browsed.until_state("unknown")
        # How long it is lost stands beside it: what is read aloud does not change twice a second.
        alert = await browsed.page.inner_text("[role=alert]")
        assert alert == "Connection lost; trying again"
        assert await browsed.page.is_disabled("button[aria-label='Queue long']")
        await browsed.page.click("button.stop")
        await browsed.until_says("The robot was not told to stop. Use its own switch.")
        async with running(rig):
            await browsed.until_state("idle")
            await browsed.until_says(
                " when last heard of, and the daemon has been started anew, which cuts off"
            )
            said = await browsed.page.locator(".log .message:has-text('no result')").inner_text()
            assert re.fullmatch(
                r"long: no result; it was at 0:\d\d\.\d when last heard of, "
                "and the daemon has been started anew, which cuts off what plays",
                said,
            )
            await browsed.page.click("button[aria-label='Play long']")
            await browsed.until_state("playing")


async def test_a_broker_that_goes_is_told_and_motions_play_on_while_somebody_watches(rig: ArmRig) -> None:
    broker = Mosquitto(ports.free_port(), rig.folder)
    use(rig, broker.settings, stop_when_lost_s=3.5)  # a beat of the page may come two seconds late
    await broker.start()
    try:
        async with on_the_page(rig, "#/arm/health") as browsed:
            await browsed.until("document.querySelector('.connection').innerText.includes('alone')")
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
        async with browsing(rig) as browsed:
            await browsed.page.fill("input[name=token]", "open barley")
            await browsed.page.keyboard.press("Enter")
            await browsed.until_says("the token is wrong; it is the first line of http.token_file")
            assert "arm" not in (await browsed.page.inner_text("body")).split()
            await browsed.page.fill("input[name=token]", "open sesame, please")
            await browsed.page.keyboard.press("Enter")
            await browsed.until_state("idle")
            await browsed.page.reload()
            await browsed.until_state("idle")


async def test_a_phone_has_stop_within_reach_of_the_thumb_and_the_emergency_stop_far_from_it(
    rig: ArmRig,
) -> None:
    async with running(rig), browsing_once_it_listens(rig, in_3d=True, device="Pixel 7") as browsed:
        stop = await browsed.page.locator("button.stop").bounding_box()
        estop = await browsed.page.locator("button.estop").bounding_box()
        size = browsed.page.viewport_size
        assert stop is not None
        assert estop is not None
        assert size is not None
        assert stop["height"] >= 48
        assert stop["width"] > 0.9 * size["width"]
        assert stop["y"] > size["height"] - 100
        assert estop["y"] + estop["height"] < 100
        for view in ("motions", "joints", "health"):
            await browsed.page.click(f".views a[href='#/arm/{view}']")
            await browsed.until(f"document.querySelector('.panel.{view}')")
            assert await browsed.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        await browsed.page.click(".views a[href='#/arm/motions']")
        await browsed.page.tap("button[aria-label='Play long']")
        await browsed.until_state("playing")
        await browsed.page.tap("button.stop")
        await browsed.until_state("idle")
        assert browsed.errors == []


AXE = Path(__file__).parents[2] / "page/node_modules/axe-core/axe.min.js"


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_axe_finds_nothing_serious(rig: ArmRig, colours: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed")
    (rig.folder / "motions/broken.seq").write_text("type: CompositeSeq\n")
    async with running(rig), browsing_once_it_listens(rig, in_3d=True, color_scheme=colours) as browsed:
        await browsed.page.set_viewport_size({"width": 1000, "height": 800})
        for view in ("motions", "joints", "health"):
            await browsed.page.click(f".views a[href='#/arm/{view}']")
            await browsed.until(f"document.querySelector('.panel.{view}')")
            if view == "joints":
                await browsed.page.check("text=Jog")
            assert await serious_findings(browsed) == [], view
        await browsed.page.click(".views a[href='#/arm/motions']")
        await browsed.page.click("li.motion:has-text('wave') button:text('Preview')")
        await browsed.until("document.querySelector('.player.preview')")
        assert await serious_findings(browsed) == []
        await browsed.page.click("button[aria-label='Play long']")
        await browsed.until_state("playing")
        await browsed.page.click(".player button:text('Close')")
        assert await serious_findings(browsed) == []


async def serious_findings(browsed: Browsed) -> list[str]:
    """Return what axe-core calls serious or critical, and where."""
    await browsed.page.evaluate(AXE.read_text())
    found = await browsed.page.evaluate("axe.run()")
    return [
        f"{one['id']}: {node['target']}: {node['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]
