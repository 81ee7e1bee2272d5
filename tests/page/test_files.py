"""Files on the page: motions that are uploaded and deleted, and meshes that are drawn."""

from __future__ import annotations

import base64
import io
import json
import struct
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.daemon.rig import sweep, write_seq
from tests.page.browser import JOINTS, SHARP, on_the_page

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tests.page.browser import ArmRig

BODIES = """(() => {
    let count = 0;
    document.querySelector('canvas').view.robot.group.traverse(one => { count += one.isMesh ? 1 : 0; });
    return count;
})()"""
HALF = 0.15
CORNERS = HALF * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype="<f4")
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = np.array([(a, b, c) for a, *rest in SIDES for b, c in pairwise(rest)], dtype="<u2")
"""A cube of 0.3 m."""


# -- motions ------------------------------------------------------------------------------------------------


async def test_a_motion_is_uploaded_checked_played_and_deleted(rig: ArmRig) -> None:
    (rig.folder / "new").mkdir()
    rig.robot["motions"] = ["motions", {"folder": "new", "upload": True}]
    write_seq(rig.folder / "fine.seq", sweep(2.0, joints=6), JOINTS, 200)
    write_seq(rig.folder / "far.seq", 9 * sweep(0.5, joints=6), JOINTS, 200)
    async with on_the_page(rig, "#/arm/health") as browsed:
        page = browsed.page
        await page.set_input_files(".upload input", [rig.folder / "fine.seq", rig.folder / "far.seq"])
        await browsed.until_says("fine.seq: taken")
        await browsed.until_says("far.seq: refused")
        assert "far: 0:00.5, 6 joints, cannot be played" in await page.inner_text(".upload")
        assert [file.name for file in (rig.folder / "new").iterdir()] == ["fine.seq"]
        await page.click("button[aria-label='Play fine']")
        await browsed.until_says("fine: SUCCESSFUL")
        await page.click("button[aria-label='Delete fine']")
        assert (rig.folder / "new/fine.seq").exists()
        await page.click("button:text('Delete the file')")
        names = "[...document.querySelectorAll('li.motion .name')].map(one => one.innerText)"
        await browsed.until(f"!{names}.includes('fine')")
        assert not (rig.folder / "new/fine.seq").exists()
        assert await browsed.page.evaluate("document.activeElement.id") == "motions"
        (refused,) = browsed.errors  # the browser tells of every refusal
        assert "409" in refused
        browsed.errors.clear()


async def test_every_motion_that_can_be_played_shows_its_curves(rig: ArmRig) -> None:
    (rig.folder / "motions/broken.seq").write_text("type: CompositeSeq\n")
    async with on_the_page(rig) as browsed:
        drawn = "[...document.querySelectorAll('.thumbnail')].filter(one => one.naturalWidth).length"
        await browsed.until(f"document.querySelector('.refused') && {drawn} > 2")
        await browsed.until(f"{drawn} === document.querySelectorAll('li.motion:not(.refused)').length")
        assert await browsed.page.locator("li.refused .thumbnail").count() == 0


# -- meshes -------------------------------------------------------------------------------------------------


def stl() -> bytes:
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in CORNERS[list(corners)].tolist())
        + "endloop\nendfacet\n"
        for corners in TRIANGLES
    )
    return f"solid cube\n{facets}endsolid cube\n".encode()


def obj() -> bytes:
    vertices = [f"v {x} {y} {z}" for x, y, z in CORNERS.tolist()]
    faces = [f"f {a} {b} {c}" for a, b, c in (TRIANGLES + 1).tolist()]
    return "\n".join([*vertices, *faces, ""]).encode()


def dae() -> bytes:
    numbers = " ".join(map(str, CORNERS.ravel().tolist()))
    corners = " ".join(map(str, TRIANGLES.ravel().tolist()))
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="cube"><mesh>
<source id="at"><float_array id="numbers" count="24">{numbers}</float_array><technique_common>
<accessor source="#numbers" count="8" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="corners"><input semantic="POSITION" source="#at"/></vertices>
<triangles count="12"><input semantic="VERTEX" source="#corners" offset="0"/><p>{corners}</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="scene"><node><instance_geometry url="#cube"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#scene"/></scene></COLLADA>""".encode()


def gltf(*, is_binary: bool) -> bytes:
    """Return the cube with a picture on it, whose numbers and picture are in the file."""
    import matplotlib.image  # noqa: PLC0415 - a fifth of what every worker would load to collect the tests

    picture = io.BytesIO()
    matplotlib.image.imsave(picture, np.ones((2, 2, 3)), format="png")
    parts = [CORNERS.tobytes(), TRIANGLES.tobytes(), np.zeros((8, 2), "<f4").tobytes(), picture.getvalue()]
    parts = [part + bytes(-len(part) % 4) for part in parts]
    data = b"".join(parts)
    begins = np.cumsum([0, *map(len, parts)]).tolist()
    buffer: dict[str, Any] = {"byteLength": len(data)}
    if not is_binary:
        buffer |= {"uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}
    low, high = CORNERS.min(axis=0).tolist(), CORNERS.max(axis=0).tolist()
    primitive = {"attributes": {"POSITION": 0, "TEXCOORD_0": 2}, "indices": 1, "material": 0}
    scene = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [primitive]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}],
        "images": [{"bufferView": 3, "mimeType": "image/png"}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3", "min": low, "max": high},
            {"bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR"},
            {"bufferView": 2, "componentType": 5126, "count": 8, "type": "VEC2"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": begin, "byteLength": len(part)}
            for begin, part in zip(begins, parts, strict=False)
        ],
        "buffers": [buffer],
    }  # fmt: skip
    text = json.dumps(scene).encode()
    if not is_binary:
        return text
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


@cache
def meshes() -> dict[str, bytes]:
    """Return the cube by the suffixes of the formats that are drawn."""
    return {
        "stl": stl(),
        "obj": obj(),
        "dae": dae(),
        "glb": gltf(is_binary=True),
        "gltf": gltf(is_binary=False),
    }


def describe(folder: Path, places: NDArray[np.float64]) -> None:
    """Write a description with a mesh at each place."""
    visuals = []
    for (suffix, content), (x, y, z) in zip(meshes().items(), places.tolist(), strict=True):
        (folder / f"cube.{suffix}").write_bytes(content)
        mesh = f"<mesh><uri>cube.{suffix}</uri></mesh>"
        pose = f"<pose>{x} {y} {z} 0 0 0</pose>"
        visuals.append(f'<visual name="{suffix}">{pose}<geometry>{mesh}</geometry></visual>')
    (folder / "stand.sdf").write_text(
        '<sdf version="1.10"><model name="stand"><link name="base"/>'
        f'<link name="rack">{"".join(visuals)}</link><joint name="turn" type="revolute"><parent>base</parent>'
        "<child>rack</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper>"
        "<velocity>1</velocity></limit></axis></joint></model></sdf>"
    )


async def test_meshes_of_every_format_are_drawn_where_the_description_has_them(rig: ArmRig) -> None:
    places = np.array([(0.0, 0.5 * k - 1.0, 0.5) for k in range(len(meshes()))])
    describe(rig.folder, places)
    rig.others["stand"] = {"model": "stand.sdf", "driver": {"type": "sim"}}
    async with on_the_page(rig, "#/stand/joints", in_3d=True, device_scale_factor=SHARP) as browsed:
        await browsed.until_drawn()
        await browsed.until(f"({BODIES}) === {len(meshes())}")
        columns, rows = (await browsed.pixels_of(places)).T
        picture = await browsed.picture()
        ground = picture[4, picture.shape[1] // 2]
        seen = np.abs(picture[rows, columns] - ground).max(axis=1)
        assert dict(zip(meshes(), seen > 0.2, strict=True)) == dict.fromkeys(meshes(), True)


@pytest.mark.parametrize("content", [b"", b"solid"])
async def test_a_mesh_that_cannot_be_read_is_told_and_the_rest_is_drawn(rig: ArmRig, content: bytes) -> None:
    places = np.array([(0.0, 0.5 * k - 1.0, 0.5) for k in range(len(meshes()))])
    describe(rig.folder, places)
    (rig.folder / "cube.glb").write_bytes(content)
    rig.others["stand"] = {"model": "stand.sdf", "driver": {"type": "sim"}}
    async with on_the_page(rig, "#/stand/joints", in_3d=True) as browsed:
        await browsed.until_drawn()
        await browsed.until_says("1 mesh cannot be drawn")
        await browsed.page.click(".unseen summary")
        assert await browsed.page.inner_text(".unseen li") == (
            "rack: mesh 3 cannot be drawn; "
            "its file is damaged, holds no triangles or is not GLB; export it anew"
        )
        await browsed.until(f"({BODIES}) === {len(meshes()) - 1}")
        await browsed.page.click("a.back")
        await browsed.page.click(".tile a:text('arm')")
        await browsed.until_drawn()
        assert not await browsed.page.inner_text(".unseen")
        assert not await browsed.page.inner_text(".notices")


async def test_a_gltf_whose_buffers_went_elsewhere_is_told_in_words(rig: ArmRig) -> None:
    describe(rig.folder, np.zeros((len(meshes()), 3)))
    rig.others["stand"] = {"model": "stand.sdf", "driver": {"type": "sim"}}
    async with on_the_page(rig, "#/arm/motions", in_3d=True) as browsed:
        await browsed.until_drawn()
        (rig.folder / "cube.gltf").write_text(
            '{"asset": {"version": "2.0"}, "buffers": [{"uri": "cube.bin"}]}'
        )
        await browsed.page.click("a.back")
        await browsed.page.click(".tile a:text('stand')")
        await browsed.until_says("1 mesh cannot be drawn")
        await browsed.page.click(".unseen summary")
        assert await browsed.page.inner_text(".unseen li") == (
            "rack: mesh 4 cannot be drawn; its buffer cube.bin is another file, which is not served; "
            "save it with its buffers in it, or as GLB"
        )
