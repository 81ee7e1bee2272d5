"""The section `recording` of a robot: what is recorded, where, and how much of it is kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from motiond.text import echoed

from .section import Section, SettingError
from .state_folder import state_folder
from .types import FilePath

if TYPE_CHECKING:
    from pathlib import Path

SIZE = r"^[0-9]{1,6}(\.[0-9]{1,6})? ?[kMGT]B$"
UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
LEAST_KEPT, MOST_KEPT = UNITS["MB"], 1000 * UNITS["TB"]


def _bytes_of(value: Any) -> int:
    """Return how many bytes a size is, such as `10 GB`."""
    if not isinstance(value, str) or not re.fullmatch(SIZE, value):
        problem = f"'{echoed(str(value))}' is no size; it is a number with kB, MB, GB or TB"
        raise SettingError("", f"{problem}; write it as in 10 GB")
    size = round(float(value[:-2]) * UNITS[value[-2:]])
    if not LEAST_KEPT <= size <= MOST_KEPT:
        raise SettingError("", f"{value} is out of range; it must be 1 MB to 1000 TB; correct it")
    return size


Size = Annotated[int, BeforeValidator(_bytes_of, json_schema_input_type=Annotated[str, Field(pattern=SIZE)])]
"""In bytes; `10 GB` is 10,000,000,000."""


class RecordingSettings(Section):
    """What is recorded of a robot."""

    folder: FilePath | None = None
    """Where recordings lie; by default `recordings/ROBOT` in the daemon's state folder."""
    when: Literal["always", "motion", "request"] = "request"
    """All the time, each motion from its beginning to its result, or only what is asked for."""
    keep: Size = Field(default="10 GB", validate_default=True)
    """The robot's recordings take no more than this; the oldest are removed, except those that are kept."""
    minutes: Annotated[float, Field(strict=True, ge=0.1, le=1440)] = 30.0
    """A recording that becomes longer goes on in another file."""
    evidence: bool = False
    """Whether what it proves of each run is left beside each recording, as JSON and as JUnit XML."""

    def folder_of(self, robot: str) -> Path | None:
        """Return where the recordings of a robot lie; None where there is no place for them."""
        state = state_folder()
        return self.folder or (None if state is None else state / "recordings" / robot)
