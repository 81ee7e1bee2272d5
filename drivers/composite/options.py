"""Options of the `composite` driver: which part drives which actuators, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from ..base import DriverConfigError, DriverOptions
from ..options import OptionProblem, OptionsError, WrongOptions, check
from ..registry import check_options, driver_class

Name = Annotated[str, Field(min_length=1)]


class PartSettings(DriverOptions):
    """The composite's own options of a part; the other keys are options of the part's driver."""

    type: Name = Field(description="Name of the part's driver.")
    actuators: Annotated[list[Name], Field(min_length=1)] = Field(
        description="Those of the robot's actuators that are the part's."
    )
    rate_divisor: Annotated[int, Field(strict=True, ge=1, le=1000)] = Field(
        default=1, description="The part is written and read in every so-many-th tick."
    )
    latency_s: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        default=0.0, description="How long the part takes from a setpoint to acting on it."
    )


class Part(PartSettings):
    """A part whose options its driver has checked; they stand beside the composite's own."""

    model_config = ConfigDict(extra="allow")

    @property
    def options(self) -> dict[str, Any]:
        """The options of the part's driver that were given."""
        return {**(self.model_extra or {}), **_shared(self.type, dict(self))}


def _shared(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of the composite that the part's driver has too: `latency_s`, if it simulates one."""
    known = driver_class(kind).Options.model_fields
    return {key: given[key] for key in ("latency_s",) if key in given and key in known}


def problems_of(part: str, error: DriverConfigError) -> list[OptionProblem]:
    """Return the problems of a part's options, with paths that begin with the part's name."""
    if not isinstance(error, OptionsError):
        return [OptionProblem(f"part {part}", (part, "type"), str(error))]
    return [
        replace(problem, where=f"part {part}: {problem.where}", option=(part, *problem.option))
        for problem in error.problems
    ]


def _checked(given: object) -> object:
    """Check every part, and that no two drive one actuator; pydantic refuses what is no mapping."""
    if not isinstance(given, Mapping) or not all(isinstance(part, Mapping) for part in given.values()):
        return given
    problems: list[OptionProblem] = []
    parts = {name: _checked_part(str(name), part, problems) for name, part in given.items()}
    problems += _driven_twice(given)
    if problems:
        raise WrongOptions(problems)
    return parts


def _checked_part(name: str, given: Mapping[str, Any], problems: list[OptionProblem]) -> Part | None:
    """Check one part; its problems are added to `problems`."""
    own = {key: given[key] for key in PartSettings.model_fields if key in given}
    others = {key: given[key] for key in given if key not in own}
    checked: dict[str, Any] = {}
    try:
        checked.update(check(f"part {name}", PartSettings, own))
    except OptionsError as error:
        problems += [replace(problem, option=(name, *problem.option)) for problem in error.problems]
    try:
        kind = own.get("type")
        options = check_options(kind, others) if isinstance(kind, str) else None
    except DriverConfigError as error:
        problems += problems_of(name, error)
        return None
    if options is None or not checked:
        return None
    return Part(**checked, **{key: getattr(options, key) for key in others})


def _driven_twice(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[OptionProblem]:
    owners: dict[object, str] = {}
    for name, part in parts.items():
        listed = part.get("actuators")
        for actuator in listed if isinstance(listed, list) else []:
            if not isinstance(actuator, str):
                continue
            if actuator in owners:
                problem = f"actuator '{actuator}' is driven by part {owners[actuator]} already"
                hint = "name it once"
                yield OptionProblem(f"part {name}", (name, "actuators"), problem, hint=hint)
            owners.setdefault(actuator, name)


class CompositeOptions(DriverOptions):
    """The options of `type: composite`."""

    parts: Annotated[dict[Name, Part], Field(min_length=1), BeforeValidator(_checked)] = Field(
        description="The back ends by name, each as it would stand under `driver:` alone."
    )
    on_part_failure: Literal["stop_all", "leave_out"] = Field(
        default="stop_all",
        description="stop_all halts every part; leave_out goes on with the others until enabled again.",
    )
