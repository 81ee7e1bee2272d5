"""XMDI, Webots' motion interchange, to motions.

The specification is J.-P. Egger's "XML Motion Data Interchange Format", 1.0, 2004; its copies have lost the
elements' names, so that a file is read by structure: a root, a container, `<motion>`s in it, `<servo>`s in
these, and in each its positions and their frames. `xmdi.xsd` describes a motion.

Key frames become rows by interpolation; before a servo's first key frame and after its last, its value holds.
Each frame is a row, unless the motion's attribute `rows_per_frame`, which our writer adds, says how many rows
a frame has.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from motiond.text import echoed, nearest

from ..errors import MOST_PROBLEMS, BadText, Problems
from ..io.beginning import first_tag
from ..io.xml.element import Element
from ..io.xml.tree import line_of, parse_xml
from ..model.interpolation import interpolate
from ..model.motion import Motion

if TYPE_CHECKING:
    from ..arrays import Floats
    from ..errors import Where
    from ..io.source import ReadOptions, Source
    from ..io.xml.tree import Xml

NAME, SUFFIXES = "xmdi", (".xmdi",)

ROWS_PER_FRAME = "rows_per_frame"
MOST_ROWS_PER_FRAME = 10_000.0
# Enough for ten thousand servos.
MOST_ELEMENTS = 30_000
# A few keys can stand for any number of rows; bounds on the values that a file makes, in all and per key.
MOST_VALUES, MOST_VALUES_PER_KEY = 1_000_000, 20
ENDLESS = 1e15
# As many as a file's name may have bytes.
LONGEST_NAME = 255
# A last key this little of a frame beyond a row counts as on it: fractions of frames are rounded.
SAME_FRAME = 1e-6
# Decimals of a frame's number; the last one stands for 3e-11 s.
FRAME_DECIMALS = 9

POSITIONS, FRAMES = ("position", "positions"), ("frames", "frame")

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this has `<xmdi>` as its first element, or motions of servos."""
    return first_tag(head) == b"xmdi" or (b"<motion" in head and b"<servo" in head)


def load(data: bytes, source: Source) -> list[Motion]:
    """Read every motion in a file, in rows as `source.options` says.

    Raises `FormatError` with every problem found in it.
    """
    problems = Problems(source.name)
    root = parse_xml(data, problems, long_texts=True)
    elements = sum(1 for _ in root.iter(etree.Element))
    if elements > MOST_ELEMENTS:
        reason = f"{MOST_ELEMENTS} are read"
        raise problems.fail(line_of(root), f"holds {elements} elements", reason, "split the file")
    _drop_namespaces(root)
    tracks = [_read_motion(one) for one in _motions(Element(root, problems))]
    _check_size(tracks)
    problems.raise_if_any()
    return [track.motion(source.options, tuple(problems.warnings)) for track in tracks]


@dataclass(frozen=True, slots=True)
class _Servo:
    """The key frames of one servo; `frames` and `positions` are (keys,)."""

    name: str
    frames: Floats
    positions: Floats
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Track:
    """One motion before it is interpolated."""

    name: str
    where: Where
    attributes: dict[str, str]
    rows_per_frame: float = 1.0
    servos: list[_Servo] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """The number of rows that it takes to reach the last key; at most `ENDLESS`."""
        last = max((float(servo.frames[-1]) for servo in self.servos), default=0.0)
        return math.ceil(min((last - SAME_FRAME) * self.rows_per_frame, ENDLESS)) + 1

    def motion(self, options: ReadOptions, warnings: tuple[str, ...]) -> Motion:
        """Return the motion, with rows interpolated between the key frames."""
        per_frame, kind = self.rows_per_frame, options.interpolation
        at = np.arange(self.rows) / per_frame
        columns = [
            interpolate(at, on_rows(one.frames, per_frame), one.positions, kind) for one in self.servos
        ]
        frame_rate = self.rows_per_frame / options.frame_period_s
        return Motion(
            name=self.name,
            joint_names=tuple(servo.name for servo in self.servos),
            frame_rate=frame_rate,
            times=np.arange(self.rows) / frame_rate,
            positions=np.stack(columns, axis=1),
            metadata={
                "format": NAME,
                "frame_period_s": options.frame_period_s,
                "attributes": self.attributes,
                "servos": {one.name: one.attributes for one in self.servos if one.attributes},
            },
            warnings=warnings,
        )


def frames_of_rows(rows: int, rows_per_frame: float) -> Floats:
    """Return the frame of each row, shape (rows,), which a key frame at a row has in its file bit for bit."""
    return np.round(np.arange(rows) / rows_per_frame, FRAME_DECIMALS)


def on_rows(frames: Floats, rows_per_frame: float) -> Floats:
    """Return key frames without the rounding to decimals where they are at rows: it makes lines steeper."""
    at_rows = np.rint(frames * rows_per_frame) / rows_per_frame
    exact = np.where(np.abs(at_rows - frames) < 10.0**-FRAME_DECIMALS, at_rows, frames)
    return exact if (np.diff(exact) > 0).all() else frames


def _drop_namespaces(root: Xml) -> None:
    """Reduce names to local ones."""
    for xml in root.iter(etree.Element):
        xml.tag = etree.QName(xml).localname


def _motions(root: Element) -> list[Element]:
    motions = []
    for element in (element for container in root.all() for element in container.all()):
        if element.tag == "motion":
            motions.append(element)
        else:
            hint = nearest(element.tag, ["motion"])
            element.where.warn(f"<{element.tag}> is skipped", "a container holds motions", hint)
    if not motions:
        reason = "a root holds a container, and that holds motions"
        root.where.add("there is no <motion>", reason, "write <xmdi><motions><motion …>")
    return motions


def _read_motion(element: Element) -> _Track:
    where, attributes = element.where, _attributes(element)
    name = attributes.pop("name", "").strip()
    label = f"motion '{echoed(name)}'" if name else "a motion"
    if not name:
        where.add("<motion> has no name", "it is required", 'write name="…"')
    if len(name) > LONGEST_NAME:
        problem, reason = f"the motion's name has {len(name)} characters", f"it has at most {LONGEST_NAME}"
        where.add(problem, reason, "shorten it")
    rows_per_frame = _rows_per_frame(where, attributes.pop(ROWS_PER_FRAME, "1"))
    track = _Track(name, where, attributes, rows_per_frame)
    lines: dict[str, int] = {}
    _refuse_text(element)
    for child in element.all():
        if child.tag != "servo":
            hint = nearest(child.tag, ["servo"])
            child.where.add(f"<{child.tag}> in <motion>", f"{label} holds servos", hint)
        elif servo := _read_servo(child, lines):
            track.servos.append(servo)
    if not element.tags():
        where.add(f"{label} has no <servo>", "nothing would move", "add one")
    return track


def _attributes(element: Element) -> dict[str, str]:
    return {str(key): str(value) for key, value in element.xml.attrib.items()}


def _refuse_text(element: Element) -> None:
    for where, text in element.stray_texts():
        where.add(text, "it holds elements", "write a comment as <!-- … -->")


def _rows_per_frame(where: Where, text: str) -> float:
    value = float(text) if _NUMBER.fullmatch(text) else 0.0
    if not 1 / MOST_ROWS_PER_FRAME <= value <= MOST_ROWS_PER_FRAME:
        reason = f"it is a number from {1 / MOST_ROWS_PER_FRAME:g} to {MOST_ROWS_PER_FRAME:g}"
        where.add(f"{ROWS_PER_FRAME} is '{echoed(text)}'", reason, "correct it")
        return 1.0
    return value


def _read_servo(element: Element, lines: dict[str, int]) -> _Servo | None:
    where, attributes = element.where, _attributes(element)
    name = attributes.pop("name", "").strip()
    shown = echoed(name)
    if not name:
        where.add("<servo> has no name", "it is required", 'write name="…"')
    elif name in lines:
        where.add(f"servo '{shown}' stands twice", f"first on line {lines[name]}", "join them")
    lines.setdefault(name, where.line)
    _refuse_text(element)
    children = list(element.all())
    tags = [child.tag for child in children]
    if len(tags) != 2 or tags[0] not in POSITIONS or tags[1] not in FRAMES:
        holds = " and ".join(f"<{echoed(tag)}>" for tag in tags[:4]) or "nothing"
        reason = "it holds one <position>, then one <frames>"
        where.add(f"servo '{shown}' holds {holds}", reason, "correct it")
        return None
    positions, frames = (child.value(_parse_keys, np.empty(0)) for child in children)
    for child in children:
        for key in child.xml.attrib:
            child.where.add(f"<{child.tag}> has the attribute {str(key)!r}", "it may have none", "remove it")
    if not positions.size or not frames.size or not _is_sound(where, shown, positions, frames):
        return None
    return _Servo(name, frames, positions, attributes)


def _parse_keys(text: str) -> Floats:
    """Read a list of finite numbers."""
    words = text.split()
    wrong = next((word for word in words if not _NUMBER.fullmatch(word)), None)
    if wrong is None and words:
        numbers: Floats = np.array(words, np.float64)
        if np.isfinite(numbers).all():
            return numbers
        wrong = words[int(np.flatnonzero(~np.isfinite(numbers))[0])]
    holds = f"holds '{echoed(wrong)}'" if wrong else "is empty"
    raise BadText(holds, "it is a list of finite numbers", "correct it")


def _is_sound(where: Where, name: str, positions: Floats, frames: Floats) -> bool:
    before = len(where.problems.found)
    if len(positions) != len(frames):
        what = f"servo '{name}' has {len(positions)} positions and {len(frames)} frames"
        where.add(what, "each position has its frame", "add the missing")
    if frames[0] < 0:
        what = f"servo '{name}' begins at frame {frames[0]:g}"
        where.add(what, "a motion begins at frame 0", "count from there")
    for key in np.flatnonzero(np.diff(frames) <= 0)[:MOST_PROBLEMS]:
        what = f"servo '{name}' has frame {frames[key + 1]:g} after frame {frames[key]:g}"
        where.add(what, "frames must increase", "correct their order")
    return len(where.problems.found) == before


def _check_size(tracks: list[_Track]) -> None:
    keys = sum(servo.frames.size for track in tracks for servo in track.servos)
    most = max(MOST_VALUES, MOST_VALUES_PER_KEY * keys)
    values = 0
    for track in tracks:
        values += track.rows * len(track.servos)
        if values > most:
            problem = f"motion '{echoed(track.name)}' would have {track.rows} rows"
            reason = f"this file may make {most} positions"
            track.where.add(problem, reason, "check its last frames")
            return
