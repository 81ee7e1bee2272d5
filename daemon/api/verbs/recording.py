"""What is recorded of a robot, and the recordings that there are."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from ..reports import Why
from .verb import Name, Request, Verb


class StartRecordingRequest(Request):
    """Record every tick from now on."""

    name: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    """A part of the file's name."""


class StartRecordingAnswer(TypedDict):
    """What is recorded now."""

    file: str
    """Its name, in the folder for recordings."""


class StopRecordingRequest(Request):
    """End what is recorded, whatever began it; answered once the file is whole."""


class StopRecordingAnswer(TypedDict):
    """What was recorded; of one that went over several files, the last."""

    file: str
    ticks: int
    gaps: int
    """How many times ticks are missing between two that are there."""
    duration_s: float
    """From the first tick to the last."""
    bytes: int


class RecordingsRequest(Request):
    """List the robot's recordings, the newest first."""


class ListedRecording(TypedDict):
    """A recording; null stands for what its file does not say, as one that is damaged."""

    name: str
    file: str
    bytes: int
    began_utc: str | None
    duration_s: float | None
    ticks: int | None
    gaps: int | None
    why: Why | None
    motions: list[str]
    """Whose results are in it."""
    codes: list[str]
    """With which codes they ended."""
    kept: bool
    """Whether it is marked to be kept: nothing removes it but a request."""
    is_written: bool
    """Whether it goes on."""


class RecordingsAnswer(TypedDict):
    """The robot's recordings, the newest first."""

    recordings: list[ListedRecording]
    """At most 200 of those that are finished, and the one that is being written."""
    count: int
    """How many there are, those included that are not listed."""
    bytes: int
    """What all of them take, those included that are not listed."""
    keep_bytes: int
    """What they may take."""


class KeepRecordingRequest(Request):
    """Mark a recording to be kept, or take the mark off."""

    name: Name
    """With or without `.mcap`."""
    keep: bool


class KeepRecordingAnswer(TypedDict):
    """Whether it is kept now."""

    file: str
    kept: bool


class DeleteRecordingRequest(Request):
    """Remove a recording."""

    name: Name
    """With or without `.mcap`."""


class DeleteRecordingAnswer(TypedDict):
    """What was removed."""

    file: str


RECORDING_VERBS = tuple(
    Verb(name, request, answer, begins=False, interferes=False, needs_lease=needs_lease, is_logged=is_logged)
    for name, request, answer, needs_lease, is_logged in (
        ("record/start", StartRecordingRequest, StartRecordingAnswer, False, True),
        ("record/stop", StopRecordingRequest, StopRecordingAnswer, False, True),
        ("recordings", RecordingsRequest, RecordingsAnswer, False, False),
        ("recordings/keep", KeepRecordingRequest, KeepRecordingAnswer, True, True),
        ("recordings/delete", DeleteRecordingRequest, DeleteRecordingAnswer, True, True),
    )
)
