"""A robot's looks by HTTP: its model holds all that a drawing needs, and meshes go by number alone."""

from __future__ import annotations

import asyncio
import os
import tracemalloc
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

import numpy as np
import orjson
import pytest
from aiohttp import ClientPayloadError, web
from aiohttp.test_utils import TestClient, TestServer
from rich.console import Console

from motiond.daemon.config.settings import load_settings
from motiond.daemon.http.routes.exchange import answer_refusals
from motiond.daemon.http.routes.models import ModelRoutes
from motiond.daemon.tools.check import Against, check_files, check_motions
from motiond.daemon.tools.describe import describe_file
from motiond.formats import JointType, RobotModel, hrdf, sdf, skel
from motiond.formats.io import Source
from motiond.formats.model import derived_shapes
from tests.daemon.http.chain import chain_of_all_types
from tests.daemon.http.conftest import serving_robots
from tests.daemon.rig import Rig, ask
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from motiond.daemon.config.http import HttpSettings
    from motiond.daemon.http.routes.models import Models
    from motiond.formats.arrays import Floats

    Client: TypeAlias = TestClient[web.Request, web.Application]

SIX_AXIS = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"


# -- kinematics, done from the JSON alone -------------------------------------------------------------------


def body_called_world() -> RobotModel:
    text = """<skel><world><skeleton name="s"><body name="world"><transformation>1 0 0 0 0 0</transformation>
        </body><body name="b"/><joint type="weld" name="j"><parent>world</parent><child>b</child></joint>
        </skeleton></world></skel>"""
    return skel.load(text.encode(), Source(Path("s.skel")))[0]


def six_axis() -> RobotModel:
    return hrdf.load(SIX_AXIS.read_bytes(), Source(SIX_AXIS))[0]


def matrix(numbers: list[float]) -> Floats:
    return np.array(numbers).reshape(4, 4)


def turned(vector: Floats, angle: float) -> Floats:
    """Turn about a vector by way of a quaternion."""
    w, (x, y, z) = np.cos(angle / 2), np.sin(angle / 2) * vector / (np.linalg.norm(vector) or 1.0)
    pose = np.eye(4)
    pose[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return pose


def moved(way: Floats) -> Floats:
    pose = np.eye(4)
    pose[:3, 3] = way
    return pose


def turns_in_turn(axes: Floats, values: Floats) -> Floats:
    pose = np.eye(4)
    for axis, value in zip(axes, values, strict=True):
        pose = pose @ turned(axis, value)
    return pose


def turned_by(vector: Floats) -> Floats:
    return turned(vector, float(np.linalg.norm(vector)))


# What docs/looks.md says that coordinates do, by the joint's type: axes, values after the gear, and pitch.
DISPLACEMENTS: dict[str, Callable[[Floats, Floats, float], Floats]] = {
    "fixed": lambda _axes, _values, _pitch: np.eye(4),
    "revolute": lambda axes, values, _: turned(axes[0], values[0]),
    "continuous": lambda axes, values, _: turned(axes[0], values[0]),
    "prismatic": lambda axes, values, _: moved(values @ axes),
    "translational": lambda axes, values, _: moved(values @ axes),
    "screw": lambda axes, values, pitch: (
        moved(axes[0] * pitch * values[0] / (2 * np.pi)) @ turned(axes[0], values[0])
    ),
    "universal": lambda axes, values, _: turns_in_turn(axes, values),
    "revolute2": lambda axes, values, _: turns_in_turn(axes, values),
    "euler": lambda axes, values, _: turns_in_turn(axes, values),
    "gearbox": lambda axes, values, _: turned(axes[0], -values[0]) @ turned(axes[1], values[1]),
    "ball": lambda _axes, values, _: turned_by(values),
    "planar": lambda axes, values, _: moved(values[:2] @ axes[:2]) @ turned(axes[2], values[2]),
    "free": lambda _axes, values, _: moved(values[3:]) @ turned_by(values[:3]),
}


class Drawing:
    """Where everything of a model's JSON is, as docs/looks.md tells it."""

    def __init__(self, model: dict[str, Any], positions: Mapping[str, Floats]) -> None:
        self.model = model
        self.positions = positions
        self.links = {one["name"]: one for one in model["links"]}
        self.joints = {one["name"]: one for one in model["joints"]}
        self.frames = {one["name"]: one for one in model["frames"]}
        self.carriers: dict[str, dict[str, Any]] = {}
        for one in model["joints"]:
            if not one["closes_loop"]:
                self.carriers.setdefault(one["child"], one)

    def place(self, name: str) -> Floats:
        if name in self.links:
            return self.link(self.links[name])
        if name in self.joints:
            return self.joint(self.joints[name])
        if name in self.frames:
            return self.place(self.frames[name]["attached_to"]) @ matrix(self.frames[name]["pose"])
        assert name in {"", "world"}
        return matrix(self.model["base_pose"])

    def link(self, link: dict[str, Any]) -> Floats:
        if carrier := self.carriers.get(link["name"]):
            return self.joint(carrier) @ matrix(carrier["child_pose"])
        return self.place(link["attached_to"]) @ matrix(link["pose"])

    def joint(self, joint: dict[str, Any]) -> Floats:
        pose = self.place(joint["parent"]) @ matrix(joint["parent_pose"])
        values = self.positions[joint["name"]] / joint["gear_ratio"]
        return pose @ DISPLACEMENTS[joint["type"]](np.array(joint["axes"]), values, joint["pitch_m"])


@asynccontextmanager
async def serving(
    models: Mapping[str, RobotModel | None], columns: tuple[str, ...] = ()
) -> AsyncIterator[Client]:
    """Serve the looks of models alone, whatever joints they have."""
    joint_map = SimpleNamespace(joints=columns)
    api = ModelRoutes(
        cast("Models", {name: (model, joint_map) for name, model in models.items()}),
        cast("Any", SimpleNamespace(robots=tuple(models))),
    )
    application = web.Application(middlewares=[answer_refusals])
    application.router.add_get("/api/robots/{robot}/model", api.show)
    application.router.add_get("/api/robots/{robot}/meshes/{mesh}", api.mesh)
    async with TestClient(TestServer(application)) as client:
        yield client


async def model_of(client: Client, robot: str = "arm") -> dict[str, Any]:
    answer = await client.get(f"/api/robots/{robot}/model")
    assert answer.status == 200
    found: dict[str, Any] = await answer.json()
    return found


@pytest.mark.parametrize(
    "make",
    [chain_of_all_types, body_called_world, six_axis],
    ids=lambda make: make.__name__,
)
async def test_kinematics_done_from_the_json_alone_are_our_own(make: Any) -> None:
    robot = make()
    async with serving({"arm": robot}) as client:
        model = await model_of(client)
    random = np.random.default_rng(1)
    for _ in range(20):
        q = random.uniform(-3, 3, robot.dof)
        ends = np.cumsum([len(joint.coordinates) for joint in robot.joints])
        parts = np.split(q, ends[:-1]) if len(ends) else []
        positions = {joint.name: part for joint, part in zip(robot.joints, parts, strict=True)}
        drawing = Drawing(model, positions)
        for name, pose in robot.forward_kinematics(q).items():
            np.testing.assert_allclose(drawing.place(name), pose, atol=1e-9, err_msg=name)


def test_every_type_of_joint_is_among_those_that_are_compared() -> None:
    assert {joint.type for joint in chain_of_all_types().joints} == set(get_args(JointType))


# -- the model ----------------------------------------------------------------------------------------------

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


async def test_a_model_tells_shapes_with_the_numbers_of_their_meshes(tmp_path: Path) -> None:
    async with serving({"arm": crane(tmp_path)}) as client:
        model = await model_of(client)
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


async def test_a_coordinate_tells_its_column_of_telemetry_or_where_it_stands(tmp_path: Path) -> None:
    async with serving(
        {"arm": crane(tmp_path), "leg": chain_of_all_types()}, ("hoist", "slew", "J ball")
    ) as client:
        model, leg = await model_of(client), await model_of(client, "leg")
    slew, hoist = model["joints"]
    assert slew["coordinates"] == [{"name": "slew", "column": 1, "position": 0}]
    assert hoist["coordinates"] == [{"name": "hoist", "column": 0, "position": 0}]
    assert (slew["mimic"], hoist["mimic"]) == (None, {"of": "slew", "multiplier": 2, "offset": 0.5})
    ball = next(joint for joint in leg["joints"] if joint["name"] == "J ball")
    assert [one["column"] for one in ball["coordinates"]] == [None] * 3


async def test_every_number_of_a_model_is_finite() -> None:
    text = """<skel><world><skeleton name="s"><body name="a"/><body name="b"/><joint type="ball" name="j">
        <parent>a</parent><child>b</child><dof local_index="0"><position initial="inf"/></dof>
        <dof local_index="1"><position initial="0.5"/></dof></joint></skeleton></world></skel>"""
    (robot,) = skel.load(text.encode(), Source(Path("s.skel")))
    async with serving({"arm": robot}) as client:
        model = await model_of(client)
    (ball,) = (joint for joint in model["joints"] if joint["name"] == "j")
    assert [one["position"] for one in ball["coordinates"]] == [0, 0.5, 0]


async def test_a_robot_without_shapes_is_drawn_by_derived_ones() -> None:
    async with serving({"arm": six_axis()}) as client:
        model = await model_of(client)
    shapes = derived_shapes(six_axis())
    assert model["derived"] is True
    assert {link["name"]: len(link["shapes"]) for link in model["links"] if link["shapes"]} == {
        name: len(own) for name, own in shapes.items()
    }


async def refusal(client: Client, path: str) -> tuple[int, str, str]:
    answer = await client.get(path)
    told = orjson.loads(await answer.read())
    assert told["status"] == "error"
    return answer.status, told["code"], told["error"]


async def test_what_there_is_none_of_is_refused(tmp_path: Path) -> None:
    async with serving({"arm": crane(tmp_path), "joints": None, "leg": six_axis()}) as client:
        assert await refusal(client, "/api/robots/amr/model") == (
            404,
            "UNKNOWN_ROBOT",
            "no robot 'amr'; there are arm, joints, leg; did you mean 'arm'?",
        )
        for path in ("model", "meshes/0"):
            assert await refusal(client, f"/api/robots/joints/{path}") == (
                404,
                "UNKNOWN_MODEL",
                "joints: no description; the configuration lists joints only; name one by 'model'",
            )
        assert await refusal(client, "/api/robots/arm/meshes/2") == (
            404,
            "UNKNOWN_MODEL",
            "arm: no mesh '2'; its model has 2, numbered from 0; ask for one that it names",
        )
        assert await refusal(client, "/api/robots/leg/meshes/0") == (
            404,
            "UNKNOWN_MODEL",
            "leg: no mesh '0'; its model has none; ask for one that it names",
        )


# -- meshes -------------------------------------------------------------------------------------------------


async def test_a_mesh_is_sent_with_its_kind_and_kept_by_the_browser(tmp_path: Path) -> None:
    async with serving({"arm": crane(tmp_path)}) as client:
        answer = await client.get("/api/robots/arm/meshes/0")
        assert (answer.status, answer.content_type, await answer.read()) == (200, "model/stl", b"solid mast")
        again = await client.get(
            "/api/robots/arm/meshes/0", headers={"If-None-Match": answer.headers["ETag"]}
        )
        assert (again.status, await again.read()) == (304, b"")
        other = await client.get("/api/robots/arm/meshes/1")
        assert (other.content_type, await other.read()) == ("model/gltf-binary", b"glTF")
        head = await client.head("/api/robots/arm/meshes/0")
        assert (head.status, head.headers["Content-Length"], await head.read()) == (200, "10", b"")
        (tmp_path / "meshes" / "mast.stl").write_bytes(b"another mast")
        changed = await client.get(
            "/api/robots/arm/meshes/0", headers={"If-None-Match": answer.headers["ETag"]}
        )
        assert (changed.status, await changed.read()) == (200, b"another mast")


async def raw(client: Client, target: str) -> bytes:
    """Ask for a path as it stands, which clients would tidy up, and return the whole answer."""
    reader, writer = await asyncio.open_connection(client.host, client.port)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: {client.host}\r\nConnection: close\r\n\r\n".encode())
    async with asyncio.timeout(PATIENCE_S):
        answer = await reader.read()
    writer.close()
    return answer


TRICKS = (
    *("../../../secret.stl", "..%2f..%2fsecret.stl", "..%2F..%2F..%2F..%2F..%2Fetc%2Fpasswd", "mast.stl"),
    *("%2e%2e/%2e%2e/secret.stl", "..%5c..%5csecret.stl", "/etc/passwd", "%2fetc%2fpasswd", "-1", "00"),
    *("file:///etc/passwd", "meshes%2fmast.stl", "0/../../../secret.stl", "0%2f..%2fsecret.stl", "+0", "0.0"),
    *("0%00.stl", "0;.stl", "1e0", "%20%30", "%D9%A0", "%EF%BC%90", ".", "..", "%25%32%65", "", "9" * 5000),
)


@pytest.mark.parametrize("trick", TRICKS)
async def test_nothing_but_a_number_of_the_model_leads_to_a_file(tmp_path: Path, trick: str) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret.stl").write_bytes(b"the secret")
    async with serving({"arm": crane(folder)}) as client:
        answer = await raw(client, f"/api/robots/arm/meshes/{trick}")
    assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 "))
    assert not any(told in answer for told in (b"the secret", b"root:", b"solid mast"))


async def test_a_link_that_takes_a_meshs_place_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret.stl").write_bytes(b"the secret")
    async with serving({"arm": crane(folder)}) as client:
        await model_of(client)
        (folder / "meshes" / "mast.stl").unlink()
        (folder / "meshes" / "mast.stl").symlink_to(tmp_path / "secret.stl")
        assert await refusal(client, "/api/robots/arm/meshes/0") == (
            404,
            "UNKNOWN_MODEL",
            f"arm: mesh 'mast.stl'; it lies outside of {folder}; move it there",
        )


async def test_a_mesh_that_has_gone_or_grown_too_large_is_refused(tmp_path: Path) -> None:
    async with serving({"arm": crane(tmp_path)}) as client:
        (tmp_path / "meshes" / "mast.stl").unlink()
        with (tmp_path / "meshes" / "boom.glb").open("wb") as file:
            file.truncate(64_000_001)
        told = [(await refusal(client, f"/api/robots/arm/meshes/{number}"))[2] for number in (0, 1)]
    assert told == [
        "arm: mesh 'mast.stl'; cannot be read: No such file or directory; check the file",
        (
            "arm: mesh 'boom.glb'; it has 64000001 bytes, and a mesh has at most 64000000; "
            "save it with fewer triangles, or as binary STL or GLB"
        ),
    ]


async def test_a_large_mesh_is_sent_in_pieces(tmp_path: Path) -> None:
    robot, size = crane(tmp_path), 40_000_000
    with (tmp_path / "meshes" / "mast.stl").open("wb") as file:
        file.truncate(size)
    async with serving({"arm": robot}) as client:
        await model_of(client)
        tracemalloc.start()
        try:
            answer, count = await client.get("/api/robots/arm/meshes/0"), 0
            async for piece in answer.content.iter_any():
                count += len(piece)
            assert count == size
            assert tracemalloc.get_traced_memory()[1] < 10_000_000
        finally:
            tracemalloc.stop()


async def test_a_mesh_that_is_cut_short_meanwhile_is_not_taken_for_whole(tmp_path: Path) -> None:
    robot, file = crane(tmp_path), tmp_path / "meshes" / "mast.stl"
    with file.open("wb") as opened:
        opened.truncate(60_000_000)
    async with serving({"arm": robot}) as client:
        answer = await client.get("/api/robots/arm/meshes/0")
        file.write_bytes(b"")
        with pytest.raises(ClientPayloadError):
            async with asyncio.timeout(PATIENCE_S):
                await answer.read()


def is_open(file: Path) -> bool:
    return any(os.path.realpath(one) == str(file) for one in Path("/proc/self/fd").iterdir())


async def test_a_client_that_takes_nothing_is_given_up(tmp_path: Path) -> None:
    robot, file = crane(tmp_path), tmp_path / "meshes" / "mast.stl"
    with file.open("wb") as opened:
        opened.truncate(60_000_000)
    async with serving({"arm": robot}) as client:
        reader, writer = await asyncio.open_connection(client.host, client.port, limit=1024)
        writer.write(f"GET /api/robots/arm/meshes/0 HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode())
        assert await reader.readexactly(15) == b"HTTP/1.1 200 OK"
        await asyncio.sleep(29.0)
        assert is_open(file)
        await asyncio.sleep(2.0)
        assert not is_open(file)
        writer.close()


# -- in the daemon ------------------------------------------------------------------------------------------


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_the_daemons_application_serves_models_and_meshes_behind_its_guard(
    rig: Rig, settings: HttpSettings
) -> None:
    crane(rig.folder)
    rig.others = {
        "crane": {
            "model": {"file": "crane.sdf"},
            "joints": {"hoist": {"actuator": "none"}},
            "driver": {"type": "sim"},
        }
    }
    async with serving_robots(rig, settings) as site:
        status, model = await site.get("/api/robots/crane/model")
        columns = {one["name"]: one["column"] for joint in model["joints"] for one in joint["coordinates"]}
        joints = site.robots.models["crane"][1].joints
        assert (status, columns) == (200, {name: place for place, name in enumerate(joints)})
        async with site.session.get(f"{site.url}/api/robots/crane/meshes/0") as mesh:
            assert await mesh.read() == b"solid mast"
            assert mesh.headers["Content-Security-Policy"].startswith("default-src 'none'")
        for path in ("model", "meshes/0"):
            headers = {"Origin": "https://example.com"}
            assert (await site.get(f"/api/robots/crane/{path}", headers=headers))[0] == 403


async def test_a_missing_mesh_warns_and_keeps_no_robot_from_playing(
    rig: Rig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    visual = '<visual name="v"><geometry><mesh><uri>gone.stl</uri></mesh></geometry></visual>'
    joints = "".join(
        f'<link name="{name}_arm"/><joint name="{name}" type="revolute"><parent>{parent}</parent>'
        f"<child>{name}_arm</child><axis><xyz>0 1 0</xyz></axis></joint>"
        for name, parent in (("shoulder", "base"), ("elbow", "shoulder_arm"))
    )
    body = f'<link name="base">{visual}</link>{joints}'
    (tmp_path / "arm.sdf").write_text(f'<sdf version="1.9"><model name="m">{body}</model></sdf>')
    rig.robot["model"] = {"file": "arm.sdf"}
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal = await ask(registry, "play", motion="short")
        result = await rig.result_of(goal["goal_id"])
    assert result["code"] == "SUCCESSFUL"
    file = tmp_path / "arm.sdf"
    warning = f"{file}:1: mesh 'gone.stl' is not shown; there is no file {tmp_path}/gone.stl; check the path"
    assert warning in [record.getMessage() for record in caplog.records]
    assert describe_file(file)[0]["warnings"] == [warning]
    caplog.clear()
    findings = check_motions(load_settings(rig.config))
    assert ([finding.problems for finding in findings], caplog.messages.count(warning)) == ([(), ()], 1)
    caplog.clear()
    motions = [tmp_path / "motions" / "short.seq"]
    findings = check_files(Against(file), motions, 1, Console(stderr=True))
    assert ([finding.problems for finding in findings], caplog.messages.count(warning)) == ([()], 1)
