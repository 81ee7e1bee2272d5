"""Reads HEBI's own robot configurations (`*.cfg.yaml`) as HEBI's APIs read them.

Everything that is wrong comes in one error, each problem with its line. The keys are those of
`hebi.config.load_config` of hebi-py 2.16; a program's own keys stand under `user_data`.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import yaml
from pydantic import AfterValidator, BeforeValidator, Field

from motiond.text import nearest_file

from ..base import DriverConfigError, DriverOptions
from ..options import OptionProblem, OptionsError, Plain, PlainName, Positive, check, shown
from ..yaml_bounds import YamlBoundError, YamlBounds
from .plugins import Plugins, read_plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ..options import Location

    T = TypeVar("T")
    Lines: TypeAlias = dict[Location, int]

MOST_BYTES = 1_000_000
DEFAULT_GAINS = "default"
HOME = "home_position"
FURTHEST_RAD = 1e6
LONGEST_LIFETIME_S = 5.0


def _bounded_lifetime(lifetime_s: float) -> float:
    if lifetime_s == 0:
        raise ValueError("0 means forever, and nothing would stop the modules when setpoints end")
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


Names = Annotated[list[PlainName], BeforeValidator(_as_list), Field(min_length=1)]
"""Of modules or their families: a list, or one by itself."""


class ConfigFile(DriverOptions):
    """The keys of the file."""

    version: str | float
    families: Names
    names: Names
    hrdf: Plain | None = None
    gains: Annotated[dict[Plain, Plain], BeforeValidator(_as_default)] = Field(default={})
    feedback_frequency: Positive | None = None
    command_lifetime: Lifetime | None = None
    plugins: list[dict[str, Any]] = Field(default=[])
    user_data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class HebiConfig:
    """A robot as a file of HEBI's describes it.

    `families`, `names`: of the modules, in the order of the robot's joints; of equal length. `hrdf`: the
    robot's description; in the file it is relative to the file's folder. `home_position`: where the joints
    are at home, in rad; from `user_data`. `places`: of the keys of the file, as `file:line`.
    """

    families: tuple[str, ...]
    names: tuple[str, ...]
    hrdf: Path | None = None
    gains: Path | None = None
    plugins: Plugins = field(default_factory=Plugins)
    home_position: tuple[float, ...] | None = None
    feedback_frequency_hz: float | None = None
    command_lifetime_s: float | None = None
    warnings: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)


def pair_modules(
    where: str, families: list[str], names: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a family for each name; one family is used for all names, and one name for all families.

    Raises OptionsError if there are several of both and their numbers differ, or a module stands twice.
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
    modules = list(zip(families * (count // len(families)), names * (count // len(names)), strict=True))
    problems = [
        OptionProblem(
            where,
            ("names", index),
            f"module {family}/{name} stands twice",
            "it moves one joint",
            "remove one, or correct its family",
        )
        for index, (family, name) in enumerate(modules)
        if (family, name) in modules[:index]
    ]
    if problems:
        raise OptionsError(problems)
    return tuple(family for family, _ in modules), tuple(name for _, name in modules)


def load_hebi_config(path: Path) -> HebiConfig:
    """Read a robot configuration.

    Raises DriverConfigError if the file cannot be read; an `OptionsError` with every problem if it is wrong.
    """
    content, lines = _read(path)
    problems: list[OptionProblem] = []
    file = _tried(problems, lambda: check(str(path), ConfigFile, content))
    modules = file and _tried(problems, lambda: pair_modules(str(path), file.families, file.names))
    plugins = None
    if not any(problem.option[:1] == ("plugins",) for problem in problems):
        listed = enumerate(content.get("plugins", ()))
        places = ((_place(path, ("plugins", index), lines), plugin) for index, plugin in listed)
        plugins = _tried(problems, lambda: read_plugins(places))
    if file is None or modules is None or plugins is None:
        raise OptionsError([_at_line(path, problem, lines) for problem in problems])
    families, names = modules
    warnings = list(plugins.warnings)
    home_position = _home_position(path, file.user_data or {}, len(names), warnings)
    if file.gains and DEFAULT_GAINS not in file.gains:
        warnings.append(
            f"{_place(path, ('gains',), lines)}: none of the gains {', '.join(file.gains)} is applied; "
            f"motiond applies the set called '{DEFAULT_GAINS}'; name it so, or set `gains` in the driver"
        )
    gains = file.gains.get(DEFAULT_GAINS)
    return HebiConfig(
        families=families,
        names=names,
        hrdf=path.parent / file.hrdf if file.hrdf else None,
        gains=path.parent / gains if gains else None,
        plugins=plugins,
        home_position=home_position,
        feedback_frequency_hz=file.feedback_frequency,
        command_lifetime_s=file.command_lifetime,
        warnings=tuple(warnings),
        places={option: _place(path, (option,), lines) for option in ("hrdf", "gains")},
    )


def _home_position(
    path: Path, user_data: Mapping[str, Any], count: int, warnings: list[str]
) -> tuple[float, ...] | None:
    """Return `home_position` of the user data, as HEBI's kits have it; one of another kind is warned of."""
    home = user_data.get(HOME)
    if home is None:
        return None
    if isinstance(home, list) and len(home) == count and all(map(_is_place, home)):
        return tuple(float(place) for place in home)
    warnings.append(
        f"{path}: {HOME} is not taken as a pose; it is no list of {count} numbers in rad, one for each "
        "module; correct it, or give it another name"
    )
    return None


def _is_place(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= FURTHEST_RAD


def _tried(problems: list[OptionProblem], read: Callable[[], T]) -> T | None:
    """Return what `read` returns; if it refuses, add why to `problems` and return None."""
    try:
        return read()
    except OptionsError as error:
        problems += error.problems
        return None


class _Loader(yaml.CSafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the same
        """Refuse a key that stands twice: YAML readers keep the last one, without a warning."""
        first: dict[str, int] = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            line = key.start_mark.line + 1
            if key.value in first:
                problem, reason = f"key '{key.value:.60}' stands twice", f"first on line {first[key.value]}"
                raise YamlBoundError(line, problem, reason, "remove one of them")
            first[key.value] = line
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyYAML's own signature
        """Construct a value; PyYAML itself does not expect that a date or a number may be impossible."""
        try:
            return super().construct_object(node, deep)
        except YamlBoundError:
            raise
        except (ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
            what = f"{shown(node.value)} is no {node.tag.rpartition(':')[2]}"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark) from error


def _read(path: Path) -> tuple[dict[str, Any], Lines]:
    """Return the file's mapping, and the line of each key and of each item of the lists under them."""
    try:
        data = _bytes_of(path)
        YamlBounds().check(data, _Loader)
        root = yaml.compose(data, _Loader)
        content = yaml.load(data, _Loader)  # noqa: S506 - a safe loader
    except YamlBoundError as error:
        where = f"{path}:{error.line}"
        raise DriverConfigError(where, error.problem, error.reason, error.hint) from error
    except (OSError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        if "maximum nesting depth" in str(error) and mark:  # libyaml's own since 0.2.6, as it looks ahead
            where, reason = f"{path}:{mark.line + 1}", f"{YamlBounds().levels} levels do"
            raise DriverConfigError(where, "nests too deeply", reason, "flatten it") from error
        reason = str(error.strerror) if isinstance(error, OSError) else " ".join(str(error).split())
        hint = (isinstance(error, FileNotFoundError) and nearest_file(path)) or "correct `config`"
        raise DriverConfigError(str(path), "cannot be read", reason, hint) from error
    if not isinstance(root, yaml.MappingNode) or not all(isinstance(key, str) for key in content):
        raise DriverConfigError(
            str(path), "is no robot configuration of HEBI's", "it is no mapping", "correct `config`"
        )
    return content, _lines(root)


def _bytes_of(path: Path) -> bytes:
    """Read a regular file that is not too large: others may never end, or wait for who writes to them."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file", str(path))
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(0, f"it has more than {MOST_BYTES} bytes", str(path))
    return data


def _lines(root: yaml.MappingNode) -> Lines:
    lines: Lines = {}
    for key, value in root.value:
        lines[key.value,] = key.start_mark.line + 1
        if isinstance(value, yaml.SequenceNode):
            lines.update(
                ((key.value, index), item.start_mark.line + 1) for index, item in enumerate(value.value)
            )
    return lines


def _place(path: Path, option: Location, lines: Lines) -> str:
    """Return the file and line of an option, or of the nearest one above it that has a line."""
    line = next((lines[option[:end]] for end in range(len(option), 0, -1) if option[:end] in lines), None)
    return f"{path}:{line}" if line else str(path)


def _at_line(path: Path, problem: OptionProblem, lines: Lines) -> OptionProblem:
    """Return a problem with its line, unless it has one."""
    if problem.where != str(path):
        return problem
    return replace(problem, where=_place(path, problem.option, lines))
