"""Motions by HTTP: what a play would do, to look at, and new ones, checked before they are kept."""

from __future__ import annotations

import shutil
import struct
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import orjson
import pytest
from lxml import etree
from yarl import URL

from motiond.daemon.config.section import ConfigError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.http.routes.thumbnail import thumbnail
from motiond.daemon.planning.plan_preview import preview
from motiond.drivers.sim.command_log import read_trace
from motiond.formats.registry import MOTIONS
from tests.daemon.http.conftest import Site, serving_robots
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, sweep, write_seq

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.config.http import HttpSettings

pytestmark = pytest.mark.slow


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    (tmp_path / "motions" / "short.markers.yaml").write_text("markers: {half: {time: 0.25}}\n")
    (tmp_path / "new").mkdir()
    rig.robot["motions"] = ["motions", {"folder": "new", "upload": True}]
    return rig


@pytest.fixture
async def arm(rig: Rig, settings: HttpSettings) -> AsyncIterator[Site]:
    """A server before a real robot."""
    async with serving_robots(rig, settings) as site:
        yield site


async def plan_of(site: Site, motion: str) -> tuple[dict[str, Any], Any]:
    async with site.session.get(f"{site.url}/api/robots/arm/motions/{motion}/plan") as response:
        body = await response.read()
        assert (response.status, response.content_type) == (200, "application/octet-stream")
        assert response.headers["X-Content-Type-Options"] == "nosniff"
    (length,) = struct.unpack_from("<I", body)
    assert length % 4 == 0
    about = orjson.loads(body[4 : 4 + length])
    return about, np.frombuffer(body, "<f4", offset=4 + length).reshape(about["rows"], len(about["joints"]))


# -- to look at ---------------------------------------------------------------------------------------------


async def test_a_plan_holds_the_setpoints_that_a_play_writes(arm: Site, rig: Rig) -> None:
    about, rows = await plan_of(arm, "short")
    assert about == {
        "motion": "short",
        "rate_hz": RATE_HZ,
        "rows": 101,
        "joints": list(JOINTS),
        "units": ["rad", "rad"],
        "driven": [True, True],
        "duration": 0.5,
        "markers": [{"name": "half", "time": 0.25}],
        "near": [],
    }
    np.testing.assert_array_equal(rows, sweep(0.5).astype("<f4"))
    status, accepted = await arm.post("/api/robots/arm/play", {"motion": "short"})
    assert status == 200
    await rig.rest_after(accepted["data"]["goal_id"])
    written = read_trace(rig.folder / "trace.npy")["position"].astype("<f4")
    begins = [k for k in range(len(written) - 100) if (written[k : k + 101] == rows).all()]
    assert len(begins) == 1


async def test_a_thumbnail_draws_the_joints_that_move_and_is_sent_again_only_when_it_has_changed(
    arm: Site, rig: Rig
) -> None:
    for name, file, count in (("short", sweep(0.5), 2), ("elbow", sweep(0.5) * [0, 1], 1)):
        write_seq(rig.folder / f"motions/{name}.seq", file, JOINTS, RATE_HZ)
        await arm.post("/api/robots/arm/motions/reload", {})
        _, drawing, tag = await drawn(arm, name)
        assert (await drawn(arm, name, tag))[:2] == (304, [])
        assert len(drawing) == count
        for points in drawing:
            across, down = points.T
            assert (np.diff(across) > 0).all()
            assert (across[0], across[-1]) == (2.0, 94.0)
            assert 2.0 <= down.min() < down.max() <= 30.0
        assert np.ptp(drawing[-1][:, 1]) == pytest.approx(28.0, abs=0.2)  # the one that moves furthest
    write_seq(rig.folder / "motions/elbow.seq", sweep(1.6, swings=2), JOINTS, RATE_HZ)
    await arm.post("/api/robots/arm/motions/reload", {})
    assert (await drawn(arm, "elbow", tag))[0] == 200


async def drawn(site: Site, motion: str, tag: str = "") -> tuple[int, list[Any], str]:
    """Return the status of a motion's thumbnail, the points of each of its lines, and its tag."""
    url = f"{site.url}/api/robots/arm/motions/{motion}/thumbnail"
    async with site.session.get(url, headers={"If-None-Match": tag}) as response:
        if not (picture := await response.read()):
            return response.status, [], ""
        assert response.content_type == "image/svg+xml"
    lines = [
        line.get("points", "").split()
        for line in etree.fromstring(picture).iter("{http://www.w3.org/2000/svg}polyline")
    ]
    points = [np.array([point.split(",") for point in line], dtype=float) for line in lines]
    return response.status, points, response.headers["ETag"]


ODD_NAMES = (
    *("a{b}", "{motion}", "a+b c", "a%2Fb", "100%", "x?y#z", "é ü", "~.;,=&@:", "a\\b", "'\"<>", "plan"),
)


async def test_every_motion_can_be_looked_at_whatever_its_name_is(rig: Rig, settings: HttpSettings) -> None:
    motions = rig.folder / "motions"
    for name in ODD_NAMES:
        shutil.copy(motions / "short.seq", motions / f"{name}.seq")
    (motions / "gestures.xmdi").write_text(
        "<xmdi><motions><motion name='left/right'>"
        + "".join(
            f"<servo name='{one}'><position>0 0.1 0</position><frames>0 10 20</frames></servo>"
            for one in JOINTS
        )
        + "</motion></motions></xmdi>"
    )
    async with serving_robots(rig, settings) as site:
        _, listed = await site.get("/api/robots/arm/motions")
        names = {one["name"] for one in listed["motions"] if one["ok"]}
        assert names >= {*ODD_NAMES, "left/right"}
        for name in names:
            for what in ("plan", "thumbnail"):
                path = f"/api/robots/arm/motions/{quote(name, safe='')}/{what}"
                async with site.session.get(URL(site.url + path, encoded=True)) as response:
                    assert (name, what, response.status) == (name, what, 200)


def test_a_motion_in_which_nothing_moves_has_an_empty_thumbnail() -> None:
    assert "polyline" not in thumbnail(np.zeros((64, 0)))
    assert "polyline" in thumbnail(np.zeros((1, 1)))


async def test_a_plan_tells_what_comes_near_to_a_limit(rig: Rig, settings: HttpSettings) -> None:
    reach = float(sweep(0.5)[:, 1].max())
    rig.robot["joints"]["elbow"] = {
        "limits": {"lower": -reach / 0.95, "upper": reach / 0.95, "velocity": 3.0}
    }
    async with serving_robots(rig, settings) as site:
        about, rows = await plan_of(site, "short")
    near = {(one["joint"], one["limit"]): one for one in about["near"]}
    assert ("shoulder", "position") not in near
    one = near["elbow", "position"]
    assert (one["time"], round(one["share"], 6)) == (0.25, 0.95)
    assert rows[50, 1] == pytest.approx(reach)


async def test_a_long_plan_is_thinned(arm: Site) -> None:
    robot = arm.robots.members["arm"].robot
    about, rows = preview(robot.planner.whole_motion("short"), robot.library.joint_map, most_numbers=101)
    assert (about["rate_hz"], about["rows"], about["duration"]) == (RATE_HZ / 2, 51, 0.5)
    np.testing.assert_array_equal(rows, sweep(0.5)[::2])


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("arm/motions/nod/plan", "arm: no motion 'nod'; there are long, short"),
        ("arm/motions/..%2f..%2fetc/plan", "arm: no motion '../../etc'; there are long, short"),
        ("amr/motions/short/plan", "no robot 'amr'; there are arm; did you mean 'arm'?"),
        ("arm/motions/nod/thumbnail", "arm: no motion 'nod'; there are long, short"),
    ],
)
async def test_of_what_is_unknown_nothing_is_shown(arm: Site, path: str, error: str) -> None:
    status, told = await arm.get(f"/api/robots/{path}")
    assert (status, told["error"]) == (404, error)


# -- new ones -----------------------------------------------------------------------------------------------


def seq(folder: Path, rows: Any = None) -> bytes:
    write_seq(folder / "made.seq", sweep(0.5) if rows is None else rows, JOINTS, RATE_HZ)
    return (folder / "made.seq").read_bytes()


async def upload(site: Site, name: str, content: Any) -> tuple[int, Any]:
    return await site.post("/api/robots/arm/motions/upload", data=content, params={"name": name})


async def test_a_motion_is_checked_kept_listed_played_and_deleted(arm: Site, rig: Rig) -> None:
    status, told = await upload(arm, "wave.seq", content := seq(rig.folder))
    (motion,) = told["data"]["motions"]
    assert (status, motion["name"], motion["ok"], motion["duration"]) == (200, "wave", True, 0.5)
    assert kept(rig) == ["wave.seq"]
    assert (rig.folder / "new" / "wave.seq").read_bytes() == content
    assert await listed(arm) == ["long", "short", "wave"]
    _, accepted = await arm.post("/api/robots/arm/play", {"motion": "wave"})
    assert (await rig.rest_after(accepted["data"]["goal_id"]))["code"] == "SUCCESSFUL"
    (rig.folder / "new" / "wave.markers.yaml").write_text("markers: {}\n")
    _, deleted = await arm.post("/api/robots/arm/motions/delete", {"motion": "wave"})
    assert deleted["data"] == {"deleted": ["wave"]}
    assert kept(rig) == []
    assert await listed(arm) == ["long", "short"]


async def test_a_table_is_uploaded_and_played_as_any_motion(arm: Site, rig: Rig) -> None:
    rows = enumerate(np.rad2deg(sweep(0.5)).tolist())
    lines = [f"time,{JOINTS[0]} [deg],{JOINTS[1]} [deg]"]
    lines += [f"{row / RATE_HZ:.3f},{first:.12g},{second:.12g}" for row, (first, second) in rows]
    status, told = await upload(arm, "wave.csv", "\n".join([*lines, ""]).encode())
    (motion,) = told["data"]["motions"]
    assert (status, motion["name"], motion["ok"], motion["duration"]) == (200, "wave", True, 0.5)
    assert kept(rig) == ["wave.csv"]
    _, accepted = await arm.post("/api/robots/arm/play", {"motion": "wave"})
    assert (await rig.rest_after(accepted["data"]["goal_id"]))["code"] == "SUCCESSFUL"


async def listed(site: Site) -> list[str]:
    _, motions = await site.get("/api/robots/arm/motions")
    return [one["name"] for one in motions["motions"]]


def kept(rig: Rig) -> list[str]:
    return sorted(path.name for path in (rig.folder / "new").iterdir())


async def test_what_cannot_be_played_is_not_kept_and_its_whole_report_told(arm: Site, rig: Rig) -> None:
    status, told = await upload(arm, "far.seq", seq(rig.folder, 10.0 * sweep(0.5)))
    (motion,) = told["data"]["motions"]
    assert (status, told["code"], motion["file"], motion["ok"]) == (409, "INVALID_MOTION", "far.seq", False)
    assert told["error"] == motion["reason"]
    for joint in JOINTS:
        assert motion["reason"].count(f"joint '{joint}' reaches ") == 1
    assert str(rig.folder) not in told["error"]
    status, told = await upload(arm, "junk.seq", b"\x00" * 1000)
    assert (status, told["code"], told["error"][:8]) == (409, "INVALID_MOTION", "junk.seq")
    assert kept(rig) == []


BAD = (
    "arm: '{}' is no name for a motion's file; a to z, digits, single blanks and . _ - can stand in it, "
    f"a letter or digit first, and it ends in {', '.join(MOTIONS.suffixes)}; rename it"
)


@pytest.mark.parametrize(
    "name",
    ["", ".seq", "../wave.seq", "/etc/wave.seq", "a\\b.seq", ".hidden.seq", "wave.sh", "wave.markers.yaml",
     "arm.map.yaml", "wave.seq\x00.sh", "wäve.seq", "a\n.seq", "-rf.seq"],
)  # fmt: skip
async def test_names_that_lead_elsewhere_are_refused(arm: Site, rig: Rig, name: str) -> None:
    status, told = await upload(arm, name, seq(rig.folder))
    assert (status, told["code"], told["error"]) == (400, "INVALID_REQUEST", BAD.format(name))
    assert kept(rig) == []


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        (
            *("wave.seq", 400),
            "arm: wave.seq is there already; an upload replaces nothing; rename it, or delete that one first",
        ),
        ("short.seq", 409, "short: there is a motion of this name; rename the file"),
    ],
)
async def test_nothing_is_overwritten_or_made_ambiguous(
    arm: Site, rig: Rig, name: str, status: int, error: str
) -> None:
    assert (await upload(arm, "wave.seq", content := seq(rig.folder)))[0] == 200
    answer = await upload(arm, name, seq(rig.folder, sweep(1.0)))
    assert (answer[0], answer[1]["error"]) == (status, error)
    assert kept(rig) == ["wave.seq"]
    assert (rig.folder / "new" / "wave.seq").read_bytes() == content


async def test_motions_that_were_not_uploaded_are_not_deleted(arm: Site, rig: Rig) -> None:
    status, told = await arm.post("/api/robots/arm/motions/delete", {"motion": "short"})
    problem = "short cannot be deleted; its file was not put there by an upload; remove it on the machine"
    assert (status, told["code"], told["error"]) == (403, "NOT_ALLOWED", f"arm: {problem}")
    assert (rig.folder / "motions" / "short.seq").exists()
    status, told = await arm.post("/api/robots/arm/motions/delete", {"motion": "nod"})
    assert (status, told["code"]) == (404, "UNKNOWN_MOTION")


TRAJECTORY = b"""{joint_names: [%s],
points: [{positions: [0], time_from_start: 0}, {positions: [0.01], time_from_start: 1}]}""" % JOINTS[
    0
].encode()
PASSED_OVER = (
    "would be passed over in a folder; neither its suffix nor its beginning shows a motion; convert it first"
)


async def test_a_file_that_would_be_passed_over_in_its_folder_is_refused(arm: Site, rig: Rig) -> None:
    """A suffix that configurations have too is a motion's only where the content shows it."""
    assert (await upload(arm, "nod.yaml", TRAJECTORY))[0] == 200
    status, told = await upload(arm, "hidden.yaml", b"#" * 100_000 + b"\n" + TRAJECTORY)
    assert (status, told["error"]) == (409, f"hidden.yaml: {PASSED_OVER}")
    assert kept(rig) == ["nod.yaml"]


async def test_clients_are_told_what_the_names_of_motion_files_end_in(arm: Site) -> None:
    _, description = await arm.get("/api/robots/arm/description")
    assert description["motion_suffixes"] == [*MOTIONS.suffixes]


async def test_without_a_folder_for_it_nothing_is_taken_or_deleted(rig: Rig, settings: HttpSettings) -> None:
    rig.robot["motions"] = ["motions"]
    async with serving_robots(rig, settings) as site:
        _, description = await site.get("/api/robots/arm/description")
        uploaded = await upload(site, "wave.seq", seq(rig.folder))
        deleted = await site.post("/api/robots/arm/motions/delete", {"motion": "short"})
    assert description["upload"] is False
    reason = "no folder is set up for it; write {folder: …, upload: true} under motions"
    for (status, told), act in ((uploaded, "uploaded"), (deleted, "deleted")):
        assert (status, told["error"]) == (403, f"arm: motions cannot be {act}; {reason}")


async def test_a_file_that_is_too_large_is_refused_before_it_is_read(arm: Site) -> None:
    where = "/api/robots/arm/motions/upload"
    head = "Host: localhost\r\nConnection: close\r\nContent-Length: 32000001"
    told = await arm.raw(f"POST {where}?name=wave.seq HTTP/1.1\r\n{head}\r\n\r\n".encode())
    assert told.startswith(b"HTTP/1.1 413 ")
    assert f"{where}: its body is longer than 32000000 bytes; send less".encode() in told


async def test_a_full_folder_takes_no_more(arm: Site, rig: Rig) -> None:
    for number in range(1000):
        (rig.folder / "new" / str(number)).touch()
    status, told = await upload(arm, "one.seq", seq(rig.folder))
    reason = "holds 1000 files; no more are taken; delete some"
    assert (status, told["error"]) == (403, f"arm: {rig.folder / 'new'} {reason}")


async def test_one_motion_is_uploaded_at_a_time(arm: Site, rig: Rig) -> None:
    content = seq(rig.folder)

    async def slowly() -> AsyncIterator[bytes]:
        yield content[:100]
        status, told = await upload(arm, "two.seq", content)
        assert (status, told["code"]) == (409, "BUSY")
        yield content[100:]

    assert (await upload(arm, "one.seq", slowly()))[0] == 200
    assert kept(rig) == ["one.seq"]


async def test_half_an_upload_leaves_nothing(arm: Site, rig: Rig) -> None:
    line = b"POST /api/robots/arm/motions/upload?name=a.seq HTTP/1.1\r\n"
    await arm.raw(line + b"Host: localhost\r\nContent-Length: 99\r\n\r\ntype: Comp", end=True)
    assert kept(rig) == []
    assert (await upload(arm, "one.seq", seq(rig.folder)))[0] == 200


def test_there_is_one_folder_for_uploads(rig: Rig) -> None:
    rig.robot["motions"] = [{"folder": name, "upload": True} for name in ("new", "newer")]
    with pytest.raises(ConfigError, match="upload stands twice; an upload goes to one folder; remove one"):
        load_settings(rig.config)
