"""Kinds of values that several sections of the configuration have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationInfo

from motiond.text import echoed

from .secrets import is_credential
from .section import SettingError

LISTEN = r"^(\[[0-9A-Fa-f:.]+(%[0-9A-Za-z_.-]+)?\]|[^\s:\[\]]+):[0-9]{1,5}$"
LARGEST_PORT = 65535
RAREST_HZ = 0.01
LONGEST_NAME = 100
NAME = re.compile(r"[A-Za-z0-9_-]+")
LEVELS = r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*"
"""What a topic is, or begins with, on every broker."""


def topic_safe(name: str) -> str:
    """Refuse a name that cannot be a part of a topic on every broker (see docs/mqtt.md)."""
    if not NAME.fullmatch(name):
        raise SettingError(
            "", f"'{echoed(name)}' cannot be a part of a topic; letters, digits, _ and - can; rename it"
        )
    if len(name) > LONGEST_NAME:
        what = f"'{echoed(name)}' has {len(name)} characters"
        raise SettingError("", f"{what}; a part of a topic has at most {LONGEST_NAME}; shorten it")
    return name


def _listening_place(value: Any) -> Any:
    """Refuse a text that is none in words; the schema has the pattern."""
    reason = ""
    if isinstance(value, str) and not re.fullmatch(LISTEN, value):
        reason = "it is not HOST:PORT or [IPv6]:PORT"
    elif isinstance(value, str) and not 0 < split_place(value)[1] <= LARGEST_PORT:
        reason = f"ports are 1 to {LARGEST_PORT}"
    if reason:
        raise SettingError("", f"'{echoed(value)}' cannot be listened to; {reason}; correct it")
    return value


def levels_of_topic(topic: str) -> str:
    """Refuse what is no topic, or none to begin one with, on every broker."""
    if not re.fullmatch(LEVELS, topic):
        reason = "letters, digits, _ and - can, with / between"
        raise SettingError("", f"'{echoed(topic)}' cannot begin a topic on every broker; {reason}; rename it")
    return topic


def _resolved_secret(path: Path, info: ValidationInfo) -> Path:
    return path if is_credential(path) else resolved_path(path, info)


def resolved_path(path: Path, info: ValidationInfo) -> Path:
    """Make a path relative to the configuration's folder absolute; without a folder, leave it."""
    folder = (info.context or {}).get("folder")
    return path if folder is None else Path(folder) / path


def _never_or_often_enough(rate_hz: float) -> float:
    if 0.0 < rate_hz < RAREST_HZ:
        raise SettingError(
            "", f"{rate_hz:g} Hz is too rare; it must be 0 or at least {RAREST_HZ:g}; correct it"
        )
    return rate_hz


Name = Annotated[str, AfterValidator(topic_safe)]
Text = Annotated[str, Field(min_length=1)]
Word = Annotated[str, Field(min_length=1, max_length=60)]
FilePath = Annotated[Path, AfterValidator(resolved_path)]
Listen = Annotated[str, Field(pattern=LISTEN), BeforeValidator(_listening_place)]
SecretFile = Annotated[Path, AfterValidator(_resolved_secret)]
"""A file, or a credential of systemd's as `%d/NAME`."""

# Of what moves, in rad or m: beyond these bounds a number is a mistake, and sums and quotients of such
# numbers would no longer be any.
Place = Annotated[float, Field(strict=True, ge=-1e6, le=1e6)]
Speed = Annotated[float, Field(strict=True, ge=1e-5, le=1e5)]
Acceleration = Annotated[float, Field(strict=True, ge=1e-5, le=1e7)]
Jerk = Annotated[float, Field(strict=True, ge=1e-5, le=1e9)]
Effort = Annotated[float, Field(strict=True, ge=1e-6, le=1e6)]
Mass = Annotated[float, Field(strict=True, gt=0, le=1e4)]
Tolerance = Annotated[float, Field(strict=True, ge=1e-6, le=1e3)]
NotNegativeTolerance = Annotated[float, Field(strict=True, ge=0, le=1)]
Duration = Annotated[float, Field(strict=True, ge=1e-3, le=3600)]
Rate = Annotated[float, Field(strict=True, ge=0, le=200), AfterValidator(_never_or_often_enough)]

Unit = Literal["rad", "m"]
Number = TypeVar("Number")


def _form_of_number(value: Any) -> str:
    return "[by unit]" if isinstance(value, Mapping) else "[number]"


ByUnitOf: TypeAlias = Annotated[
    Annotated[Number, Tag("[number]")]
    | Annotated[Mapping[Unit, Number], Field(min_length=1), Tag("[by unit]")],
    Discriminator(_form_of_number),
]
"""One number where all joints of a robot have one unit, or one for each unit: `{rad: 0.1, m: 0.005}`.

A unit that the mapping leaves out keeps its default.
"""


def by_unit(*, rad: float, m: float) -> dict[Unit, float]:
    """Return a number for each unit, as a default."""
    return {"rad": rad, "m": m}


LOOPBACKS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 # what a configuration may name


def split_place(text: str) -> tuple[str, int]:
    """Split `host:port`; the host comes without brackets."""
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def place(host: str, port: int) -> str:
    """Return `host:port`, as a URL has it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reached_at(host: str) -> str:
    """Return by which address this machine's own programs reach who listens on a host."""
    return LOOPBACKS.get(host, host)
