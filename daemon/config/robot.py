"""The section `robots` of the configuration: each robot's description, joints, actuators and motions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)

from motiond.drivers import (
    DriverError,
    OptionProblem,
    OptionsError,
    check_options,
    describe_robot,
    resolved,
)

from .collision import CollisionSettings
from .recording import RecordingSettings
from .section import Section, SettingError
from .types import (
    Acceleration,
    ByUnitOf,
    Duration,
    Effort,
    FilePath,
    Jerk,
    Mass,
    Name,
    NotNegativeTolerance,
    Place,
    Speed,
    Text,
    Tolerance,
    Word,
    by_unit,
    resolved_path,
)

SMALLEST_REDUCTION = 1e-6

IDLE_TICKS_A_TIMEOUT = 4


class MotionFolderSettings(Section):
    """A folder of motions, where a plain path does not suffice."""

    folder: FilePath
    """The folder."""
    upload: bool = False
    """Clients may upload motions into it and delete those in it; one folder of a robot."""
    watch: bool = False
    """Read files in it as soon as they are written, without a reload."""


def _form_of_motions(value: Any) -> str:
    return "[path]" if isinstance(value, str | Path) else "[folder]"


Motions = Annotated[
    Annotated[FilePath, Tag("[path]")] | Annotated[MotionFolderSettings, Tag("[folder]")],
    Discriminator(_form_of_motions),
]


def _file_of_model(value: Any) -> Any:
    return {"file": value} if isinstance(value, str | Path) else value


class ModelSettings(Section):
    """The robot description."""

    file: FilePath
    """The file: HRDF, SKEL, SDFormat (`.sdf`) or URDF."""
    name: Text | None = None
    """Which robot of the file, where it holds several."""
    joint_names: Annotated[list[Text], Field(min_length=1)] | None = None
    """Other names for the joints that move, in the file's order."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        _refuse_twice("joint_names", self.joint_names, "a joint has a name of its own; rename one")
        return self


def _refuse_twice(option: str, names: list[str] | None, reason: str) -> None:
    twice = next((name for name, times in Counter(names or ()).items() if times > 1), None)
    if twice is not None:
        raise SettingError(option, f"'{twice}' stands twice; {reason}")


class LimitSettings(Section):
    """Limits of one joint, in rad or m; they narrow those of the model, or set what it leaves open."""

    lower: Place | None = None
    """Lowest position."""
    upper: Place | None = None
    """Highest position."""
    velocity: Speed | None = None
    """Highest speed, per second."""
    acceleration: Acceleration | None = None
    """Highest acceleration, per second squared."""
    effort: Effort | None = None
    """Highest torque or force, in N·m or N."""
    continuous_effort: Effort | None = None
    """What the actuator bears for any time, as the root mean square of a motion's efforts, in N·m or N."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            bounds = f"{self.lower:g} is not below the upper limit, {self.upper:g}"
            raise SettingError("lower", f"the lower limit of {bounds}; make it the smaller one")
        return self


class MimicSettings(Section):
    """The joint follows another one: `position = multiplier * joint + offset`."""

    joint: Text
    """The joint to follow."""
    multiplier: Place = 1.0
    """Factor on that joint's position."""
    offset: Place = 0.0
    """In rad or m."""


class JointToleranceSettings(Section):
    """How far one joint's feedback may be from its setpoint, in the joint's own unit."""

    path: Tolerance | None = None
    """While the motion plays."""
    goal: Tolerance | None = None
    """At its end."""
    stall_error: Tolerance | None = None
    """Where it stands still further away, it has stalled."""
    start_tolerance: NotNegativeTolerance | None = None
    """No approach where it is so near to the first row, and all others are."""


class JointSettings(Section):
    """One joint and the actuator that moves it: `joint = actuator / reduction + offset`."""

    actuator: Text | None = None
    """The driver's name of the actuator, the joint's own by default; `none` for a mimic joint without one."""
    unit: Literal["rad", "m"] | None = None
    """Unit of the joint's position where no model defines it; rad by default."""
    reduction: Place = 1.0
    """Turns of the actuator for one of the joint; negative where they turn against each other."""
    offset: Place = 0.0
    """The joint's position, in rad or m, where the actuator's is 0."""
    mimic: MimicSettings | None = None
    """Follow another joint instead of the motion."""
    limits: LimitSettings = LimitSettings()
    """Limits of the joint."""
    continuous: bool | None = None
    """It turns without end: ways lead to the nearest turn; by default where the model says so."""
    allow_stalling: bool = False
    """Standing still away from the setpoint is no fault, as of a gripper that holds something."""
    tolerances: JointToleranceSettings = JointToleranceSettings()
    """Tolerances of the joint, where it has its own."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.reduction == 0:
            raise SettingError("reduction", "reduction is 0; positions are divided by it; write 1 for none")
        if abs(self.reduction) < SMALLEST_REDUCTION:
            reason = f"positions are divided by it, and the smallest is {SMALLEST_REDUCTION:g}; correct it"
            raise SettingError("reduction", f"reduction is {self.reduction:g}; {reason}")
        return self


def _in_three_directions(value: Any) -> Any:
    """Refuse a place that has not three numbers in words."""
    if isinstance(value, list | tuple) and len(value) != 3:
        counts = f"com has {len(value)} number{'' if len(value) == 1 else 's'}"
        raise SettingError(
            "", f"{counts}; it is a place along x, y and z, in m; write three, as [0, 0, 0.05]"
        )
    return value


class PayloadSettings(Section):
    """What the robot carries, a mass without extent: as heavy for what weighs it as a part of the robot."""

    frame: Text
    """The link, joint or frame of the description that it moves with."""
    mass: Mass
    """In kg."""
    com: Annotated[tuple[Place, Place, Place], BeforeValidator(_in_three_directions)] = (0.0, 0.0, 0.0)
    """Its centre in that frame, in m."""


class DriverSettings(BaseModel):
    """The driver of a robot: its type, and beside it the options of that type."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: Word
    """The driver: sim, hebi, dynamixel, feetech, composite or another package's; other keys are its own."""

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
        except OptionsError as error:
            raise SettingError("", str(error), error.problems) from error
        except DriverError as error:
            raise SettingError("", str(error)) from error
        extra = self.model_extra or {}
        extra.update(resolved(checked, dict(extra), lambda path: resolved_path(path, info)))
        return self


class ToleranceSettings(Section):
    """How far feedback may be from the setpoints; a joint's own tolerances come first."""

    path: ByUnitOf[Tolerance | None] | None = None
    """While the motion plays; a joint that is further off stops the motion softly."""
    goal: ByUnitOf[Tolerance | None] | None = by_unit(rad=0.1, m=0.005)
    """At its end, by default no more than a tenth of the joint's range; `null` takes the last setpoint for
    the goal."""
    goal_time_s: Annotated[float, Field(strict=True, ge=0, le=3600)] = 1.0
    """How long the joints may take to come within the goal tolerance after the last setpoint."""


class EffortSettings(Section):
    """Whether actuators are strong enough for a motion, by the masses of the description and the payload."""

    on_violation: Literal["reject", "slow", "warn"] = "reject"
    """What happens to a motion that asks for more: refused, played slower, or played with a warning."""


class ApproachSettings(Section):
    """How fast the robot goes to a motion's first row, besides the joints' own limits."""

    # A slide goes as fast as the tip of an arm of half a metre, which is the 250 mm/s of ISO 10218.
    velocity: ByUnitOf[Speed] = by_unit(rad=0.5, m=0.25)
    """In rad/s and m/s."""
    acceleration: ByUnitOf[Acceleration] = by_unit(rad=1.0, m=0.5)
    """In rad/s² and m/s²."""
    jerk: ByUnitOf[Jerk] = by_unit(rad=5.0, m=2.5)
    """In rad/s³ and m/s³."""
    longest_s: Duration | None = None
    """A motion whose first row is further away than this takes is refused; `null` goes any way."""


class CheckSettings(Section):
    """What stops a motion softly while it plays, besides tolerances; `null` switches a check off."""

    effort_s: Duration | None = None
    """A measured effort is beyond the joint's effort limit for so long."""
    temperature_c: Annotated[float, Field(strict=True, gt=0, le=500)] | None = None
    """An actuator is hotter than this."""
    stale_s: Duration | None = 0.25
    """An actuator's feedback is older than this."""
    stall_s: Duration | None = 0.5
    """A joint stands still for so long, further than `stall_error` from its setpoint."""
    stall_error: ByUnitOf[Tolerance] = by_unit(rad=0.05, m=0.0025)
    """By default no more than a twentieth of the joint's range."""


class LeaseSettings(Section):
    """Whether a client has to be in control of the robot before it commands it."""

    required: bool = False
    """Only the client that holds the robot's lease may command it; anybody may stop it."""
    ttl_s: Annotated[float, Field(strict=True, ge=0.5, le=3600)] = 5.0
    """A lease that is not renewed for so long is lost."""
    takeover: bool = True
    """Whether another client may take the lease from its holder."""
    on_loss: Literal["stop", "play_on"] = "stop"
    """What becomes of motions when a lease runs out or is taken: a soft stop, or they play on."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.model_fields_set and "required" not in self.model_fields_set:
            option = next(name for name in type(self).model_fields if name in self.model_fields_set)
            reason = "nobody needs a lease where required is not set"
            raise SettingError(option, f"{option} has no effect; {reason}; add required: true")
        return self


class RobotSettings(Section):
    """One robot: its description, its actuators and its motions."""

    model: (
        Annotated[ModelSettings, BeforeValidator(_file_of_model, json_schema_input_type=Path | ModelSettings)]
        | None
    ) = None
    """The robot description, by default that of the driver's own configuration; without one (`null`),
    `joints` lists the robot's joints with their limits."""
    joints: dict[Text, JointSettings] = Field(default={})
    """What the model does not know of its joints; without a model, all joints in the robot's order."""
    driver: DriverSettings
    """What moves the actuators."""
    collision: CollisionSettings | None = None
    """How near links may come to each other, and where they may be; without it nothing is checked."""
    payload: PayloadSettings | None = None
    """What the robot carries besides its own parts, as a tool or a workpiece."""
    motions: list[Motions] = Field(default=[])
    """Motion files, and folders of them: paths, or `{folder: …, upload: true, watch: true}`."""
    motion_joints: Annotated[list[Text], Field(min_length=1)] | None = None
    """The joints of motions that carry no names, in their order."""
    motion_map: FilePath | None = None
    """A file that maps the columns of motions to joints, with signs, offsets and units (`.map.yaml`)."""
    allow_short_files: bool = False
    """Play also files with fewer rows than they state, as an interrupted copy leaves them."""
    interpolation: Literal["hold", "linear", "cubic", "smooth"] = "cubic"
    """What lies between the rows of a motion; cubic goes past no row, smooth bends evenly and may."""
    interpolate_recordings: bool = False
    """Also between frames at a fixed rate, at up to 200 Hz or the driver's rate."""
    on_violation: Literal["reject", "slow", "clip"] = "reject"
    """What happens to a motion beyond a limit: refused, played slower, or cut at the position limits."""
    effort: EffortSettings | None = None
    """Efforts of motions are checked before they are played; `null`: they are not."""
    approach: ApproachSettings = ApproachSettings()
    """Bounds of the way to the first row."""
    start_tolerance: ByUnitOf[NotNegativeTolerance] = by_unit(rad=0.002, m=0.0001)
    """No approach where every joint is within this of the first row; by default no more than two thousandths
    of the joint's range."""
    tolerances: ToleranceSettings = ToleranceSettings()
    """How far the joints may be from their setpoints."""
    checks: CheckSettings = CheckSettings()
    """What is checked while a motion plays."""
    recording: RecordingSettings = RecordingSettings()
    """What is recorded, where, and how much of it is kept."""
    poses: dict[Text, Annotated[dict[Text, Place], Field(min_length=1)]] = Field(default={})
    """Postures by name: positions of some joints, in rad or m; besides those of the driver's own file."""
    lease: LeaseSettings = LeaseSettings()
    """Whether a client has to be in control of the robot before it commands it."""
    groups: Annotated[list[Name], Field(max_length=20)] = Field(default=[])
    """Groups of robots, on one broker, with which it can be started together."""
    clock: Literal["real", "virtual"] = "real"
    """The machine's, or one whose time passes as fast as it can, on simulated actuators alone."""
    fault_requests: bool = False
    """Whether faults of simulated actuators may be asked for over MQTT (`request/fault`)."""
    on_end: Literal["hold", "release", "park"] = "hold"
    """After a motion that ended well: hold its last row, switch torque off, or go to the pose `park`."""
    on_exit: Literal["hold", "release", "park"] = "hold"
    """The same when the daemon ends, whatever the robot does then; a motion is stopped softly first."""
    exit_timeout_s: Duration = 8.0
    """How long the way to that end may take."""
    rest_after_s: Annotated[float, Field(strict=True, ge=1, le=604_800)] | None = None
    """A robot that holds, and of which nothing is asked for so long, rests; `null`: never."""
    rest: Literal["release", "park"] = "release"
    """How it rests: torque off, or at the pose `park`."""
    stop_duration_s: Annotated[float, Field(strict=True, ge=1e-3, le=60)] = 0.5
    """Shortest time of a soft stop from full speed; longer where acceleration limits ask for it."""
    on_late: Literal["skip", "stretch"] = "skip"
    """What becomes of the time of a late tick: its rows are skipped, or the motion ends later."""
    max_skip_s: Annotated[float, Field(strict=True, ge=1e-6, le=10)] = 0.02
    """A late tick skips no more than this; the motion ends later by what is left."""
    max_lateness_s: Annotated[float, Field(strict=True, ge=1e-3, le=60)] = 0.1
    """A tick that is later than this stops the motion softly."""
    idle_rate_hz: Annotated[float, Field(strict=True, ge=1, le=2000)] = 100.0
    """Ticks per second while no motion plays."""
    stream_timeout_s: Annotated[float, Field(strict=True, ge=0.05, le=600)] = 1.0
    """A stream process that does not tick for so long is killed and started again."""
    daemon_timeout_s: Annotated[float, Field(strict=True, ge=0.1)] | None = 2.0
    """A motion stops softly when nothing has come from the daemon for so long; `null`: never."""

    @property
    def motion_places(self) -> list[Path]:
        """Motion files, and folders of them."""
        return [one if isinstance(one, Path) else one.folder for one in self.motions]

    @property
    def upload_folder(self) -> Path | None:
        """Where clients may upload motions, if anywhere."""
        return next((one.folder for one in self.motions if not isinstance(one, Path) and one.upload), None)

    @property
    def watched_folders(self) -> tuple[Path, ...]:
        """Folders of motions that are read whenever something in them changes."""
        return tuple(one.folder for one in self.motions if not isinstance(one, Path) and one.watch)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Take what is left out from the file that the driver's options name, such as HEBI's `cfg.yaml`."""
        try:
            description = describe_robot(self.driver.type, self.driver.options)
            if description is not None and "model" not in self.model_fields_set:
                description.require_model()
        except DriverError as error:
            wrong = error.problems if isinstance(error, OptionsError) else (error,)
            problems = [OptionProblem(self.driver.type, ("driver",), str(problem)) for problem in wrong]
            raise SettingError("driver", str(error), problems) from error
        if description is None:
            return self
        found: dict[str, Any] = {}
        if description.model is not None and "model" not in self.model_fields_set:
            found["model"] = ModelSettings(
                file=description.model, joint_names=list(description.joints) or None
            )
        joints = description.joints if "model" in found else self.joints
        poses = {name: dict(pose) for name, pose in description.poses.items() if pose.keys() <= set(joints)}
        return self.model_copy(update=found | {"poses": poses | self.poses})

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(not isinstance(one, Path) and one.upload for one in self.motions) > 1:
            raise SettingError("motions", "upload stands twice; an upload goes to one folder; remove one")
        _refuse_twice("groups", self.groups, "a robot is in a group once; remove one")
        _refuse_twice("motion_joints", self.motion_joints, "a joint has one column; remove one")
        if self.model is None:
            self._check_listed_joints()
        slowest_hz = IDLE_TICKS_A_TIMEOUT / self.stream_timeout_s
        if self.idle_rate_hz < slowest_hz:
            reason = f"a process without a tick for {self.stream_timeout_s:g} s (stream_timeout_s) is killed"
            hint = f"make it {slowest_hz:g} or more, or raise that"
            raise SettingError("idle_rate_hz", f"idle_rate_hz is {self.idle_rate_hz:g}; {reason}; {hint}")
        if self.clock == "virtual" and not self.driver.is_simulated:
            reason = f"driver {self.driver.type} may move real actuators, far too fast"
            raise SettingError(
                "clock", f"clock is virtual; {reason}; make it real, or use simulated actuators"
            )
        weighed = {"gravity", "physics"} & self.driver.options.keys()
        if self.payload is not None and self.effort is None and self.driver.type == "sim" and not weighed:
            reason, hint = "nothing weighs the robot", "add effort, or gravity or physics to its driver"
            raise SettingError("payload", f"payload has no effect; {reason}; {hint}")
        if "rest" in self.model_fields_set and self.rest_after_s is None:
            reason = "the robot never rests where rest_after_s is not set"
            raise SettingError("rest", f"rest has no effect; {reason}; add rest_after_s")
        for option in ("on_end", "on_exit", "rest"):
            if getattr(self, option) == "park" and "park" not in self.poses:
                raise SettingError(option, f"{option} is park; there is no such pose; add poses.park")
        return self

    def _check_listed_joints(self) -> None:
        if not self.joints:
            raise SettingError("", "the robot has no joints; there is no model either; add model or joints")
        for name, joint in self.joints.items():
            given = joint.limits.model_dump(exclude_none=True)
            asked = ("velocity",) if joint.continuous else ("lower", "upper", "velocity")
            missing = ", ".join(key for key in asked if key not in given)
            if missing and joint.mimic is None:
                reason = "there is no model to take them from"
                raise SettingError(
                    f"joints.{name}", f"joint '{name}' lacks limits ({missing}); {reason}; set them"
                )
