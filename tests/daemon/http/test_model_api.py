"""A robot's looks by HTTP: its model holds all that a drawing needs, and meshes go by number alone."""

from __future__ import annotations

import os
import tracemalloc
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
import pytest
from aiohttp import ClientPayloadError

from motiond.daemon.http.routes.models import looks_of
from motiond.daemon.physics import Surrounding
from motiond.formats import (
    Coordinate,
    Frame,
    Joint,
    JointType,
    Link,
    Mesh,
    Mimic,
    RobotModel,
    Shape,
    hrdf,
    sdf,
    skel,
    urdf,
)
from motiond.formats.io import Source
from motiond.formats.model import derived_shapes
from tests.daemon.conftest import Robots, known_hub
from tests.daemon.http import conftest
from tests.daemon.http.chain import chain_of_all_types

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from motiond.daemon.config.http import HttpSettings
    from motiond.daemon.http.routes.models import Models
    from motiond.formats.arrays import Floats
    from tests.daemon.http.conftest import Site

SIX_AXIS = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"


# -- the model ----------------------------------------------------------------------------------------------


def body_called_world() -> RobotModel:
    text = """<skel><world><skeleton name="s"><body name="world"><transformation>1 0 0 0 0 0</transformation>
        </body><body name="b"/><joint type="weld" name="j"><parent>world</parent><child>b</child></joint>
        </skeleton></world></skel>"""
    return skel.load(text.encode(), Source(Path("s.skel")))[0]


def of_urdf(name: str) -> RobotModel:
    """Return a robot of URDF; the root of `picker` is a link called `world`."""
    path = SIX_AXIS.parents[2] / "tests" / "files" / "good" / "urdf" / f"{name}.urdf"
    return urdf.load(path.read_bytes(), Source(path))[0]


def six_axis() -> RobotModel:
    return hrdf.load(SIX_AXIS.read_bytes(), Source(SIX_AXIS))[0]


def rebuilt(payload: Mapping[str, Any]) -> RobotModel:
    """Return a robot that is made of what clients get."""
    joints = tuple(
        Joint(
            one["name"],
            one["type"],
            one["parent"],
            one["child"],
            np.array(one["axes"]).reshape(-1, 3),
            tuple(Coordinate(coordinate["name"]) for coordinate in one["coordinates"]),
            one["mimic"] and Mimic(*one["mimic"].values()),
            parent_pose=matrix(one["parent_pose"]),
            child_pose=matrix(one["child_pose"]),
            gear_ratio=one["gear_ratio"],
            pitch_m=one["pitch_m"],
            closes_loop=one["closes_loop"],
        )
        for one in payload["joints"]
    )
    links = tuple(
        Link(one["name"], attached_to=one["attached_to"], pose=matrix(one["pose"]))
        for one in payload["links"]
    )
    frames = tuple(
        Frame(one["name"], one["kind"], one["attached_to"], matrix(one["pose"])) for one in payload["frames"]
    )
    base_pose = matrix(payload["base_pose"])
    return RobotModel(payload["name"], "", "", joints, links, frames, "", base_pose=base_pose)


def matrix(numbers: list[float]) -> Floats:
    return np.reshape(numbers, (4, 4))


@pytest.mark.parametrize(
    "make",
    [chain_of_all_types, body_called_world, six_axis, partial(of_urdf, "picker"), partial(of_urdf, "float")],
)
def test_what_clients_get_holds_the_whole_kinematics(make: Callable[[], RobotModel]) -> None:
    robot = make()
    payload = looks_of(robot, ()).payload
    for q in np.random.default_rng(1).uniform(-3, 3, (20, robot.dof)):
        places = rebuilt(payload).forward_kinematics(q)
        for name, pose in robot.forward_kinematics(q).items():
            np.testing.assert_allclose(places[name], pose, atol=1e-9, err_msg=name)


def test_every_type_of_joint_is_among_those_that_are_compared() -> None:
    assert {joint.type for joint in chain_of_all_types().joints} == set(get_args(JointType))


MODEL = """<sdf version="1.11"><model name="crane">
    <link name="mast">
      <visual name="v"><pose>0 0 1 0 0 0</pose><geometry><cylinder><radius>0.1</radius><length>2</length>
        </cylinder></geometry><material><diffuse>1 0.5 0 1</diffuse></material></visual>
      <visual name="w"><geometry><mesh><uri>meshes/mast.stl</uri><scale>0.001 0.001 0.001</scale></mesh>
        </geometry></visual>
      <collision name="c"><geometry><box/></geometry></collision></link>
    <link name="boom">
      <visual name="v"><geometry><mesh><uri>meshes/boom.glb</uri></mesh></geometry></visual>
      <visual name="w"><geometry><mesh><uri>meshes/mast.stl</uri></mesh></geometry></visual></link>
    <link name="hook"><collision name="c"><geometry><sphere><radius>0.2</radius></sphere></geometry>
      </collision></link>
    <joint name="slew" type="revolute"><parent>mast</parent><child>boom</child>
      <axis><xyz>0 0 1</xyz></axis></joint>
    <joint name="hoist" type="prismatic"><parent>boom</parent><child>hook</child><axis><xyz>0 0 1</xyz>
      <mimic joint="slew"><multiplier>2</multiplier><offset>0.5</offset><reference>0</reference></mimic>
    </axis></joint></model></sdf>"""


def crane(folder: Path) -> RobotModel:
    """Read a crane whose meshes lie in its folder."""
    (folder / "meshes").mkdir()
    (folder / "meshes" / "mast.stl").write_bytes(b"solid mast")
    (folder / "meshes" / "boom.glb").write_bytes(b"glTF")
    (folder / "crane.sdf").write_text(MODEL)
    (model,) = sdf.load(MODEL.encode(), Source(folder / "crane.sdf", (folder,)))
    return model


def test_a_model_tells_what_stands_around_with_the_numbers_of_its_meshes(tmp_path: Path) -> None:
    robot = crane(tmp_path)
    file = Mesh(tmp_path / "rock.obj", "obj")
    rock = Shape("mesh", mesh=file, scale=(2.0, 2.0, 2.0), colour=(0.5, 0.5, 0.5, 1.0), role="collision")
    floor = Shape("plane", (1000.0, 1000.0), role="collision")
    looks = looks_of(robot, (), [Surrounding("floor", "floor", floor), Surrounding("scene", "rock", rock)])
    assert [(one["role"], one["name"], one["kind"]) for one in looks.payload["surroundings"]] == [
        ("floor", "floor", "plane"),
        ("scene", "rock", "mesh"),
    ]
    shown = looks.payload["surroundings"][1]
    assert looks.meshes[shown["mesh"]] == file
    assert (shown["format"], shown["scale"], shown["colour"]) == ("obj", [2, 2, 2], [0.5, 0.5, 0.5, 1.0])
    assert shown["pose"] == np.eye(4).ravel().tolist()
    assert looks_of(robot, ()).payload["surroundings"] == []
    assert looks.meshes[:-1] == looks_of(robot, ()).meshes


def test_a_model_tells_shapes_with_the_numbers_of_their_meshes(tmp_path: Path) -> None:
    model = looks_of(crane(tmp_path), ()).payload
    mast, boom, hook = model["links"]
    identity = np.eye(4).ravel().tolist()
    up = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1]
    assert (model["name"], model["derived"], model["base_pose"]) == ("crane", False, identity)
    assert mast["shapes"] == [
        {
            "kind": "cylinder",
            "pose": up,
            "size": [0.1, 2],
            "colour": [1, 0.5, 0, 1],
            "mesh": None,
            "format": None,
            "scale": [1, 1, 1],
        },
        {
            "kind": "mesh",
            "pose": identity,
            "size": [],
            "colour": None,
            "mesh": 0,
            "format": "stl",
            "scale": [0.001, 0.001, 0.001],
        },
    ]
    assert [(shape["mesh"], shape["format"]) for shape in boom["shapes"]] == [(1, "glb"), (0, "stl")]
    # Where a link has no visual, what it collides with is drawn.
    assert [shape["kind"] for shape in hook["shapes"]] == ["sphere"]


def test_a_coordinate_tells_its_column_of_telemetry_or_where_it_stands(tmp_path: Path) -> None:
    columns = ("hoist", "slew", "J ball")
    slew, hoist = looks_of(crane(tmp_path), columns).payload["joints"]
    assert slew["coordinates"] == [{"name": "slew", "column": 1, "position": 0}]
    assert hoist["coordinates"] == [{"name": "hoist", "column": 0, "position": 0}]
    chain = looks_of(chain_of_all_types(), columns).payload
    ball = next(joint for joint in chain["joints"] if joint["name"] == "J ball")
    assert [one["column"] for one in ball["coordinates"]] == [None] * 3


def test_every_number_of_a_model_is_finite() -> None:
    text = """<skel><world><skeleton name="s"><body name="a"/><body name="b"/><joint type="ball" name="j">
        <parent>a</parent><child>b</child><dof local_index="0"><position initial="inf"/></dof>
        <dof local_index="1"><position initial="0.5"/></dof></joint></skeleton></world></skel>"""
    (robot,) = skel.load(text.encode(), Source(Path("s.skel")))
    (ball,) = (joint for joint in looks_of(robot, ()).payload["joints"] if joint["name"] == "j")
    assert [one["position"] for one in ball["coordinates"]] == [0, 0.5, 0]


def test_a_robot_without_shapes_is_drawn_by_derived_ones() -> None:
    model = looks_of(six_axis(), ()).payload
    assert model["derived"] is True
    drawn = {link["name"]: len(link["shapes"]) for link in model["links"] if link["shapes"]}
    assert drawn == {name: len(own) for name, own in derived_shapes(six_axis()).items()}


# -- over HTTP ----------------------------------------------------------------------------------------------


@pytest.fixture
async def site(settings: HttpSettings, tmp_path: Path) -> AsyncIterator[Site]:
    async with serving(settings, arm=crane(tmp_path)) as site:
        yield site


@asynccontextmanager
async def serving(settings: HttpSettings, **models: RobotModel | None) -> AsyncIterator[Site]:
    """Serve the looks of models, whatever joints they have."""
    joint_map = SimpleNamespace(joints=("slew", "hoist"))
    of_robots = cast("Models", {name: (model, joint_map) for name, model in models.items()})
    async with conftest.serving(settings, Robots(), known_hub(), of_robots) as site:
        yield site


async def mesh_of(site: Site, number: int, tag: str = "", method: str = "GET") -> tuple[int, bytes, Any]:
    url, headers = f"{site.url}/api/robots/arm/meshes/{number}", {"If-None-Match": tag}
    async with site.session.request(method, url, headers=headers) as answer:
        return answer.status, await answer.read(), answer.headers


async def refusal(site: Site, path: str) -> tuple[int, str, str]:
    status, told = await site.get(f"/api/robots/{path}")
    return status, told["code"], told["error"]


async def test_a_model_is_served_as_it_is_and_to_nobody_elses_page(site: Site) -> None:
    status, model = await site.get("/api/robots/arm/model")
    assert (status, model["name"]) == (200, "crane")
    assert [one["coordinates"][0]["column"] for one in model["joints"]] == [0, 1]
    for path in ("model", "meshes/0"):
        headers = {"Origin": "https://example.com"}
        assert (await site.get(f"/api/robots/arm/{path}", headers=headers))[0] == 403


@pytest.mark.parametrize(
    ("path", "code", "error"),
    [
        ("amr/model", "UNKNOWN_ROBOT", "no robot 'amr'; there are arm, hand; did you mean 'arm'?"),
        (
            *("joints/model", "UNKNOWN_MODEL"),
            "joints: no description; the configuration lists joints only; name one by 'model'",
        ),
        (
            *("hand/meshes/0", "UNKNOWN_MODEL"),
            "hand: not served here; only the robot's own daemon has its description; ask its page",
        ),
        (
            *("arm/meshes/2", "UNKNOWN_MODEL"),
            "arm: no mesh '2'; its model has 2, numbered from 0; ask for one that it names",
        ),
        (
            *("leg/meshes/0", "UNKNOWN_MODEL"),
            "leg: no mesh '0'; its model has none; ask for one that it names",
        ),
    ],
)
async def test_what_there_is_none_of_is_refused(
    settings: HttpSettings, tmp_path: Path, path: str, code: str, error: str
) -> None:
    async with serving(settings, arm=crane(tmp_path), joints=None, leg=six_axis()) as site:
        assert await refusal(site, path) == (404, code, error)


async def test_a_mesh_is_sent_with_its_kind_and_kept_by_the_browser(site: Site, tmp_path: Path) -> None:
    status, content, headers = await mesh_of(site, 0)
    assert (status, content, headers["Content-Type"]) == (200, b"solid mast", "model/stl")
    assert (await mesh_of(site, 0, headers["ETag"]))[:2] == (304, b"")
    _, content, other = await mesh_of(site, 1)
    assert (content, other["Content-Type"]) == (b"glTF", "model/gltf-binary")
    status, content, head = await mesh_of(site, 0, method="HEAD")
    assert (status, content, head["Content-Length"]) == (200, b"", "10")
    (tmp_path / "meshes" / "mast.stl").write_bytes(b"another mast")
    assert (await mesh_of(site, 0, headers["ETag"]))[:2] == (200, b"another mast")


TRICKS = (
    *("../../../secret.stl", "..%2F..%2F..%2F..%2F..%2Fetc%2Fpasswd", "mast.stl", "/etc/passwd", "-1", "00"),
    *("%2e%2e/%2e%2e/secret.stl", "..%5c..%5csecret.stl", "file:///etc/passwd", "meshes%2fmast.stl", "+0"),
    *(
        "0/../../../secret.stl",
        "0%2f..%2fsecret.stl",
        "0%00.stl",
        "1e0",
        "%20%30",
        "%D9%A0",
        "..",
        "9" * 5000,
    ),
)
CLOSING = "Host: localhost\r\nConnection: close\r\n\r\n"


async def test_nothing_but_a_number_of_the_model_leads_to_a_file(
    settings: HttpSettings, tmp_path: Path
) -> None:
    (folder := tmp_path / "models").mkdir()
    (tmp_path / "secret.stl").write_bytes(b"the secret")
    async with serving(settings, arm=crane(folder)) as site:
        for trick in TRICKS:
            answer = await site.raw(f"GET /api/robots/arm/meshes/{trick} HTTP/1.1\r\n{CLOSING}".encode())
            assert answer.split(b" ", 2)[1] in {b"400", b"404", b"405"}, trick
            assert not any(told in answer for told in (b"the secret", b"root:", b"solid mast")), trick


async def test_a_link_that_takes_a_meshs_place_does_not_lead_out_of_the_folder(
    site: Site, tmp_path: Path
) -> None:
    mesh = tmp_path / "meshes" / "mast.stl"
    mesh.unlink()
    mesh.symlink_to("/etc/passwd")
    error = f"arm: mesh 'mast.stl'; it lies outside of {tmp_path}; move it there, or "
    error += "name its folder in `resource_paths`"
    assert await refusal(site, "arm/meshes/0") == (404, "UNKNOWN_MODEL", error)


async def test_a_mesh_that_has_gone_or_grown_too_large_is_refused(site: Site, tmp_path: Path) -> None:
    (tmp_path / "meshes" / "mast.stl").unlink()
    os.truncate(tmp_path / "meshes" / "boom.glb", 64_000_001)
    assert [(await refusal(site, f"arm/meshes/{number}"))[2] for number in (0, 1)] == [
        "arm: mesh 'mast.stl'; cannot be read: No such file or directory; check the file",
        (
            "arm: mesh 'boom.glb'; it has 64000001 bytes, and a mesh has at most 64000000; "
            "save it with fewer triangles, or as binary STL or GLB"
        ),
    ]


# -- large meshes -------------------------------------------------------------------------------------------

LARGE_BYTES = 60_000_000


@pytest.fixture
def large(tmp_path: Path, site: Site) -> Path:
    del site  # which has made the file
    file = tmp_path / "meshes" / "mast.stl"
    os.truncate(file, LARGE_BYTES)
    return file


@pytest.mark.usefixtures("large")
async def test_a_large_mesh_is_sent_in_pieces(site: Site) -> None:
    tracemalloc.start()
    try:
        async with site.session.get(f"{site.url}/api/robots/arm/meshes/0") as answer:
            count = sum([len(piece) async for piece in answer.content.iter_any()])
        assert count == LARGE_BYTES
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


async def test_a_mesh_that_is_cut_short_meanwhile_is_not_taken_for_whole(site: Site, large: Path) -> None:
    async with site.session.get(f"{site.url}/api/robots/arm/meshes/0") as answer:
        os.truncate(large, 0)
        with pytest.raises(ClientPayloadError):
            await answer.read()
