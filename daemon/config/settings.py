"""The configuration: one YAML file, checked whole; every mistake at once, each with its line.

The settings are frozen pydantic models, so the JSON Schema for editors comes from the same source as the
checks. Relative paths are relative to the file's folder. Unknown keys, duplicate keys and options that
would have no effect are refused.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from .http import HttpSettings
from .mqtt import MqttSettings
from .robot import RobotSettings
from .section import Section, SettingError
from .types import FilePath, Name, topic_safe
from .yaml_file import load_config

MOST_ROBOTS = 250


class RealtimeSettings(Section):
    """What the stream processes ask of the system; what it refuses costs one warning."""

    priority: Annotated[int, Field(strict=True, ge=1, le=99)] | None = 50
    """Priority under SCHED_FIFO; `null` leaves ordinary scheduling."""
    core: Annotated[int, Field(strict=True, ge=0)] | None = None
    """Processor core to stay on; `null` lets the system choose."""
    lock_memory: Annotated[bool, Field(strict=True)] = True
    """Keep the stream processes' memory from being swapped out."""


def _not_too_many(robots: Any) -> Any:
    """Refuse more robots than one daemon has before each of them is checked, which takes milliseconds."""
    if isinstance(robots, dict) and len(robots) > MOST_ROBOTS:
        what = f"there are {len(robots)} robots; a daemon has at most {MOST_ROBOTS}"
        raise SettingError("", f"{what}; give the others a daemon of their own")
    return robots


def robot_name(name: str) -> str:
    """Refuse a name that no robot can have, as it cannot be a part of its topics."""
    if name == "bridge":
        raise SettingError("", "'bridge' cannot be a robot; the daemon's own topics begin with it; rename it")
    return topic_safe(name)


def host_name() -> str:
    """Return the machine's name, as far as it can be a part of a topic."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", socket.gethostname()) or "motiond"


class Settings(Section):
    """The whole configuration of one daemon."""

    id: Name = Field(default_factory=host_name)
    """The daemon's own name among daemons on one broker; by default the machine's."""
    mqtt: MqttSettings = MqttSettings()
    """The broker."""
    http: HttpSettings | None = HttpSettings()
    """The page and the HTTP interface; `null` switches them off."""
    realtime: RealtimeSettings = RealtimeSettings()
    """What the stream processes ask of the system."""
    max_clock_error_s: Annotated[float, Field(strict=True, ge=1e-6, le=3600)] | None = None
    """How far the machine's clock may be off where a start is appointed; `null`: no limit."""
    robots: Annotated[
        dict[Annotated[str, AfterValidator(robot_name)], RobotSettings],
        Field(min_length=1, max_length=MOST_ROBOTS),
        BeforeValidator(_not_too_many),
    ]
    """The robots by name, of which one daemon has at most 250; each has a process of its own."""
    gamepads: FilePath = Field(default=Path("gamepads"), validate_default=True)
    """Where it is kept how gamepads jog the robots: a folder, with a file `ROBOT.json` for each."""
    resource_paths: list[FilePath] = Field(default=[])
    """Where models and meshes are looked for, before folders that variables of Gazebo and ROS name; robot
    descriptions may include files from all of these and from their own folder."""


def load_settings(path: Path) -> Settings:
    """Read and check a configuration; messages name the file as given.

    Raises ConfigError with every mistake, each as `file:line: problem; reason; hint`.
    """
    return load_config(path, Settings)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a configuration, for editors."""
    from .described import DescribedSchema  # noqa: PLC0415 - the daemon needs none of it

    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {
        "$schema": dialect,
        **Settings.model_json_schema(schema_generator=DescribedSchema),
        "title": "motiond configuration",
    }
