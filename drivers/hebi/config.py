"""Reads HEBI's own robot configurations (`*.cfg.yaml`) as HEBI's APIs read them.

Everything that is wrong comes in one error, each problem with its line. The keys are those of
`hebi.config.load_config` of hebi-py 2.16; a program's own keys stand under `user_data`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BeforeValidator, Field

from ..base import DriverConfigError, DriverOptions
from ..options import Finite, NotNegative, OptionProblem, OptionsError, Positive, check

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEEPEST = 64  # levels of brackets in a file
GRAVITY = "GravityCompensationEffort"
DEFAULT_GAINS = "default"
LONGEST_LIFETIME_S = 5.0


def _bounded_lifetime(lifetime_s: float) -> float:
    if lifetime_s == 0:
        raise ValueError("0 means for ever, and nothing would stop the modules when setpoints end")
    if not 0 < lifetime_s <= LONGEST_LIFETIME_S:
        raise ValueError(f"modules take more than 0 and at most {LONGEST_LIFETIME_S:g} s")
    return lifetime_s


def _as_default(value: object) -> object:
    return {DEFAULT_GAINS: value} if isinstance(value, str) else value


Lifetime = Annotated[
    float,
    AfterValidator(_bounded_lifetime),
    Field(json_schema_extra={"exclusiveMinimum": 0, "maximum": LONGEST_LIFETIME_S}),
]
"""A command lifetime in seconds."""


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


class GravityPlugin(DriverOptions):
    """The keys of a plugin of this type, as `hebi.arm.create_from_config` reads them."""

    type: Literal["GravityCompensationEffort"]
    name: str = "gravComp"
    enabled: bool = True
    ramp_time: NotNegative = 0.0
    imu_feedback_index: Annotated[int, Field(ge=0)] = 0
    imu_frame_index: Annotated[int, Field(ge=0)] = 0
    imu_rotation_offset: Annotated[tuple[Finite, ...], Field(min_length=9, max_length=9)] = (
        *(1, 0, 0),
        *(0, 1, 0),
        *(0, 0, 1),
    )


class ConfigFile(DriverOptions):
    """The keys of the file."""

    version: str | float
    families: Annotated[list[str], BeforeValidator(_as_list), Field(min_length=1)]
    names: Annotated[list[str], BeforeValidator(_as_list), Field(min_length=1)]
    hrdf: str | None = None
    gains: Annotated[dict[str, str], BeforeValidator(_as_default)] = Field(default={})
    feedback_frequency: Positive | None = None
    command_lifetime: Lifetime | None = None
    plugins: list[dict[str, Any]] = Field(default=[])
    user_data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class HebiConfig:
    """A robot as a file of HEBI's describes it.

    Attributes
    ----------
    families, names : tuple of str
        Of the modules, in the order of the robot's joints; of equal length.
    hrdf : Path or None
        The robot's description; in the file it is relative to the file's folder.
    gains : Path or None
        The file of the set called `default`, or of the only one.
    gravity : GravityPlugin or None
        How to compensate gravity, if the file says so.
    feedback_frequency_hz, command_lifetime_s : float or None
        As in the file.
    warnings : tuple of str
        One for each part of the file that is not applied.
    """

    families: tuple[str, ...]
    names: tuple[str, ...]
    hrdf: Path | None = None
    gains: Path | None = None
    gravity: GravityPlugin | None = None
    feedback_frequency_hz: float | None = None
    command_lifetime_s: float | None = None
    warnings: tuple[str, ...] = ()


def pair_modules(
    where: str, families: list[str], names: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a family for each name; one family is used for all names, and one name for all families.

    Raises
    ------
    OptionsError
        If there are several of both and their numbers differ.
    """
    count = max(len(families), len(names))
    if {len(families), len(names)} - {1, count}:
        raise OptionsError(
            [
                OptionProblem(
                    where,
                    ("families",),
                    f"{len(families)} families do not go with {len(names)} names",
                    "one family holds for all names, or each name has its own",
                    "correct `families` or `names`",
                )
            ]
        )
    return tuple(families * (count // len(families))), tuple(names * (count // len(names)))


def load_hebi_config(path: Path) -> HebiConfig:
    """Read a robot configuration.

    Raises
    ------
    DriverConfigError
        If the file cannot be read; an `OptionsError` with every problem if it is wrong.
    """
    content, lines = _read(path)
    try:
        file = check(str(path), ConfigFile, content)
    except OptionsError as error:
        raise OptionsError([_at_line(path, problem, lines) for problem in error.problems]) from error
    families, names = pair_modules(f"{path}:{lines['families']}", file.families, file.names)
    gravity, warnings = _plugins(path, lines, file.plugins)
    if file.gains and DEFAULT_GAINS not in file.gains:
        warnings.append(
            f"{path}:{lines['gains']}: none of the gains {', '.join(file.gains)} is applied; "
            f"motiond applies the set called '{DEFAULT_GAINS}'; name it so, or set `gains` in the driver"
        )
    gains = file.gains.get(DEFAULT_GAINS)
    return HebiConfig(
        families=families,
        names=names,
        hrdf=path.parent / file.hrdf if file.hrdf else None,
        gains=path.parent / gains if gains else None,
        gravity=gravity,
        feedback_frequency_hz=file.feedback_frequency,
        command_lifetime_s=file.command_lifetime,
        warnings=tuple(warnings),
    )


def _plugins(
    path: Path, lines: Mapping[str, int], plugins: list[dict[str, Any]]
) -> tuple[GravityPlugin | None, list[str]]:
    """Return the plugin for gravity, and a warning for each other one that is enabled."""
    gravity, warnings, where = None, [], f"{path}:{lines.get('plugins', 1)}"
    for plugin in plugins:
        if plugin.get("type") == GRAVITY:
            checked = check(where, GravityPlugin, plugin)
            gravity = checked if checked.enabled else gravity
        elif plugin.get("enabled", True):
            warnings.append(
                f"{where}: plugin {plugin.get('type')} is not applied; motiond knows {GRAVITY} alone; "
                "do without it, or set its `enabled: false`"
            )
    return gravity, warnings


def _read(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the file's mapping and the line of each key."""
    try:
        data = path.read_bytes()
        _refuse_depth(path, data)
        root = yaml.compose(data, yaml.CSafeLoader)
        content = yaml.load(data, yaml.CSafeLoader)
    except (OSError, yaml.YAMLError) as error:
        reason = str(error.strerror) if isinstance(error, OSError) else " ".join(str(error).split())
        raise DriverConfigError(str(path), "cannot be read", reason, "correct `config`") from error
    if not isinstance(root, yaml.MappingNode) or not all(isinstance(key, str) for key in content):
        raise DriverConfigError(
            str(path), "is no robot configuration of HEBI's", "it is no mapping", "correct `config`"
        )
    return content, {key.value: key.start_mark.line + 1 for key, _ in root.value}


def _refuse_depth(path: Path, data: bytes) -> None:
    """Refuse nesting so deep that it would crash libyaml's composer, and the process with it."""
    depth = 0
    for event in yaml.parse(data, yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise DriverConfigError(str(path), "nests too deeply", f"{DEEPEST} levels do", "flatten it")


def _at_line(path: Path, problem: OptionProblem, lines: Mapping[str, int]) -> OptionProblem:
    line = lines.get(str(problem.option[0])) if problem.option else None
    where = f"{path}:{line}" if line else str(path)
    return OptionProblem(where, problem.option, problem.what, problem.why, problem.mend)
