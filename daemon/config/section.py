"""A section of the configuration, and what is raised where one is wrong.

ValueError
├── SettingError     a check of ours failed, inside a section
└── ConfigError      a configuration that cannot be used; `.problems` holds every mistake
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict

from motiond.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers import OptionProblem
    from motiond.formats import Problem


class Section(BaseModel):
    """A mapping of a YAML file; keys that it does not know are refused."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )


class SettingError(ValueError):
    """A check of ours failed, for a validator to raise.

    - `at`: where, with dots, relative to the section that was checked; '' is the section itself
    - `problems`: the mistakes by themselves, where there are several below `at`
    """

    def __init__(self, at: str, message: str, problems: Sequence[OptionProblem] = ()) -> None:
        # pydantic takes no text with half characters, which stand for bytes of a path that are no UTF-8.
        super().__init__(printable(message))
        self.at = tuple(at.split(".")) if at else ()
        self.problems = tuple(problems)


class ConfigError(ValueError):
    """A configuration that cannot be used; `problems` holds every mistake, in the order of the file."""

    exit_code: ClassVar[int] = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
