"""Recordings by HTTP: listed, downloaded whole or in part, and shown."""

from __future__ import annotations

import asyncio
import os
import struct
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import orjson
import pytest
from yarl import URL

from motiond.formats import load_run
from tests.daemon.http.conftest import Site, serving_robots
from tests.daemon.recording.recordings import APPROACH, PLAYED, ticks, write
from tests.daemon.rig import Rig, ask

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.config.http import HttpSettings

pytestmark = pytest.mark.slow

NAME = "arm_20261118T110640Z_wave"


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.robot["recording"] = {"folder": "recordings"}
    (tmp_path / "recordings").mkdir()
    return rig


@pytest.fixture
def file(rig: Rig) -> Path:
    """A recording in the robot's folder."""
    return write(rig.folder / "recordings" / f"{NAME}.mcap", ticks(APPROACH + PLAYED))


@pytest.fixture
def data(file: Path) -> bytes:
    return file.read_bytes()


@pytest.fixture
async def arm(rig: Rig, settings: HttpSettings) -> AsyncIterator[Site]:
    """A server before a real robot."""
    async with serving_robots(rig, settings) as site:
        yield site


async def got(site: Site, path: str, **headers: str) -> tuple[int, Any, bytes]:
    url = URL(f"{site.url}/api/robots/arm/recordings{path}", encoded=True)
    async with site.session.get(url, headers=headers) as response:
        return response.status, response.headers, await response.read()


def refusal(body: bytes) -> tuple[str, str]:
    answer = orjson.loads(body)
    return answer["code"], answer["error"]


async def test_the_list_is_that_of_the_verb(file: Path, arm: Site) -> None:
    status, _, body = await got(arm, "")
    listed = orjson.loads(body)
    assert (status, listed) == (200, await ask(arm.robots, "recordings"))
    assert [one["file"] for one in listed["recordings"]] == [file.name]


@pytest.mark.parametrize("name", [NAME, f"{NAME}.mcap"])
async def test_a_recording_is_downloaded(name: str, data: bytes, arm: Site) -> None:
    status, headers, body = await got(arm, f"/{name}")
    assert (status, body) == (200, data)
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == f'attachment; filename="{NAME}.mcap"'
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert (await got(arm, f"/{name}", **{"If-None-Match": headers["ETag"]}))[0] == 304


async def test_a_recording_keeps_its_name_in_any_script(file: Path, data: bytes, arm: Site) -> None:
    os.rename(file, file.with_name("arm_20261126T191534Z_größe.mcap"))  # noqa: PTH104 - a moment
    status, headers, body = await got(arm, "/arm_20261126T191534Z_gr%C3%B6%C3%9Fe")
    assert (status, body) == (200, data)
    assert headers["Content-Disposition"] == (
        "attachment; filename*=UTF-8''arm_20261126T191534Z_gr%C3%B6%C3%9Fe.mcap"
    )


async def test_a_download_goes_on_where_it_broke_off(data: bytes, arm: Site) -> None:
    size = len(data)
    for asked, begin, end in (
        ("bytes=0-99", 0, 100),
        ("bytes=100-", 100, size),
        ("bytes=-10", size - 10, size),
        (f"bytes=5-{size + 100}", 5, size),
    ):
        status, headers, body = await got(arm, f"/{NAME}", Range=asked)
        assert (status, body) == (206, data[begin:end])
        assert headers["Content-Range"] == f"bytes {begin}-{end - 1}/{size}"
    tag = headers["ETag"]
    assert (await got(arm, f"/{NAME}", Range="bytes=0-9", **{"If-Range": tag}))[0] == 206
    for asked_otherwise in (
        {"Range": "bytes=0-9", "If-Range": '"another"'},
        {"Range": "rows=0-9"},
        {"Range": "bytes=x"},
    ):
        status, _, body = await got(arm, f"/{NAME}", **asked_otherwise)
        assert (status, body) == (200, data)
    status, _, body = await got(arm, f"/{NAME}", Range=f"bytes={size}-")
    assert (status, refusal(body)[1]) == (
        416,
        f"/api/robots/arm/recordings/{NAME}: no range bytes={size}-; it has {size} bytes; ask for others",
    )


async def test_the_head_of_a_download_is_asked_for_alone(data: bytes, arm: Site) -> None:
    async with arm.session.head(f"{arm.url}/api/robots/arm/recordings/{NAME}") as response:
        assert (response.status, response.headers["Accept-Ranges"]) == (200, "bytes")
        assert response.headers["Content-Length"] == str(len(data))
        assert await response.read() == b""


async def test_what_is_no_recording_of_the_robot_is_not_served(data: bytes, rig: Rig, arm: Site) -> None:
    (rig.folder / "recordings" / "arm_20261118T110640Z_link.mcap").symlink_to(rig.config)
    (rig.folder / "recordings" / "secret.mcap").write_bytes(b"x")
    names = ["none", "secret", "arm_20261118T110640Z_link", f"{NAME}.mcap.part", ".", ".."]
    names += [quote("../motiond.yaml", safe=""), quote(f"../recordings/{NAME}", safe=""), "%00", "%2e%2e%2f"]
    for name in names:
        for path in (f"/{name}", f"/{name}/run"):
            status, _, body = await got(arm, path)
            assert status == 404, path
            assert refusal(body)[0] in {"UNKNOWN_RECORDING", "INVALID_REQUEST"}
    assert (await got(arm, f"/{NAME}"))[2] == data
    async with arm.session.get(f"{arm.url}/api/robots/leg/recordings/{NAME}") as response:
        assert (response.status, refusal(await response.read())[0]) == (404, "UNKNOWN_ROBOT")


async def test_a_recording_that_goes_on_is_neither_sent_nor_shown(arm: Site) -> None:
    await ask(arm.robots, "record/start", name="now")
    listed = orjson.loads((await got(arm, ""))[2])["recordings"]
    (recording,) = [one for one in listed if one["is_written"]]
    for path in (f"/{recording['name']}", f"/{recording['name']}/run"):
        status, _, body = await got(arm, path)
        assert (status, refusal(body)) == (
            409,
            ("BUSY", f"arm: {recording['file']} is being written; wait for its end"),
        )
    await asyncio.sleep(1.0)
    await ask(arm.robots, "record/stop")
    status, _, body = await got(arm, f"/{recording['name']}/run")
    assert status == 200, body


async def test_what_a_recording_holds_is_shown(file: Path, arm: Site) -> None:
    status, headers, body = await got(arm, f"/{NAME}/run")
    assert (status, headers["Content-Type"]) == (200, "application/octet-stream")
    (length,) = struct.unpack_from("<I", body)
    assert length % 4 == 0
    about = orjson.loads(body[4 : 4 + length])
    run = load_run(file)
    assert about == orjson.loads(orjson.dumps(run.about))
    points, joints = about["points"], len(about["joints"])
    numbers = np.frombuffer(body, "<f4", offset=4 + length)
    assert numbers.size == points * (1 + 3 * joints)
    assert (numbers[:points] == run.times.astype("<f4")).all()
    arrays = numbers[points:].reshape(3, points, joints)
    for array, expected in zip(arrays, (run.reference, run.feedback, run.error), strict=True):
        np.testing.assert_array_equal(array, expected.astype("<f4"))


async def test_a_damaged_recording_is_refused_with_what_is_wrong(file: Path, arm: Site) -> None:
    await asyncio.to_thread(file.write_bytes, b"no recording")
    status, _, body = await got(arm, f"/{NAME}/run")
    assert (status, refusal(body)) == (
        409,
        (
            "INVALID_MOTION",
            f"{file}: is no MCAP file; it begins with the bytes 89 'MCAP0'; check what wrote it",
        ),
    )


async def test_a_few_are_read_and_sent_at_once(
    file: Path, arm: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, sent = load_run(file), asyncio.Event()

    async def run(_robot: str, _name: str) -> Any:
        await sent.wait()
        return read

    async def opened(_robot: str, _name: str) -> Any:
        await sent.wait()
        return file.open("rb"), file.name

    monkeypatch.setattr(arm.robots, "recorded_run", run)
    monkeypatch.setattr(arm.robots, "open_recording", opened)
    for path, count, problem in (
        (f"/{NAME}/run", 2, "2 recordings are being read"),
        (f"/{NAME}", 4, "4 recordings are being sent"),
    ):
        sent.clear()
        asked = [asyncio.create_task(got(arm, path)) for _ in range(count)]
        await asyncio.sleep(1.0)
        status, _, body = await got(arm, path)
        where = f"/api/robots/arm/recordings{path}"
        assert (status, refusal(body)) == (503, ("BUSY", f"{where}: {problem}; no more at once; ask again"))
        sent.set()
        assert [(await task)[0] for task in asked] == [200] * count
