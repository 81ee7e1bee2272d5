"""How a gamepad jogs a robot is kept in the configuration's folder, whole or not at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.api import GamepadMapping, RawRequest, RequestError, parse
from motiond.daemon.robots.gamepad import GamepadFile
from tests.daemon.robots.stage import ok, reply_to

if TYPE_CHECKING:
    from pathlib import Path

    from tests.daemon.rig import Rig

MAPPING: Any = {
    "dead_man": 4,
    "dead_zone": 0.12,
    "curve": 2.0,
    "joints": {
        "elbow": {"axis": 1, "scale": -0.5},
        "shoulder": {"minus": 6, "plus": 7, "scale": 1.0},
    },
    "directions": {"z": {"axis": 3, "scale": -1.0}},
}

GIVEN = GamepadMapping(**MAPPING)


@pytest.fixture
def kept(tmp_path: Path) -> GamepadFile:
    return GamepadFile("arm", tmp_path / "gamepads" / "arm.json", ("shoulder", "elbow"))


async def test_what_is_saved_is_kept_in_the_configurations_folder_and_found_again(rig: Rig) -> None:
    file = rig.folder / "gamepads" / "arm.json"
    joints = dict(zip(rig.robot["joints"], MAPPING["joints"].values(), strict=False))
    mapping = MAPPING | {"joints": joints}
    async with rig.running() as registry:
        assert await ok(registry, "gamepad") == {"mapping": None, "problem": None}
        assert await ok(registry, "gamepad/save", mapping=mapping) == {"file": str(file)}
    assert json.loads(file.read_text()) == mapping
    async with rig.running() as registry:
        assert await ok(registry, "gamepad") == {"mapping": mapping, "problem": None}


async def test_only_who_is_in_control_changes_it_and_anybody_reads_it(rig: Rig) -> None:
    rig.robot["lease"] = {"required": True}
    async with rig.running() as registry:
        refused = await reply_to(registry, "gamepad/save", mapping=MAPPING)
        assert refused["code"] == "NOT_IN_CONTROL"
        assert await ok(registry, "gamepad") == {"mapping": None, "problem": None}


KNOWN = "mapping knows dead_man, dead_zone, curve, joints, directions"
INVALID = {
    "a button that no gamepad has": (
        {"dead_man": 64},
        "'mapping.dead_man' is 64; it must be less than or equal to 63; correct it",
    ),
    "a dead zone beyond the axis": (
        {"dead_zone": 1.5},
        "'mapping.dead_zone' is 1.5; it must be less than or equal to 0.9; correct it",
    ),
    "an unknown key": (
        {"deadman": 1},
        f"unknown key 'mapping.deadman'; {KNOWN}; did you mean 'dead_man'?",
    ),
    "a direction that is none": (
        {"directions": {"w": {"axis": 0, "scale": 1.0}}},
        "'mapping.directions.w' is 'w'; it must be 'x', 'y', 'z', 'rx', 'ry' or 'rz'; correct it",
    ),
    "an axis and buttons": (
        {"joints": {"elbow": {"axis": 0, "plus": 1, "scale": 1.0}}},
        "unknown key 'mapping.joints.elbow.plus'; leave it out",
    ),
    "a button without the other": (
        {"joints": {"elbow": {"plus": 1, "scale": 1.0}}},
        "'mapping.joints.elbow.minus' is missing; gamepad/save needs it; add it",
    ),
    "a scale beyond the speed": (
        {"joints": {"elbow": {"axis": 0, "scale": 2.0}}},
        "'mapping.joints.elbow.scale' is 2.0; it must be less than or equal to 1; correct it",
    ),
}


@pytest.mark.parametrize(("change", "problem"), INVALID.values(), ids=INVALID)
def test_what_is_no_mapping_is_refused_with_the_reason(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse(RawRequest("arm", "gamepad/save", orjson.dumps({"mapping": MAPPING | change})))
    assert str(refused.value) == f"arm/gamepad/save: {problem}"


def test_a_joint_that_the_robot_has_not_is_refused_by_name(kept: GamepadFile, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as refused:
        kept.save(GamepadMapping(**MAPPING | {"joints": {"elbw": {"axis": 0, "scale": 1.0}}}))
    assert str(refused.value) == "arm: no joint 'elbw'; it has shoulder, elbow; did you mean 'elbow'?"
    assert not (tmp_path / "gamepads").exists()


UNUSABLE = {
    "not json": ("{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
    "a key is missing": ('{"dead_man": 4, "dead_zone": 0.1, "curve": 2}', "joints: Field required"),
    "a joint that is gone": (
        json.dumps(MAPPING | {"joints": {"wrist": {"axis": 0, "scale": 1}}}),
        "no joint 'wrist'; it has shoulder, elbow",
    ),
    "a value out of range": (
        json.dumps(MAPPING | {"joints": {"elbow": {"axis": 0, "scale": -2}}}),
        "joints.elbow.scale: Input should be greater than or equal to -1",
    ),
}


@pytest.mark.parametrize(("content", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_file_that_cannot_be_used_says_why(
    kept: GamepadFile, tmp_path: Path, content: str, reason: str
) -> None:
    file = tmp_path / "gamepads" / "arm.json"
    file.parent.mkdir()
    file.write_text(content)
    problem = f"{file}: {reason}; correct it, or save another"
    assert kept.read() == {"mapping": None, "problem": problem}
    kept.save(GIVEN)
    assert kept.read() == {"mapping": MAPPING, "problem": None}


def test_a_folder_that_cannot_be_written_is_named(kept: GamepadFile, tmp_path: Path) -> None:
    (tmp_path / "gamepads").write_text("a file stands in its place")
    with pytest.raises(RequestError) as refused:
        kept.save(GIVEN)
    file = tmp_path / "gamepads" / "arm.json"
    said = "let the daemon write there, or name another folder by `gamepads`"
    assert (refused.value.code, str(refused.value)) == (
        "DISK_TROUBLE",
        f"arm: {file} cannot be written; file exists; {said}",
    )


def test_a_write_that_fails_leaves_what_was_kept_and_nothing_besides(
    kept: GamepadFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    kept.save(GIVEN)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RequestError, match="no space left on device"):
        kept.save(GamepadMapping(**MAPPING | {"dead_man": 5}))
    assert kept.read()["mapping"] == MAPPING
    assert [path.name for path in (tmp_path / "gamepads").iterdir()] == ["arm.json"]
