"""A user's configuration, and the copy of it in which no real actuator moves."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import yaml

from .failures import MotiondFailure

if TYPE_CHECKING:
    from pathlib import Path

CHECK_S = 30.0
TELEMETRY_HZ = 50
KEPT_OF_MQTT = ("base", "telemetry_hz", "stop_when_lost_s")


def read_settings(config: Path) -> dict[str, Any]:
    """Read a configuration, and check no more of it than `simulated` relies on.

    Raises
    ------
    MotiondFailure
        If the file cannot be read; with the output of `motiond check` if its content is wrong.
    """
    try:
        settings: Any = yaml.safe_load(config.read_bytes())
    except OSError as error:
        raise MotiondFailure(f"{config}: {error.strerror}; name a configuration of motiond") from error
    except yaml.YAMLError:
        settings = None
    if not is_readable(settings):
        raise wrong_configuration(config)
    return {**settings}


def is_readable(settings: Any) -> bool:
    """Return whether the parts that `simulated` changes have the expected types."""
    match settings:
        case {"robots": {**robots}, **rest}:
            parts = (*robots.values(), *(rest[key] for key in ("mqtt", "realtime") if key in rest))
            return bool(robots) and all(isinstance(part, dict) for part in parts)
    return False


def wrong_configuration(config: Path) -> MotiondFailure:
    """Return a failure with what `motiond check` reports of the user's own file."""
    command = [sys.executable, "-P", "-m", "motiond.daemon.cli", "check", "-c", str(config)]
    checked = subprocess.run(  # noqa: S603 - our own program, by our own interpreter
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CHECK_S, check=False
    )
    return MotiondFailure(f"{config}: motiond cannot run it; `motiond check` says:\n{checked.stderr}")


def command_log(scratch: Path, robot: str) -> Path:
    """Return the file in which the simulated driver of a robot logs its commands."""
    return scratch / f"{robot}.npy"


def simulated(settings: dict[str, Any], folder: Path, scratch: Path) -> dict[str, Any]:
    """Return a copy of settings that moves nothing real, accepts faults, and may stand in any folder.

    The copy is bound to no processor core: daemons of tests that run at once would all share that one.

    Parameters
    ----------
    settings : dict
        The user's settings, as `read_settings` returns them.
    folder : Path
        The folder to which their paths are relative.
    scratch : Path
        The folder for the command logs.
    """
    copy = {**settings, "mqtt": _simulated_mqtt(settings.get("mqtt", {})), "http": None}
    copy["robots"] = {
        name: _simulated_robot(robot, folder, command_log(scratch, name))
        | {"recording": _simulated_recording(robot.get("recording"), scratch / f"recordings-{name}")}
        for name, robot in settings["robots"].items()
    }
    if "resource_paths" in copy:
        copy["resource_paths"] = _absolute(folder, copy["resource_paths"])
    copy.pop("gamepads", None)  # without a page nobody jogs
    if "realtime" in copy:
        copy["realtime"] = {**copy["realtime"], "core": None}
    return copy


def _simulated_mqtt(mqtt: dict[str, Any]) -> dict[str, Any]:
    kept = {key: mqtt[key] for key in KEPT_OF_MQTT if key in mqtt}
    return kept | {"telemetry_hz": kept.get("telemetry_hz") or TELEMETRY_HZ}  # traces are made of it


def _simulated_robot(robot: dict[str, Any], folder: Path, log: Path) -> dict[str, Any]:
    copy = {**robot, "driver": _simulated_driver(robot.get("driver"), folder, log), "fault_requests": True}
    if "collision" in robot:
        copy["collision"] = _with_absolute_meshes(robot["collision"], folder)
    paths = ("model", "motions", "motion_map")
    copy |= {key: _absolute(folder, robot[key]) for key in paths if key in robot}
    match robot.get("collision"):
        case {"workspace": [*shapes], **rest}:
            copy["collision"] = {**rest, "workspace": [_placed(shape, folder) for shape in shapes]}
    return copy


def _placed(shape: Any, folder: Path) -> Any:
    """Return a shape of the workspace whose mesh is found from any folder."""
    match shape:
        case {"mesh": str(mesh)}:
            return {**shape, "mesh": str(folder / mesh)}
    return shape


def _with_absolute_meshes(collision: Any, folder: Path) -> Any:
    """Return settings of collisions in which the meshes of the workspace are found from any folder."""
    match collision:
        case {"workspace": [*shapes]}:
            return {**collision, "workspace": [_with_absolute_mesh(shape, folder) for shape in shapes]}
    return collision


def _with_absolute_mesh(shape: Any, folder: Path) -> Any:
    match shape:
        case {"mesh": str(path)}:
            return {**shape, "mesh": str(folder / path)}
    return shape


def _simulated_recording(recording: Any, folder: Path) -> Any:
    """Return what is recorded as before, but not among the user's own recordings."""
    if recording is None:
        return {"folder": str(folder)}
    return {**recording, "folder": str(folder)} if isinstance(recording, dict) else recording


def _simulated_driver(driver: Any, folder: Path, log: Path) -> dict[str, Any]:
    """Return the driver that simulates; HEBI's file stays, as it describes the robot."""
    options = driver if isinstance(driver, dict) else {}
    kind, config = str(options.get("type")), options.get("config")
    kept = {key: value for key, value in options.items() if key != "plant"} if kind == "sim" else {}
    if kind in {"sim", "hebi"} and isinstance(config, str):
        kept["config"] = str(folder / config)
    if isinstance(kept.get("scene"), str):
        kept["scene"] = str(folder / kept["scene"])
    return {**kept, "type": "sim", "trace": str(log)}


def _absolute(folder: Path, value: Any) -> Any:
    """Return a path, the paths of a list, or the path in a mapping `{file: …}` made absolute.

    Of a folder of motions only the path is left: a test deletes none of them.
    """
    match value:
        case str():
            return str(folder / value)
        case list():
            return [_absolute(folder, path) for path in value]
        case {"folder": str(path)}:
            return str(folder / path)
        case {"file": str(file)}:
            return {**value, "file": str(folder / file)}
    return value
