"""The hierarchy of a BVH file, which names the channels, and with them the columns of the frames."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from motiond.text import echoed, nearest, printable

from ..io.joint_names import NAME_RULE, can_be_shown

if TYPE_CHECKING:
    from ..errors import Problems

MOST_CHANNELS = 10_000

# Some programs write `ZPosition`.
_CHANNELS = {f"{axis}{kind}": f"{axis.upper()}{kind}" for kind in ("position", "rotation") for axis in "xyz"}
_KEYWORDS = ("ROOT", "JOINT", "End Site", "OFFSET", "CHANNELS")
_BRACES = re.compile(r"([{}])")


class Column(NamedTuple):
    """A channel of a joint."""

    name: str  # such as `Hips.Zrotation`
    is_angle: bool


class _Part(NamedTuple):
    name: str  # '' of an end site
    line: int

    def __str__(self) -> str:
        return f"'{echoed(self.name)}'" if self.name else "an end site"


@dataclass(slots=True)
class Skeleton:
    """What the hierarchy says, read line by line."""

    problems: Problems
    columns: list[Column] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)  # of the joints, by name
    moved: set[str] = field(default_factory=set)  # the joints that have channels
    begun: _Part | None = None  # whose brace is still to come
    open: list[_Part] = field(default_factory=list)

    def read(self, line: str, number: int) -> None:
        """Read a line between HIERARCHY and MOTION."""
        for statement in _BRACES.split(line):
            keyword, *rest = statement.split(None, 1) or [""]
            text = "".join(rest).strip()
            match keyword:
                case "{":
                    self._open(number)
                case "}":
                    self._close(number)
                case "ROOT" | "JOINT":
                    self._begin_joint(keyword, text, number)
                case "End":
                    self.begun = _Part("", number)
                case "CHANNELS":
                    self._read_channels(text.split(), number)
                case "OFFSET" if len(text.split()) != 3:
                    count = len(text.split())
                    self.problems.add(number, f"OFFSET has {count} numbers", "it has three", "correct it")
                case "OFFSET" | "HIERARCHY" | "":
                    pass
                case _:
                    hint = nearest(keyword, _KEYWORDS) or "remove it"
                    what, reason = f"'{echoed(keyword)}' begins a line", "a hierarchy has no such part"
                    self.problems.add(number, what, reason, hint)

    def end(self, number: int) -> list[Column]:
        """Return the columns; `number` is the line on which the hierarchy ends."""
        if self.open:
            what = f"the brace of {self.open[-1]} on line {self.open[-1].line} is not closed"
            self.problems.add(number, what, "the hierarchy ends here", "close it")
        if not self.columns and not self.problems.found:
            self.problems.add(number, "no joint has channels", "nothing would move", "add CHANNELS")
        return self.columns

    def _open(self, number: int) -> None:
        if self.begun is None:
            reason = "there is no ROOT, JOINT or End Site before it"
            self.problems.add(number, "a brace is opened", reason, "remove it")
        self.open.append(self.begun or _Part("", number))
        self.begun = None

    def _close(self, number: int) -> None:
        if self.open:
            self.open.pop()
        else:
            self.problems.add(number, "a brace is closed", "none is open", "remove it")

    def _begin_joint(self, keyword: str, name: str, number: int) -> None:
        before = len(self.problems.found)
        if not name:
            self.problems.add(number, f"{keyword} has no name", "its channels are called by it", "add one")
        elif not can_be_shown(name):
            what = f"a joint is called '{echoed(printable(name))}'"
            self.problems.add(number, what, NAME_RULE, "rename it")
        elif name in self.lines:
            what, reason = f"joint '{echoed(name)}' stands twice", f"first on line {self.lines[name]}"
            self.problems.add(number, what, reason, "rename one")
        # What is wrong with a name is not wrong with its channels too.
        name = name if len(self.problems.found) == before else f"of line {number}"
        self.lines[name] = number
        self.begun = _Part(name, number)

    def _read_channels(self, words: list[str], number: int) -> None:
        joint = self.open[-1].name if self.open else ""
        channels = [_CHANNELS.get(word.lower(), "") for word in words[1:]]
        if not joint or joint in self.moved:
            what = (
                f"a second CHANNELS for '{echoed(joint)}'" if joint else "CHANNELS stands outside of a joint"
            )
            self.problems.add(number, what, "each joint has its own", "correct the braces")
        elif "" in channels:
            wrong = words[1 + channels.index("")]
            reason = "a channel is one of Xposition to Zposition and Xrotation to Zrotation"
            self.problems.add(number, f"a channel is '{echoed(wrong)}'", reason, "correct it")
        elif words[:1] != [str(len(channels))] or len(set(channels)) < len(channels):
            what = f"CHANNELS states {echoed(words[0]) if words else 'none'} and names {len(set(channels))}"
            self.problems.add(number, what, "they are counted, then named once each", "correct it")
        elif len(self.columns) + len(channels) > MOST_CHANNELS:
            reason = f"{MOST_CHANNELS} are read"
            raise self.problems.fail(number, "there are too many channels", reason, "split the file")
        self.moved.add(joint)
        self.columns += [Column(f"{joint}.{one}", one.endswith("rotation")) for one in channels]
