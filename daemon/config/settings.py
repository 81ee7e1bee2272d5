"""The configuration: one YAML file in, checked settings out; every mistake at once, each with its line.

The settings are frozen pydantic models, so the JSON Schema for editors comes from the same source as the
checks. Relative paths are relative to the file's folder. Unknown keys, duplicate keys and options that
would have no effect are refused.

    ValueError
    └── ConfigError      a configuration that cannot be used; `.problems` holds every mistake
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from motiond.drivers.base import DriverError
from motiond.drivers.options import resolved
from motiond.drivers.registry import check_options
from motiond.formats.errors import FormatError

from .yaml_file import Section, Wrong, load_yaml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.errors import Problem


class ConfigError(ValueError):
    """A configuration that cannot be used.

    Attributes
    ----------
    problems : tuple of Problem
        Every mistake, in the order of the file.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def _topic_safe(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise Wrong("", f"'{name}' cannot be a part of a topic; letters, digits, _ and - can; rename it")
    return name


def _resolved(path: Path, info: ValidationInfo) -> Path:
    """Make a path relative to the configuration's folder absolute; without a folder, leave it."""
    folder = (info.context or {}).get("folder")
    return path if folder is None else Path(folder) / path


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int) else value


def _file_of_model(value: Any) -> Any:
    return {"file": value} if isinstance(value, str | Path) else value


Name = Annotated[str, AfterValidator(_topic_safe)]
Text = Annotated[str, Field(min_length=1)]
FilePath = Annotated[Path, AfterValidator(_resolved)]
Number = Annotated[float, Field(strict=True)]
Positive = Annotated[float, Field(strict=True, gt=0)]


class MqttSettings(Section):
    """Which broker carries requests and reports, and how to reach it."""

    broker: Text = "embedded"
    """`embedded` (inside the daemon), or `mqtt://[user:password@]host[:port]`, or `mqtts://…` for TLS."""
    listen: Annotated[str, Field(pattern=r"^[^\s:]+:[0-9]{1,5}$")] = "127.0.0.1:1883"
    """Address and port of the embedded broker."""
    base: Text = "motiond"
    """First part of every topic."""
    username: Text | None = None
    """Name to log in with, where the URL holds none."""
    password_file: FilePath | None = None
    """File whose first line is the password."""
    ca_file: FilePath | None = None
    """Certificates that the broker's is checked against; the system's by default."""
    cert_file: FilePath | None = None
    """Certificate to show to the broker."""
    key_file: FilePath | None = None
    """Private key of that certificate."""
    protocol: Annotated[
        Literal["5", "3.1.1"], BeforeValidator(_text, json_schema_input_type=Literal["5", "3.1.1", 5])
    ] = "5"
    """Version of MQTT; the embedded broker speaks 3.1.1 only."""
    telemetry_hz: Annotated[float, Field(strict=True, gt=0, le=200)] = 20.0
    """How often telemetry is published."""
    keepalive_s: Annotated[int, Field(strict=True, ge=1, le=65535)] = 10
    """The broker says that the daemon is gone after one and a half times this."""
    reconnect_min_s: Positive = 0.5
    """First wait before a new try to connect; it doubles from try to try."""
    reconnect_max_s: Positive = 30.0
    """Longest wait before a new try to connect."""
    stop_when_lost_s: Positive | None = 2.0
    """A motion stops softly once the broker has been away for so long; `null` plays on."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if re.search(r"[#+\x00]|^[/$]|/$", self.base):
            raise Wrong(
                "base", f"'{self.base}' cannot begin a topic; # + $ and / at its ends cannot; rename it"
            )
        if self.reconnect_min_s > self.reconnect_max_s:
            bounds = f"{self.reconnect_min_s:g} is more than reconnect_max_s, {self.reconnect_max_s:g}"
            raise Wrong("reconnect_min_s", f"reconnect_min_s of {bounds}; make it the smaller one")
        if self.broker == "embedded":
            self._check_embedded()
        else:
            self._check_remote()
        return self

    def _check_embedded(self) -> None:
        self._refuse({"username", "password_file"}, "the embedded broker asks for no login")
        self._refuse({"ca_file", "cert_file", "key_file"}, "the embedded broker does not encrypt")
        if self.protocol != "3.1.1":
            self._refuse({"protocol"}, "the embedded broker speaks 3.1.1 only")

    def _check_remote(self) -> None:
        self._refuse({"listen"}, "only the embedded broker listens")
        if not _is_broker_url(self.broker):
            forms = "embedded, mqtt://… or mqtts://…"
            raise Wrong("broker", f"'{self.broker}' is no broker; it must be {forms}; correct it")
        if self.broker.startswith("mqtt://"):
            self._refuse({"ca_file", "cert_file", "key_file"}, "mqtt:// does not encrypt; mqtts:// does")
        if (self.cert_file is None) != (self.key_file is None):
            given, other = ("cert_file", "key_file") if self.cert_file else ("key_file", "cert_file")
            raise Wrong(given, f"'{given}' stands alone; a certificate needs its key; add {other}")

    def _refuse(self, keys: set[str], why: str) -> None:
        for key in sorted(keys & self.model_fields_set):
            raise Wrong(key, f"'{key}' has no effect; {why}; remove it")


def _is_broker_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        port_is_fine = url.port is None or url.port > 0
    except ValueError:
        return False
    return url.scheme in {"mqtt", "mqtts"} and bool(url.hostname) and port_is_fine and url.path in {"", "/"}


class RealtimeSettings(Section):
    """What the stream processes ask of the system; what it refuses costs one warning."""

    priority: Annotated[int, Field(strict=True, ge=1, le=99)] | None = 50
    """Priority under SCHED_FIFO; `null` leaves ordinary scheduling."""
    core: Annotated[int, Field(strict=True, ge=0)] | None = None
    """Processor core to stay on; `null` lets the system choose."""
    lock_memory: Annotated[bool, Field(strict=True)] = True
    """Keep the stream processes' memory from being swapped out."""


class ModelSettings(Section):
    """The robot description."""

    file: FilePath
    """The file: HRDF."""
    name: Text | None = None
    """Which robot of the file, where it holds several."""


class LimitSettings(Section):
    """Limits of one joint, in rad or m; they narrow those of the model, or set what it leaves open."""

    lower: Number | None = None
    """Lowest position."""
    upper: Number | None = None
    """Highest position."""
    velocity: Positive | None = None
    """Highest speed, per second."""
    acceleration: Positive | None = None
    """Highest acceleration, per second squared."""
    effort: Positive | None = None
    """Highest torque or force, in N·m or N."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            bounds = f"{self.lower:g} is not below the upper limit, {self.upper:g}"
            raise Wrong("lower", f"the lower limit of {bounds}; make it the smaller one")
        return self


class MimicSettings(Section):
    """The joint follows another one: `position = multiplier * joint + offset`."""

    joint: Text
    """The joint to follow."""
    multiplier: Number = 1.0
    """Factor on that joint's position."""
    offset: Number = 0.0
    """In rad or m."""


class JointToleranceSettings(Section):
    """How far one joint's feedback may be from its setpoint, in rad or m."""

    path: Positive | None = None
    """While the motion plays."""
    goal: Positive | None = None
    """At its end."""


class JointSettings(Section):
    """One joint and the actuator that moves it: `joint = actuator / reduction + offset`."""

    actuator: Text | None = None
    """The driver's name of the actuator, the joint's own by default; `none` for a mimic joint without one."""
    unit: Literal["rad", "m"] | None = None
    """Unit of the joint's position where no model tells it; rad by default."""
    reduction: Number = 1.0
    """Turns of the actuator for one of the joint; negative where they turn against each other."""
    offset: Number = 0.0
    """The joint's position, in rad or m, where the actuator's is 0."""
    mimic: MimicSettings | None = None
    """Follow another joint instead of the motion."""
    limits: LimitSettings = LimitSettings()
    """Limits of the joint."""
    allow_stalling: bool = False
    """Standing still away from the setpoint is no fault, as of a gripper that holds something."""
    tolerances: JointToleranceSettings = JointToleranceSettings()
    """Tolerances of the joint, where it has its own."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.reduction == 0:
            raise Wrong("reduction", "reduction is 0; positions are divided by it; write 1 for none")
        return self


class DriverSettings(BaseModel):
    """The driver of a robot: its type, and beside it the options of that type."""

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)

    type: Text
    """Name of the driver, such as sim or hebi; the other keys here are that driver's own."""

    @property
    def options(self) -> dict[str, Any]:
        """Everything that stands beside `type`."""
        return dict(self.model_extra or {})

    @property
    def is_simulated(self) -> bool:
        """Whether nothing real moves."""
        parts = self.options["parts"].values() if self.type == "composite" else ()
        return self.type == "sim" or bool(parts and all(part["type"] == "sim" for part in parts))

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        try:
            checked = check_options(self.type, self.options)
        except DriverError as error:
            raise Wrong("", str(error)) from error
        extra = self.model_extra or {}
        extra.update(resolved(checked, dict(extra), lambda path: _resolved(path, info)))
        return self


class ToleranceSettings(Section):
    """How far feedback may be from the setpoints; a joint's own tolerances come first."""

    path: Positive | None = None
    """While the motion plays, in rad or m; a joint that is further off stops the motion softly."""
    goal: Positive | None = 0.1
    """At its end, in rad or m; `null` takes the last setpoint for the goal."""
    goal_time_s: Annotated[float, Field(strict=True, ge=0)] = 1.0
    """How long the joints may take to come within the goal tolerance after the last setpoint."""


class ApproachSettings(Section):
    """How fast the robot goes to a motion's first row, besides the joints' own limits."""

    velocity: Positive = 0.5
    """In rad/s or m/s."""
    acceleration: Positive = 1.0
    """In rad/s² or m/s²."""
    jerk: Positive = 5.0
    """In rad/s³ or m/s³."""
    longest_s: Positive | None = None
    """A motion whose first row is further away than this takes is refused; `null` goes any way."""


class CheckSettings(Section):
    """What stops a motion softly while it plays, besides tolerances; `null` switches a check off."""

    effort_s: Positive | None = None
    """A measured effort is beyond the joint's effort limit for so long."""
    temperature_c: Positive | None = None
    """An actuator is hotter than this."""
    stale_s: Positive | None = 0.25
    """An actuator's feedback is older than this."""
    stall_s: Positive | None = 0.5
    """A joint stands still for so long, further than `stall_error` from its setpoint."""
    stall_error: Positive = 0.05
    """In rad or m."""


class RobotSettings(Section):
    """One robot: its description, its actuators and its motions."""

    model: (
        Annotated[ModelSettings, BeforeValidator(_file_of_model, json_schema_input_type=Path | ModelSettings)]
        | None
    ) = None
    """The robot description; without one, `joints` lists the robot's joints with their limits."""
    joints: dict[Text, JointSettings] = Field(default={})
    """What the model does not know of its joints; without a model, all joints in the robot's order."""
    driver: DriverSettings
    """What moves the actuators."""
    motions: list[FilePath] = Field(default=[])
    """Motion files, and folders of them."""
    motion_joints: Annotated[list[Text], Field(min_length=1)] | None = None
    """The joints of motions that carry no names, in their order."""
    interpolation: Literal["hold", "linear", "cubic"] = "cubic"
    """What lies between the rows of a motion; cubic is smooth and goes past no row."""
    on_violation: Literal["reject", "slow", "clip"] = "reject"
    """What happens to a motion beyond a limit: refused, played slower, or cut at the position limits."""
    approach: ApproachSettings = ApproachSettings()
    """Bounds of the way to the first row."""
    start_tolerance: Annotated[float, Field(strict=True, ge=0)] = 0.002
    """No approach where every joint is within this (rad or m) of the first row."""
    tolerances: ToleranceSettings = ToleranceSettings()
    """How far the joints may be from their setpoints."""
    checks: CheckSettings = CheckSettings()
    """What is checked while a motion plays."""
    poses: dict[Text, Annotated[dict[Text, Number], Field(min_length=1)]] = Field(default={})
    """Postures by name: positions of some joints, in rad or m."""
    clock: Literal["real", "virtual"] = "real"
    """The machine's, or one whose time passes as fast as it can, on simulated actuators alone."""
    fault_requests: bool = False
    """Whether faults of simulated actuators may be asked for over MQTT (`request/fault`)."""
    on_end: Literal["hold", "release", "park"] = "hold"
    """After a motion that ended well: hold its last row, switch torque off, or go to the pose `park`."""
    on_exit: Literal["hold", "release", "park"] = "hold"
    """The same when the daemon ends, whatever the robot does then; a motion is stopped softly first."""
    exit_timeout_s: Positive = 8.0
    """How long the way to that end may take."""
    stop_duration_s: Positive = 0.5
    """Shortest time of a soft stop from full speed; longer where acceleration limits ask for it."""
    on_late: Literal["skip", "stretch"] = "skip"
    """What becomes of the time of a late tick: its rows are skipped, or the motion ends later."""
    max_skip_s: Positive = 0.02
    """A late tick skips no more than this; the motion ends later by what is left."""
    max_lateness_s: Positive = 0.1
    """A tick that is later than this stops the motion softly."""
    idle_rate_hz: Annotated[float, Field(strict=True, gt=0, le=2000)] = 100.0
    """Ticks per second while no motion plays."""
    stream_timeout_s: Positive = 1.0
    """A stream process that does not tick for so long is killed and started anew."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in self.motion_joints or ():
            if (self.motion_joints or []).count(name) > 1:
                raise Wrong("motion_joints", f"'{name}' stands twice; a joint has one column; remove one")
        if self.model is None:
            self._check_listed_joints()
        if self.clock == "virtual" and not self.driver.is_simulated:
            why = f"driver {self.driver.type} may move real actuators, far too fast"
            raise Wrong("clock", f"clock is virtual; {why}; make it real, or use simulated actuators")
        for option in ("on_end", "on_exit"):
            if getattr(self, option) == "park" and "park" not in self.poses:
                raise Wrong(option, f"{option} is park; there is no such pose; add poses.park")
        return self

    def _check_listed_joints(self) -> None:
        if not self.joints:
            raise Wrong("", "the robot has no joints; there is no model either; add model or joints")
        for name, joint in self.joints.items():
            given = joint.limits.model_dump(exclude_none=True)
            missing = ", ".join(key for key in ("lower", "upper", "velocity") if key not in given)
            if missing and joint.mimic is None:
                why = "there is no model to take them from"
                raise Wrong(f"joints.{name}", f"joint '{name}' lacks limits ({missing}); {why}; set them")


def _not_reserved(name: str) -> str:
    if name == "bridge":
        raise Wrong("", "'bridge' cannot be a robot; the daemon's own topics begin with it; rename it")
    return _topic_safe(name)


class Settings(Section):
    """The whole configuration of one daemon."""

    id: Name = "motiond"
    """The daemon's own name among daemons on one broker."""
    mqtt: MqttSettings = MqttSettings()
    """The broker."""
    realtime: RealtimeSettings = RealtimeSettings()
    """What the stream processes ask of the system."""
    robots: Annotated[dict[Annotated[str, AfterValidator(_not_reserved)], RobotSettings], Field(min_length=1)]
    """The robots by name."""
    model_folders: list[FilePath] = Field(default=[])
    """Folders that robot descriptions may include files from; by default the description's own."""

    def folders_for(self, model: ModelSettings) -> tuple[Path, ...]:
        """Give the folders that a robot description may include files from."""
        return tuple(self.model_folders) or (model.file.parent,)


def load_settings(path: Path) -> Settings:
    """Read and check a configuration.

    Parameters
    ----------
    path : Path
        The YAML file; messages name it as given.

    Raises
    ------
    ConfigError
        With every mistake, each as `file:line: what; why; how to mend`.
    """
    try:
        return load_yaml(path, Settings, {"folder": path.absolute().parent})
    except FormatError as error:
        raise ConfigError(error.problems) from error


def json_schema() -> dict[str, Any]:
    """Give the JSON Schema of a configuration, for editors."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **Settings.model_json_schema(), "title": "motiond configuration"}
