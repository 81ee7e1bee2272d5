"""What the subcommands for files share: options, and how they are understood."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from motiond.formats import ReadOptions

RobotOfFile = Annotated[
    str | None, typer.Option("--name", help="Which robot of the description, where it holds several.")
]
MotionOfFile = Annotated[
    str | None, typer.Option("--motion", help="Which motion of the file, where it holds several.")
]
InterpolationName = Literal["hold", "linear", "cubic", "smooth"]
MapFile = Annotated[
    Path | None,
    typer.Option("--map", metavar="FILE", help="A motion map: columns to joints, with signs and units."),
]
Unit = Literal["rad", "deg", "m", "cm", "mm", "SI"]
Units = Annotated[
    Unit | None, typer.Option(help="Of columns for which neither the file nor the map states one.")
]
FileRate = Annotated[
    float | None, typer.Option("--file-rate", metavar="HZ", help="Rows per second of a file without times.")
]
Topic = Annotated[
    str | None, typer.Option(metavar="NAME", help="Which topic of a recording that holds several.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many processes read files at once.")]


def reading_options(
    map_file: Path | None, units: Unit | None, file_rate: float | None, topic: str | None
) -> "ReadOptions":
    """Return how motions are to be read; what is given comes before what the map says."""
    from motiond.formats import MotionMap, ReadOptions, load_map

    map_ = load_map(map_file) if map_file else None
    if units:
        map_ = replace(map_ or MotionMap(), units=units)
    try:
        return ReadOptions(rate_hz=file_rate, topic=topic, map=map_)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--file-rate") from error


def names_in(text: str | None) -> tuple[str, ...]:
    """Take `a,b,…` apart."""
    return tuple(name.strip() for name in text.split(",")) if text is not None else ()


def refuse_without(needed: str, options: Mapping[str, object], hint: str = "remove it") -> None:
    """Refuse options that say nothing without another one."""
    for option, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"it has no effect without {needed}; {hint}", param_hint=option)


@contextmanager
def hints_for_options() -> Iterator[None]:
    """Raise a refusal to lose something with the option that permits it."""
    from motiond.formats import FormatError
    from motiond.formats.io import Loss

    try:
        yield
    except FormatError as error:
        raise FormatError(
            [
                replace(one, hint=f"to lose it, add --drop '{one.name}'") if isinstance(one, Loss) else one
                for one in error.problems
            ]
        ) from error
