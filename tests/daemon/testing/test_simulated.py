"""The copy of a configuration that the pytest plugin runs: nothing real moves, and every file is found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from motiond.daemon.config.settings import json_schema, load_settings
from motiond.daemon.testing import simulated as simulation

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize(
    ("driver", "simulated"),
    [
        ({"type": "hebi", "families": ["arm"]}, {}),
        (
            {"type": "hebi", "config": "kit/arm.cfg.yaml", "gains": "g.xml"},
            {"config": "/conf/kit/arm.cfg.yaml"},
        ),
        ({"type": "sim", "config": "kit/arm.cfg.yaml"}, {"config": "/conf/kit/arm.cfg.yaml"}),
        (
            {"type": "sim", "physics": True, "scene": "cell.xml"},
            {"physics": True, "scene": "/conf/cell.xml"},
        ),
        ({"type": "crane", "config": "crane.yaml"}, {}),
        ({"type": "composite", "parts": {}}, {}),
        ({"type": ["sim"]}, {}),
        ("sim", {}),
        (None, {}),
        ({"type": "sim", "noise": 0.1, "trace": "mine.npy", "plant": "plant.bin"}, {"noise": 0.1}),
    ],
)
def test_no_driver_but_the_simulated_one_is_left(driver: Any, simulated: dict[str, Any]) -> None:
    settings = {"mqtt": {"broker": "mqtts://plant", "base": "cell"}, "robots": {"arm": {"driver": driver}}}
    copy = simulation.simulated(settings, Path("/conf"), Path("/scratch"))
    assert copy["robots"]["arm"] == {
        "driver": {"type": "sim", "trace": "/scratch/arm.npy", **simulated},
        "fault_requests": True,
        "recording": {"folder": "/scratch/recordings-arm"},
    }
    assert copy["mqtt"] == {"base": "cell", "telemetry_hz": 50}


@pytest.mark.parametrize(
    "text", ["", "robots", "robots: [arm]", "robots: {}", "robots: {arm: sim}", "mqtt: x\nrobots: {arm: {}}"]
)
def test_what_cannot_be_made_harmless_is_not_run(text: str) -> None:
    assert not simulation.is_readable(yaml.safe_load(text))


def test_the_copy_finds_every_file_that_the_original_finds(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    original = tmp_path / "conf" / "motiond.yaml"
    robot = {
        "driver": {"type": "sim"},
        "model": "../arm.hrdf",
        "motions": ["moves", "/abs/x.seq"],
        "motion_map": "arm.map.yaml",
        "recording": {"folder": "recordings", "when": "motion"},
        "collision": {"workspace": [{"name": "post", "kind": "forbidden", "mesh": "post.stl"}]},
    }
    other = {**robot, "model": {"file": "arms.hrdf", "name": "left"}}
    settings = {"robots": {"one": robot, "two": other}, "resource_paths": ["models"]}
    original.write_text(yaml.safe_dump(settings))
    copy = tmp_path / "copy.yaml"
    copy.write_text(yaml.safe_dump(simulation.simulated(settings, original.absolute().parent, tmp_path)))
    ours, users = load_settings(copy), load_settings(original)
    assert ours.resource_paths == users.resource_paths
    for name in ("one", "two"):
        assert ours.robots[name].model == users.robots[name].model
        assert ours.robots[name].motions == users.robots[name].motions
        assert ours.robots[name].motion_map == users.robots[name].motion_map
        assert ours.robots[name].collision == users.robots[name].collision
        assert ours.robots[name].recording.when == users.robots[name].recording.when == "motion"
        assert ours.robots[name].recording.folder == tmp_path / f"recordings-{name}"


def test_the_plugin_knows_every_path_of_a_configuration() -> None:
    """A new one must be made absolute by `simulated`, or left out as those of the broker are."""
    assert set(paths_in(json_schema(), "")) == {
        "HttpSettings.token_file",
        "HttpSettings.cert_file",
        "HttpSettings.key_file",
        "ModelSettings.file",
        "MotionFolderSettings.folder",
        "MqttSettings.password_file",
        "MqttSettings.ca_file",
        "MqttSettings.cert_file",
        "MqttSettings.key_file",
        "RecordingSettings.folder",
        "RobotSettings.model",
        "RobotSettings.motions",
        "RobotSettings.motion_map",
        "WorkspaceSettings.mesh",
        "gamepads",
        "resource_paths",
    }


def paths_in(schema: Any, where: str) -> Iterator[str]:
    if isinstance(schema, list):
        for one in schema:
            yield from paths_in(one, where)
    elif isinstance(schema, dict):
        if schema.get("format") == "path":
            yield where.lstrip(".")
        for key, value in schema.items():
            unnamed = key in {"$defs", "properties", "anyOf", "oneOf", "items"}
            yield from paths_in(value, where if unnamed else f"{where}.{key}")


def test_a_folder_for_uploads_is_a_plain_one_in_tests(tmp_path: Path) -> None:
    motions = ["moves", {"folder": "new", "upload": True}]
    settings = {"robots": {"arm": {"driver": {"type": "sim"}, "motions": motions}}}
    copy = simulation.simulated(settings, tmp_path, tmp_path)
    assert copy["robots"]["arm"]["motions"] == [str(tmp_path / "moves"), str(tmp_path / "new")]
    assert copy["http"] is None


def test_the_copy_has_the_meshes_of_the_workspace_where_they_are() -> None:
    table, wall = {"name": "table", "mesh": "cell/table.stl"}, {"name": "wall", "plane": [1, 0, 0]}
    collision = {"margin_m": 0.01, "workspace": [table, wall]}
    settings = {"robots": {"arm": {"driver": {"type": "sim"}, "collision": collision}}}
    copy = simulation.simulated(settings, Path("/conf"), Path("/scratch"))["robots"]["arm"]["collision"]
    assert copy == {
        "margin_m": 0.01,
        "workspace": [{"name": "table", "mesh": "/conf/cell/table.stl"}, wall],
    }
