"""What is drawn in 3D: robots where forward kinematics and descriptions have them, ghosts, meshes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.image
import numpy as np
import pytest

from tests.daemon.http.chain import chain_of_all_types, payload_of
from tests.system.page import meshes
from tests.system.page.browser import (
    JOINTS,
    MESHES,
    MODEL,
    PLACES,
    SHARP,
    TURNED,
    browsing,
    on_the_page,
    part,
)

if TYPE_CHECKING:
    from tests.system.page.browser import Browsed, ManyRobots

pytestmark = pytest.mark.asyncio(loop_scope="session")
REACHING = {"base": 0.9, "shoulder": 1.3, "elbow": 1.2, "wrist1": 0.5, "wrist2": 0.4, "wrist3": 0.0}
FRAME = "{position: 'fixed', width: '480px', height: '320px'}"
PICTURES = Path(__file__).with_name("pictures")
ON_THE_GROUND = 0.2
"""Of 1, in any channel: more than this apart from the ground is no grid."""
SMALL = {"width": 900, "height": 640}
"""What is painted without a graphics processor costs by the pixel."""
VIEW = "document.querySelector('canvas').view"
BODIES = f"""(() => {{
    let count = 0;
    if (!{VIEW}?.robot) return count;
    {VIEW}.robot.group.traverse(one => {{ count += one.isMesh ? 1 : 0; }});
    return count;
}})()"""
SHAPES = f"""(() => {{
    const shapes = [];
    const Box = {VIEW}.taken.constructor;
    {VIEW}.robot.group.updateMatrixWorld(true);
    {VIEW}.robot.group.traverse(one => {{
        if (!one.isMesh) return;
        const box = new Box().setFromObject(one, true);
        const {{r, g, b}} = one.material.color;
        shapes.push({{size: box.max.clone().sub(box.min).toArray(), colour: [r, g, b]}});
    }});
    return shapes;
}})()"""
UNSEEN = f"""(() => {{
    const unseen = [];
    {VIEW}.robot.group.traverse(one => {{
        if (one.isLight || one.isCamera || one.material?.opacity < 1) unseen.push(one.type);
    }});
    return unseen;
}})()"""
"""What lights a robot or looks at it, and bodies that one looks through."""
MESH_REQUESTS = (
    "performance.getEntriesByType('resource').filter(one => one.name.includes('/stand/meshes/')).length"
)
FURTHEST = f"""(({{robot, camera}}) => {{
    let most = 0;
    robot.group.traverse(one => {{
        const place = one.getWorldPosition(camera.position.clone()).project(camera);
        if (one.isMesh) most = Math.max(most, Math.abs(place.x), Math.abs(place.y));
    }});
    return most;
}})({VIEW})"""


async def test_the_drawn_robot_stands_where_forward_kinematics_says(rig: ManyRobots) -> None:
    places = MODEL.forward_kinematics([REACHING[name] for name in JOINTS])
    reached = np.array([places[name][:3, 3] for name in ("elbow", "wrist1", "wrist3")])
    await rig.rest("arm", **dict.fromkeys(JOINTS, 0.0))
    sharp = {"in_3d": True, "device_scale_factor": SHARP, "viewport": SMALL}
    async with on_the_page(rig, "#/arm/joints", **sharp) as browsed:
        with part("the robot moves to where forward kinematics says"):
            before = await browsed.picture()
            columns, rows = (await browsed.pixels_of(reached)).T
            ground = before[4, before.shape[1] // 2]
            assert (np.abs(before[rows, columns] - ground).max(axis=1) < ON_THE_GROUND).all()
            await rig.ask("goto", joints=REACHING)
            await browsed.until_rests_at(REACHING)
            after = await browsed.picture()
            columns, rows = (await browsed.pixels_of(reached)).T  # the camera may have stepped back
            assert (np.abs(after[rows, columns] - ground).max(axis=1) > ON_THE_GROUND).all()
            await browsed.page.select_option(".follow select", "tool/end_effector")
            shown = "document.querySelector('.follow output')?.innerText.split(' ').map(parseFloat)"
            tool = places["tool/end_effector"][:3, 3].tolist()
            within = f"place.every((value, axis) => Math.abs(value - {tool}[axis]) < 0.005)"
            await browsed.until(f"(place => place && {within})({shown}.filter(Number.isFinite))")
        with part("meshes of every format are drawn where the description has them"):
            await browsed.page.evaluate("location.hash = '#/stand/joints'")
            await browsed.until(f"({BODIES}) === {len(MESHES)}")
            picture = await browsed.picture()
            columns, rows = (await browsed.pixels_of(PLACES)).T
            ground = picture[4, picture.shape[1] // 2]
            seen = np.abs(picture[rows, columns] - ground).max(axis=1)
            assert dict(zip(MESHES, seen > 0.2, strict=True)) == dict.fromkeys(MESHES, True)
            shapes = await browsed.page.evaluate(SHAPES)
            for name, shape in zip(MESHES, shapes, strict=True):
                assert shape["size"] == pytest.approx(meshes.SIZE, abs=1e-6), name
        with part("meshes have the colours of their files"):
            channels = [int(np.argmax(shape["colour"])) for shape in shapes]
            strongest = dict(zip(MESHES, channels, strict=True))
            assert (strongest["cube.dae"], strongest["y_up.dae"]) == (0, 1)  # red, green
        with part("each mesh is fetched once, whatever the theme"):
            await browsed.page.click("button:text('Auto')")
            await browsed.until(f"({BODIES}) === {len(MESHES)}")
            assert await browsed.page.evaluate(MESH_REQUESTS) == len(MESHES)
            for theme in ("Light", "Dark"):
                await browsed.page.click(f"button:text-is('{theme}')")


async def test_a_preview_is_drawn_on_the_ghost_while_the_robot_rests(rig: ManyRobots) -> None:
    await rig.rest("strict")
    async with on_the_page(rig, "#/strict/motions", in_3d=True, viewport=SMALL) as browsed:
        with part("the path of a preview goes with it"):
            await browsed.until_drawn()
            await browsed.page.select_option(".follow select", "tool/end_effector")
            await browsed.page.click("li.motion:has-text('wave') button:text('Preview')")
            await browsed.until(f"{VIEW}.pointCount > 1000")
            await browsed.page.click(".player button:text('Close')")
            await browsed.until(f"{VIEW}.pointCount < 100")
        with part("a preview is scrubbed on the ghost while the robot rests"):
            alone = await browsed.picture()
            await browsed.page.click("li.motion:has-text('wave') button:text('Preview')")
            await browsed.page.fill(".scrub", "3.2")
            await browsed.until_says("0:03.2 / 0:06.4")
            await browsed.until_says("shoulder: 93 % of its velocity limit")
            with_ghost = await browsed.picture()
            half = min(len(alone), len(with_ghost)) // 2
            assert (np.abs(with_ghost[:half] - alone[:half]).max(axis=2) > 0.05).sum() > 500
            await browsed.page.click("button.marker:text('raised')")
            await browsed.until_says("0:01.2 / 0:06.4")
            assert (await rig.see("state", "strict"))["state"] == "idle"
            await browsed.page.click("text=How to play")
            await browsed.page.select_option(".options select", "forever")  # a picture may take a second
            await browsed.page.click("button:text('Play it now')")
            await browsed.until_state("playing")
            await browsed.page.click("button.stop")


async def test_what_is_drawn_is_small_and_no_more_than_changes(rig: ManyRobots) -> None:
    await rig.rest()
    async with on_the_page(rig, "#/arm/joints", in_3d=True, viewport=SMALL) as browsed:
        page = browsed.page
        await browsed.until_drawn()
        with part("the first load is small"):
            loaded = await page.evaluate(
                "[...performance.getEntriesByType('resource'),"
                " ...performance.getEntriesByType('navigation')]"
                ".filter(one => !one.name.includes('/api/')).map(one => [one.name, one.encodedBodySize])"
            )
            assert len(loaded) > 4
            assert sum(size for _, size in loaded) < 250_000, loaded
        with part("the scale of errors has the unit of the joints"):
            await browsed.until("document.querySelector('.scene .legend')")
            assert await page.inner_text(".scene .legend .num") == "error 0 to 0.1 rad"
        with part("a robot that rests is not drawn again, with samples between frames"):
            await until_it_rests(browsed)
        with part("a robot that rests is not drawn again, with a sample with each frame"):
            # So that none is drawn whole before the next one comes.
            await page.evaluate(
                f"Object.defineProperty({VIEW}, 'intervalMs', {{get: () => 1e6, set: () => undefined}});"
                f"{VIEW}.dirty = true"
            )
            await until_it_rests(browsed)
        await page.reload()
        await browsed.until_drawn()
        for base in TURNED:
            with part(f"all of the robot stays in the picture, turned by {base:g} rad"):
                await rig.ask("goto", pose=f"turned {base:g}")
                await browsed.until_rests_at({"base": base})
                await browsed.picture()
                # It steps back for what it sees on the way, of which each run sees other frames.
                assert 0.1 < await page.evaluate(FURTHEST) < 0.97


async def until_it_rests(browsed: Browsed) -> None:
    for _ in range(20):  # on a busy machine the robot comes to rest, and the shapes come, only later
        drawn = await browsed.page.evaluate(f"{VIEW}.drawn")
        for _ in range(5):  # samples go on coming
            before = await browsed.page.evaluate_handle(f"{VIEW}.now")
            while await browsed.page.evaluate(f"before => {VIEW}.now === before", before):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        if await browsed.page.evaluate(f"{VIEW}.drawn") == drawn:
            return
    pytest.fail("it is drawn again and again")


async def test_meshes_that_cannot_be_read_are_named_and_the_rest_is_drawn(rig: ManyRobots) -> None:
    (rig.folder / "late.gltf").write_bytes(meshes.ELSEWHERE)
    damaged = "its file is damaged, holds no triangles or is not GLB; export it again"
    elsewhere = (
        "its buffer cube.bin is another file, which is not served; save it with its buffers in it, or as GLB"
    )
    async with on_the_page(rig, "#/ruin/joints", in_3d=True, viewport=SMALL) as browsed:
        await browsed.until_drawn()
        await browsed.until_says("3 meshes cannot be drawn")
        await browsed.page.click(".unseen summary")
        assert sorted(await browsed.page.locator(".unseen li").all_inner_texts()) == [
            f"rack: mesh 1 cannot be drawn; {damaged}",
            f"rack: mesh 2 cannot be drawn; {damaged}",
            f"rack: mesh 3 cannot be drawn; {elsewhere}",
        ]
        await browsed.until(f"({BODIES}) === 1")
        await browsed.page.click("a.back")
        await browsed.page.click(".tile a:text('arm')")
        await browsed.until_drawn()
        assert not await browsed.page.inner_text(".unseen")
        assert not await browsed.page.inner_text(".notices")


def turned(degrees: float, place: tuple[float, float, float], scale: float = 1.0) -> dict[str, Any]:
    """Return where and how large a shape is, turned about the x axis."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y, z = place
    pose = [1, 0, 0, x, 0, cos, -sin, y, 0, sin, cos, z, 0, 0, 0, 1]
    return {"pose": pose, "scale": [scale] * 3}


ARRANGED: dict[str, list[dict[str, Any]]] = {
    "stand": [],
    "tower": [turned(30.0 * number, (0.0, 0.0, 0.25 * number), 1.5) for number in range(len(MESHES))],
    "painted": [
        turned(90.0, (0.0, 0.35 * number, 0.2)) | {"colour": [0.2 * number, 0.4, 1.0 - 0.2 * number, 1.0]}
        for number in range(len(MESHES))
    ],
}


@pytest.mark.parametrize("name", ARRANGED)
async def test_robots_of_meshes_look_as_in_the_picture_that_is_kept(
    rig: ManyRobots, name: str, tmp_path: Path
) -> None:
    """Remove a picture, and run this, to have another; look at it before you keep it."""
    model = await rig.see("model", "stand")
    (rack,) = [link for link in model["links"] if link["name"] == "rack"]
    for shape, other in zip(rack["shapes"], ARRANGED[name], strict=False):
        shape.update(other)
    async with browsing(f"{rig.url}#/stand/joints", model=model, in_3d=True, viewport=SMALL) as browsed:
        await browsed.until_drawn()
        await browsed.until(f"({BODIES}) === {len(MESHES)}")
        assert await browsed.page.evaluate(UNSEEN) == []
        assert browsed.errors == []
        # Whatever the page has besides: the picture alone, and always as large.
        await browsed.page.evaluate("document.body.replaceChildren(document.querySelector('.scene'))")
        await browsed.page.evaluate(f"Object.assign(document.querySelector('.scene').style, {FRAME})")
        await browsed.until(f"{VIEW}.camera.aspect === 1.5")
        picture = await browsed.picture()
    height, width = (4 * (size // 4) for size in picture.shape[:2])
    small = picture[:height, :width].reshape(height // 4, 4, width // 4, 4, 3).mean(axis=(1, 3))
    kept = PICTURES / f"{name}.png"
    if not kept.exists():
        matplotlib.image.imsave(kept, small)
        pytest.fail(f"{kept} is new; look at it")
    expected = matplotlib.image.imread(kept)[..., :3]
    matplotlib.image.imsave(tmp_path / "seen.png", small)
    assert small.shape == expected.shape
    assert np.abs(small - expected).mean() < 0.01, tmp_path / "seen.png"
    assert np.quantile(np.abs(small - expected), 0.99) < 0.15, tmp_path / "seen.png"


async def test_every_type_of_joint_moves_as_in_the_daemon(rig: ManyRobots) -> None:
    """Joints that telemetry does not tell stay where the file has them."""
    random = np.random.default_rng(7)
    model = chain_of_all_types()
    posture = random.uniform(-2.0, 2.0, model.dof)
    names = [coordinate.name for joint in model.joints for coordinate in joint.coordinates]
    posture[names.index("follower")] = -0.5 * posture[names.index("revolute0")] + 0.1
    posture[names.index("untold")] = 0.3
    expected = model.forward_kinematics(posture)
    told = [name for name in names if name not in {"follower", "untold"}]
    payload = payload_of(model, told)
    async with browsing(f"{rig.url}#/arm/joints", model=payload, in_3d=True, viewport=SMALL) as browsed:
        await browsed.until_drawn()
        seen = await browsed.page.evaluate(
            """([posture, names]) => {
                const { kinematics } = document.querySelector("canvas").view;
                kinematics.move(posture);
                return Object.fromEntries(names.map(name => [name, [...kinematics.place(name)]]));
            }""",
            [[posture[names.index(name)] for name in told], list(expected)],
        )
        assert browsed.errors == []
    for name, pose in expected.items():
        assert seen[name] == pytest.approx(pose.ravel(), abs=1e-9), name
