"""Options of drivers: checked all at once, and spread over the actuators.

`check` turns the mapping that stands under `driver:` into an instance of a driver's `Options`, or raises one
`OptionsError` that names every wrong option and what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from reprlib import Repr
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar
from unicodedata import category

import numpy as np
from pydantic import AfterValidator, BaseModel, Discriminator, Field, Tag, ValidationError

from motiond.text import nearest

from .base import DriverConfigError, DriverOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .base import Floats

    OptionsType = TypeVar("OptionsType", bound=DriverOptions)
    Location: TypeAlias = tuple[int | str, ...]

MOST_ENTRIES = 1000
"""Of a list or mapping among the options; a robot has fewer actuators, buses and scripted faults."""

_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxtuple, _SHORT.maxdict = 2, 10, 10, 10
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60

_NUMBER, _MAPPING = "one number", "a number by actuator"


def _kind(value: object) -> str:
    return _MAPPING if isinstance(value, Mapping) else _NUMBER


def _without_controls(text: str) -> str:
    if any(category(letter) in {"Cc", "Cf"} for letter in text):
        raise ValueError("it should have no control characters")
    return text


Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Plain = Annotated[str, AfterValidator(_without_controls)]
"""A text that does nothing to a terminal."""
PlainName = Annotated[str, Field(min_length=1), AfterValidator(_without_controls)]
Number = TypeVar("Number")
PerActuatorOf: TypeAlias = Annotated[
    Annotated[Number, Tag(_NUMBER)] | Annotated[dict[str, Number], Tag(_MAPPING)], Discriminator(_kind)
]
"""One number for all actuators, or numbers by actuator."""
PerActuator: TypeAlias = float | Mapping[str, float]


@dataclass(frozen=True, slots=True)
class OptionProblem:
    """One wrong option; `option` is the path to it, for callers that know its file and line."""

    where: str
    option: Location
    problem: str
    reason: str = ""
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: " + "; ".join(part for part in (self.problem, self.reason, self.hint) if part)


class OptionsError(DriverConfigError):
    """A driver refuses its options; all that is wrong comes at once.

    Attributes
    ----------
    problems : tuple of OptionProblem
        At least one, in the order of discovery.
    """

    def __init__(self, problems: Sequence[OptionProblem]) -> None:
        where = problems[0].where
        super().__init__(where, "\n".join(map(str, problems)).removeprefix(f"{where}: "))
        self.problems = tuple(problems)


class WrongOptions(ValueError):
    """Wrong options inside an option, for a validator to raise; their paths begin inside that option."""

    def __init__(self, problems: Sequence[OptionProblem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def shown(value: object) -> str:
    """Return a value as messages show it, cut where it is long or nests deeply."""
    return _SHORT.repr(value)


def check(where: str, kind: type[OptionsType], options: Mapping[str, Any]) -> OptionsType:
    """Turn a mapping into a driver's options.

    Raises
    ------
    OptionsError
        With every unknown key and every wrong value.
    """
    if problems := list(_too_long(where, options)):
        raise OptionsError(problems)
    try:
        return kind.model_validate(dict(options))
    except ValidationError as error:
        problems = [one for detail in error.errors() for one in _problems(where, kind, detail)]
        raise OptionsError(problems) from error


def _too_long(where: str, options: Mapping[str, Any]) -> Iterator[OptionProblem]:
    """Yield the lists and mappings, at any depth, that are longer than any robot needs."""
    waiting: list[tuple[Location, Any]] = [((), options)]
    seen: set[int] = set()  # an alias in YAML is the list that it names, and may contain itself
    while waiting:
        path, value = waiting.pop()
        if not isinstance(value, Mapping | list | tuple) or id(value) in seen:
            continue
        seen.add(id(value))
        if len(value) > MOST_ENTRIES:
            what = f"option '{'.'.join(map(str, path))}' has {len(value)} entries"
            yield OptionProblem(where, path, what, f"it takes at most {MOST_ENTRIES}", "remove some")
            continue
        entries = list(value.items() if isinstance(value, Mapping) else enumerate(value))
        waiting += [((*path, key), inner) for key, inner in reversed(entries)]


def resolved(checked: object, given: Any, resolve: Callable[[Path], Path]) -> Any:
    """Return options as they were given, with every path in them resolved.

    Parameters
    ----------
    checked : DriverOptions
        The same options, checked: they show which values are paths.
    given : mapping
        As in the configuration.
    resolve : callable
        Makes a path absolute.
    """
    if isinstance(checked, Path):
        return resolve(checked)
    known = dict(checked) if isinstance(checked, Mapping | BaseModel) else {}
    if not isinstance(given, Mapping):
        return given
    return {key: resolved(known.get(key), value, resolve) for key, value in given.items()}


def _problems(where: str, kind: type[DriverOptions], detail: Mapping[str, Any]) -> list[OptionProblem]:
    inner = detail.get("ctx", {}).get("error")
    if not isinstance(inner, WrongOptions):
        return [_problem(where, kind, detail)]
    return [replace(problem, option=(*detail["loc"], *problem.option)) for problem in inner.problems]


def _problem(where: str, kind: type[DriverOptions], detail: Mapping[str, Any]) -> OptionProblem:
    path = tuple(part for part in detail["loc"] if part not in {_NUMBER, _MAPPING})
    dotted = ".".join(str(part) for part in path)
    if detail["type"] == "extra_forbidden":
        known = sorted(kind.model_fields)
        takes = f"it takes {', '.join(known) or 'none'}"
        return OptionProblem(where, path, f"unknown option '{dotted}'", takes, nearest(dotted, known))
    if detail["type"] == "missing":
        return OptionProblem(where, path, f"option '{dotted}' is missing", hint="set it")
    reason = re.sub(r"^\w+ should ", "it should ", detail["msg"].removeprefix("Value error, "))
    if not path:
        return OptionProblem(where, path, reason)
    hint = "" if detail["type"] == "value_error" else "correct it"  # our own validators say what to do
    return OptionProblem(where, path, f"option '{dotted}' is {shown(detail['input'])}", reason, hint)


def unknown_actuators(
    where: str, named: Iterable[tuple[str, str]], actuators: Sequence[str]
) -> Iterator[OptionProblem]:
    """Yield a problem for each option and name that is no actuator's."""
    for option, name in named:
        if name not in actuators:
            problem, known = f"option '{option}' names an unknown actuator '{name}'", ", ".join(actuators)
            yield OptionProblem(
                where, (option, name), problem, f"there are {known}", nearest(name, actuators)
            )


def spread(
    where: str, option: str, value: PerActuator | None, actuators: Sequence[str], default: float
) -> Floats:
    """Return the number of each actuator.

    Parameters
    ----------
    value : float or mapping
        One number for all, or numbers by actuator; `default` for actuators that it leaves out, and for all
        if it is None.

    Returns
    -------
    ndarray, shape (actuators,)

    Raises
    ------
    OptionsError
        If the value names unknown actuators.
    """
    if not isinstance(value, Mapping):
        return np.full(len(actuators), default if value is None else value)
    problems = list(unknown_actuators(where, ((option, name) for name in value), actuators))
    if problems:
        raise OptionsError(problems)
    return np.array([value.get(name, default) for name in actuators])
