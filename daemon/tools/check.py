"""Plans motions without moving anything: whether every motion fits every robot, and what stands against it.

The robots are those of a configuration, or one from a description, whose limits alone then count.
"""

from __future__ import annotations

import logging
import math
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from motiond.drivers import make_driver, refuse_shared_devices
from motiond.formats import BadText, ReadOptions, load_map
from motiond.formats.io import refuse_damaged
from motiond.text import listed, printable

from ..config.recording import RecordingSettings
from ..config.robot import DriverSettings, ModelSettings, RobotSettings
from ..joints import (
    JointMapError,
    build_joint_map,
    has_ends,
    joint_bounds,
    load_model,
    missing_limits,
    never_fails,
    read_robot,
    with_gravity,
    with_payload,
)
from ..physics import Refusals, with_physics
from ..planning import MotionLibrary, PlanError, checked_plan, checked_pose, make_checks, unnoticed
from ..recording import refuse_unwritable
from .batch import for_each_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from motiond.drivers import Driver
    from motiond.formats import Motion, RobotModel

    from ..config.settings import Settings
    from ..joints import JointBounds, JointMap
    from ..planning import Entry, PlanCheck, Violation

log = logging.getLogger(__name__)

DEFAULTS = ReadOptions()


@dataclass(frozen=True, slots=True)
class Finding:
    """One motion on one robot, or one of its poses."""

    robot: str
    motion: str
    file: str
    duration_s: float
    max_speed: float | None
    problems: tuple[str, ...] = ()  # every reason why it cannot be played
    violations: tuple[Violation, ...] = ()  # those of the problems that are limits
    warnings: tuple[str, ...] = ()
    physics: Mapping[str, Any] = field(default_factory=dict)  # what checks of the robot's body have found
    kind: Literal["motion", "pose"] = "motion"

    def payload(self) -> dict[str, Any]:
        """Return the finding JSON-ready."""
        return {**asdict(self), "ok": not self.problems}


@dataclass(frozen=True, slots=True)
class Against:
    """A robot description to hold motions against."""

    robot: Path
    name: str | None = None
    motion_joints: list[str] | None = None
    options: ReadOptions = DEFAULTS


def check_motions(
    settings: Settings, names: Sequence[str] = (), report: Callable[[str], object] = log.info
) -> list[Finding]:
    """Plan motions, all by default, on each robot; `report` gets how drivers understood their options.

    Raises
    ------
    FormatError, JointMapError, DriverError, PhysicsError
        If a robot cannot be made of its description, joints and driver, a file of its driver is wrong, or
        two robots drive one device.
    """
    made, refusals = {}, Refusals()
    for name in settings.robots:
        with refusals.of(name):
            made[name] = _made(settings, name)
    refusals.raise_if_any()
    refuse_shared_devices({name: driver for name, (_, driver, _) in made.items()})
    for name, (_, driver, _) in made.items():
        for line in (*driver.notes, *(f"warning: {warning}" for warning in driver.rehearse())):
            report(f"{name}: {line}")
        if warning := _of_recordings(name, settings.robots[name].recording):
            report(f"{name}: warning: {warning}")
        checks = made[name][2]
        notes = (note for one in checks for note in one.notes)
        warnings = (f"warning: {warning}" for one in checks for warning in one.warnings)
        for line in (*_of_turns(*made[name][:2]), *notes, *warnings):
            report(f"{name}: {line}")
    return [
        finding
        for name, (joint_map, driver, checks) in made.items()
        for finding in _check_robot(
            name,
            settings.robots[name],
            joint_map.within(driver.limits),
            driver,
            checks=checks,
            names=names,
        )
    ]


def _made(settings: Settings, name: str) -> tuple[JointMap, Driver, tuple[PlanCheck, ...]]:
    """Make a robot's joint map, driver and checks of a configuration."""
    robot = settings.robots[name]
    model = load_model(robot, settings)
    _warn_of_meshes(model)
    joint_map = build_joint_map(name, model, robot.joints)
    options = with_physics(robot.driver.type, robot.driver.options, model, joint_map, robot.payload)
    laden = with_payload(name, model, robot.payload)
    options = with_gravity(robot.driver.type, options, laden, joint_map)
    driver = make_driver(robot.driver.type, options, joint_map.actuators)
    return joint_map, driver, make_checks(robot, model, joint_map)


def _of_turns(joint_map: JointMap, driver: Driver) -> Iterator[str]:
    """Yield which joints turn without end, and which are kept from it by their actuators."""
    narrowed = joint_map.within(driver.limits)
    if narrowed.continuous.any():
        names = np.array(narrowed.joints)[narrowed.continuous]
        yield f"turning without end: {listed(names.tolist())}"
    if warning := has_ends(joint_map, narrowed):
        yield f"warning: {warning}"


def _of_recordings(name: str, recording: RecordingSettings) -> str:
    """Return where recordings cannot be written to, if the configuration asks for any; '' if they can."""
    folder = recording.folder_of(name)
    if recording == RecordingSettings() or folder is None:
        return ""
    try:
        refuse_unwritable(folder)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "let motiond write there, or set `recording.folder`"
        return f"recordings go to {printable(str(folder))}; it cannot be written: {reason}; {hint}"
    return ""


def _warn_of_meshes(model: RobotModel | None) -> None:
    """Look into the files of a robot's meshes, which are read elsewhere only when they are shown."""
    shapes = (shape for link in model.links for shape in link.shapes) if model else ()
    for mesh in {shape.mesh.path: shape.mesh for shape in shapes if shape.mesh}.values():
        try:
            refuse_damaged(mesh)
        except BadText as error:
            log.warning("%s: %s", printable(str(mesh.path.parent)), error)


def _check_robot(
    name: str,
    robot: RobotSettings,
    joint_map: JointMap,
    driver: Driver,
    *,
    checks: Sequence[PlanCheck],
    names: Sequence[str],
) -> list[Finding]:
    bounds = joint_bounds(joint_map, robot)
    library = MotionLibrary(
        joint_map, robot, driver.max_rate_hz, min_rate_hz=driver.min_rate_hz, checks=checks
    )
    library.load_all()
    findings = []
    for motion in names or [entry.name for entry in library]:
        entry = library.get(motion)
        unknown = "; ".join(filter(None, library.unknown(motion)))
        finding = _finding(name, entry) if entry else Finding(name, motion, "", 0.0, None, (unknown,))
        still = unnoticed(entry.plan, joint_map, robot, bounds) if entry and entry.plan else ""
        findings.append(replace(finding, warnings=(*finding.warnings, still)) if still else finding)
    if not names:
        findings += [one for one in _poses(joint_map, robot, checks) if checks or one.problems]
    return _warned(findings, joint_map, bounds)


def _poses(joint_map: JointMap, robot: RobotSettings, checks: Sequence[PlanCheck]) -> Iterator[Finding]:
    """Yield what is found of each posture of a configuration."""
    for pose, positions in robot.poses.items():
        found = partial(Finding, joint_map.robot, f"pose {pose}", "", 0.0, None, kind="pose")
        try:
            planned = checked_pose(f"pose {pose}", positions, joint_map, robot, checks)
        except (PlanError, JointMapError) as error:
            violations, physics = getattr(error, "violations", ()), getattr(error, "physics", {})
            yield found(tuple(str(error).splitlines()), violations, physics=physics)
        else:
            yield found(warnings=planned.warnings, physics=planned.physics)


def _warned(findings: list[Finding], joint_map: JointMap, bounds: JointBounds | None = None) -> list[Finding]:
    """Name joints without limits, or with tolerances that hardly fail, in the first of a robot's findings."""
    lacking = missing_limits(joint_map), never_fails(joint_map, bounds) if bounds else ""
    if findings:
        findings[0] = replace(findings[0], warnings=(*filter(None, lacking), *findings[0].warnings))
    return findings


def nothing_to_check(settings: Settings, findings: Sequence[Finding]) -> list[str]:
    """Return a line for each robot that has no motions."""
    checked = {finding.robot for finding in findings if finding.kind == "motion"}
    return [
        f"{name}: nothing to check; {_without_motions(robot)}"
        for name, robot in settings.robots.items()
        if name not in checked
    ]


def _without_motions(robot: RobotSettings) -> str:
    if not robot.motions:
        return "it has no motions; name files or folders of them under `motions`"
    places = listed([printable(str(path)) for path in robot.motion_places])
    return f"there are no motion files in {places}; put some there, or correct `motions`"


def check_files(against: Against, motions: Sequence[Path], jobs: int, console: Console) -> list[Finding]:
    """Plan motion files on a robot as its description has it, each row as it stands.

    Raises
    ------
    FormatError, JointMapError
        If the description cannot be read, or has joints that motiond does not move.
    """
    joint_map = _described(against)
    work = partial(_check_file, against=against, joint_map=joint_map)
    found = [finding for findings in for_each_file(work, motions, jobs, console) for finding in findings]
    return _warned(found, joint_map)


def _described(against: Against) -> JointMap:
    """Make the joint map of a robot as its description has it."""
    model = read_robot(against.robot, against.name)
    joint_map = build_joint_map(model.name, model, {})
    for warning in model.warnings:
        log.warning("%s", warning)
    _warn_of_meshes(model)
    return joint_map


def _settings_of(against: Against, file: Path) -> RobotSettings:
    model = ModelSettings(file=against.robot)
    settings = RobotSettings(model=model, driver=DriverSettings(type="sim"), motions=[file])
    # Not checked here: the joint map reports joints that stand twice, or are none.
    return settings.model_copy(update={"motion_joints": against.motion_joints})


def _check_file(file: Path, against: Against, joint_map: JointMap) -> list[Finding]:
    settings = _settings_of(against, file)
    library = MotionLibrary(joint_map, settings, math.inf, options=against.options)
    library.load_all()
    findings = [_finding(joint_map.robot, entry) for entry in library]
    if findings:
        return findings
    name = printable(str(file))
    nothing = f"{name}: nothing to check; it is a folder without motion files; name files"
    return [Finding(joint_map.robot, name, name, 0.0, None, (nothing,))]


def check_motion(motion: Motion, file: Path, against: Against | tuple[Settings, str]) -> Finding:
    """Plan one motion on a robot as its description has it, or on one of a configuration.

    `file`: what the motion comes from.
    Raises as `check_files` and `check_motions` do, and MotionError if the robot's motion map does not fit.
    """
    if isinstance(against, Against):
        joint_map, settings, max_rate_hz = _described(against), _settings_of(against, file), math.inf
        checks: tuple[PlanCheck, ...] = ()
    else:
        joint_map, driver, checks = _made(*against)
        settings, max_rate_hz = against[0].robots[against[1]], driver.max_rate_hz
        if settings.motion_map:
            motion = replace(load_map(settings.motion_map), must_fit=False).apply(motion)
    found = partial(Finding, robot=joint_map.robot, motion=motion.name, file=printable(str(file)))
    try:
        planned = checked_plan(motion, joint_map, settings, max_rate_hz, checks)
    except (PlanError, JointMapError) as error:
        violations = getattr(error, "violations", ())
        return found(
            duration_s=motion.duration_s,
            max_speed=None,
            problems=tuple(str(error).splitlines()),
            violations=violations,
            physics=getattr(error, "physics", {}),
        )
    return found(
        duration_s=planned.duration_s,
        max_speed=planned.max_speed,
        warnings=planned.warnings,
        physics=planned.physics,
    )


def _finding(robot: str, entry: Entry) -> Finding:
    return Finding(
        robot=robot,
        motion=entry.name,
        file=str(entry.file),
        duration_s=entry.plan.duration_s if entry.plan else entry.duration_s,
        max_speed=entry.plan.max_speed if entry.plan else None,
        problems=tuple(entry.reason.splitlines()),
        violations=entry.violations,
        warnings=entry.warnings,
        physics=entry.physics,
    )
