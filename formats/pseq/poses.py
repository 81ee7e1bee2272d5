"""The key poses of a .pseq file: the joints of each, and what is no matter of joints alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from motiond.text import echoed, listed, nearest

from ..errors import MOST_PROBLEMS
from ..io.joint_names import MOST_JOINTS
from ..io.yaml.tree import Mapping, Scalar, Sequence, as_number, line_of, warn_of_unknown
from .curve import Key

if TYPE_CHECKING:
    from ..errors import Problems
    from ..io.yaml.tree import Value

FURTHEST = 1e6  # in rad, m or s
# Two key poses nearer than this are at one time to Choreonoid.
SAME_TIME_S = 1e-6
WAY_ON = "generate the body motion in Choreonoid, and save that as .seq"
BALANCE = "balance"  # what may be dropped
OR_DROP = f"{WAY_ON}; or convert the joints alone with --drop {BALANCE}"

REF_KEYS = {"time", "maxTransitionTime", "refer"}
POSE_KEYS = {"type", "name", "joints", "q", "spJoints", "ikLinks", "zmp", "isZmpStationaryPoint"}


@dataclass(slots=True)
class Poses:
    """What the poses of a file say, read one by one."""

    problems: Problems
    # whether what needs a body is left out rather than refused
    drops_balance: bool = False
    keys: dict[int, list[Key]] = field(default_factory=dict)  # by the joint's number
    # The first line of each, by the link's name.
    links: dict[str, int] = field(default_factory=dict)  # that have a position of their own
    touching: dict[str, int] = field(default_factory=dict)
    zmp_line: int = 0  # of the first one
    lips_line: int = 0
    end_s: float = 0.0

    def read(self, ref: Value, line: int) -> None:
        """Read a pose and its time; `line` is that of the sequence."""
        line = line_of(ref, line)
        pose = ref.entries["refer"].value if isinstance(ref, Mapping) and "refer" in ref.entries else None
        if not isinstance(ref, Mapping) or not isinstance(pose, Mapping):
            reason = "it has a time, and a pose under `refer`"
            self.problems.add(line, "an item of refs holds no pose", reason, "write it out")
            return
        warn_of_unknown(ref, REF_KEYS, "an item of refs", self.problems)
        time_s, transition_s = (self._seconds(ref, key) for key in ("time", "maxTransitionTime"))
        self.end_s = max(self.end_s, time_s)
        type_ = _text(pose, "type")
        if type_ == "Pose":
            self._read_pose(pose, time_s, transition_s)
        elif type_ == "PronunSymbol":
            self.lips_line = self.lips_line or pose.line
        else:
            what, hint = f"a pose is of type '{echoed(type_)}'", nearest(type_, ["Pose", "PronunSymbol"])
            self.problems.add(pose.line, what, "it is a Pose or a PronunSymbol", hint or "correct it")

    def finish(self) -> None:
        """Put the key poses in order; note what joints alone are no motion of, and what is left out."""
        if self._needs_a_body():
            return
        if self.lips_line:
            what, reason = "PronunSymbols move lips", "the shapes of the lips are in the body's file"
            self.problems.warn(self.lips_line, what, reason, "they are left out")
        if not self.keys:
            self.problems.add(1, "no pose has joints", "nothing would move", "add `joints` and `q`")
            return
        missing = [number for number in range(max(self.keys)) if number not in self.keys]
        if missing:
            what = f"no pose has joint {listed([str(number) for number in missing])}"
            reason = "joints have numbers and no names, so that none may be missing"
            self.problems.add(1, what, reason, "add each to a pose, or " + WAY_ON)
        for joint, keys in self.keys.items():
            # Poses need not stand in order.
            keys.sort(key=lambda key: key.time_s)
            for before, key in pairwise(keys):
                if key.time_s - before.time_s < SAME_TIME_S:
                    what = f"joint {joint} is in two poses at {key.time_s:g} s"
                    self.problems.add(key.line, what, "it cannot be in both", "remove it from one")
            if len(self.problems.found) > MOST_PROBLEMS:
                return

    def _needs_a_body(self) -> bool:
        """Refuse what balance and inverse kinematics make of poses: without these, a body would fall."""
        if self.touching:
            name, line = next(iter(self.touching.items()))
            what = f"link '{echoed(name)}' stands on the ground"
            return self._refused(line, what, "Choreonoid balances a body that stands by a filter")
        if self.zmp_line:
            reason = "Choreonoid's balance filter makes a motion of it"
            return self._refused(self.zmp_line, "a pose has a zero moment point", reason)
        if len(self.links) > 1:
            what = f"links {listed(self.links)} have positions"
            reason = "inverse kinematics moves what is between"
            return self._refused(min(self.links.values()), what, reason)
        for name, line in self.links.items():
            what = f"link '{echoed(name)}' has positions"
            self.problems.warn(line, what, "a motion of joints has none", "they are left out")
        return False

    def _refused(self, line: int, what: str, reason: str) -> bool:
        """Note what joints alone are no motion of; only as an oddity where that is to be left out."""
        if self.drops_balance:
            self.problems.warn(line, what, reason, "it is left out; on these joints a body that stands falls")
        else:
            self.problems.add(line, what, reason, OR_DROP)
        return not self.drops_balance

    def _read_pose(self, pose: Mapping, time_s: float, transition_s: float) -> None:
        warn_of_unknown(pose, POSE_KEYS, "a pose", self.problems)
        self._read_links(pose)
        if "zmp" in pose.entries:
            self.zmp_line = self.zmp_line or pose.entries["zmp"].line
        joints, stops = self._joints(pose, "joints"), set(self._joints(pose, "spJoints"))
        positions = self._items(pose, "q")
        numbers = [number for item in positions if (number := as_number(item)) is not None]
        if len(numbers) < len(positions) or any(abs(number) > FURTHEST for number in numbers):
            reason = f"it holds numbers from {-FURTHEST:g} to {FURTHEST:g}"
            self.problems.add(pose.entries["q"].line, "q holds something else", reason, "correct it")
        elif len(joints) != len(numbers) or len(set(joints)) < len(joints):
            what = f"the pose at {time_s:g} s has {len(set(joints))} joints and {len(numbers)} positions"
            self.problems.add(pose.line, what, "each joint has one", "correct `joints` or `q`")
        else:
            for joint, position in zip(joints, numbers, strict=True):
                key = Key(time_s, transition_s, position, joint in stops, pose.line)
                self.keys.setdefault(joint, []).append(key)

    def _read_links(self, pose: Mapping) -> None:
        for item in self._items(pose, "ikLinks"):
            if not isinstance(item, Mapping):
                line = line_of(item, pose.line)
                self.problems.add(line, "an item of ikLinks is no mapping", "it has keys", "correct it")
                continue
            name = _text(item, "name") or f"number {_text(item, 'index')}"
            if _is_true(item, "isTouching"):
                self.touching.setdefault(name, item.line)
            if not _is_true(item, "isSlave"):
                self.links.setdefault(name, item.line)

    def _joints(self, pose: Mapping, key: str) -> list[int]:
        items = [as_number(item) for item in self._items(pose, key)]
        numbers = [int(item) for item in items if item is not None and item.is_integer()]
        if len(numbers) < len(items) or not all(0 <= number < MOST_JOINTS for number in numbers):
            what, reason = f"{key} holds something else", f"joints are numbers from 0 to {MOST_JOINTS - 1}"
            self.problems.add(pose.entries[key].line, what, reason, "correct it")
            return []
        return numbers

    def _items(self, mapping: Mapping, key: str) -> list[Value]:
        entry = mapping.entries.get(key)
        if entry is None:
            return []
        if not isinstance(entry.value, Sequence):
            self.problems.add(entry.line, f"{key} is no sequence", "it lists values", "write it as [ … ]")
            return []
        return entry.value.items

    def _seconds(self, ref: Mapping, key: str) -> float:
        entry = ref.entries.get(key)
        value = as_number(entry.value) if entry else (None if key == "time" else 0.0)
        if value is None or not 0 <= value <= FURTHEST:
            line = entry.line if entry else ref.line
            what = f"{key} is {'something else' if entry else 'missing'}"
            self.problems.add(line, what, f"it is a number from 0 to {FURTHEST:g}", "correct it")
            return 0.0
        return value


def _text(mapping: Mapping, key: str) -> str:
    value = mapping.entries[key].value if key in mapping.entries else None
    number = as_number(value) if value is not None else None
    return value.text if isinstance(value, Scalar) else "" if number is None else f"{number:g}"


def _is_true(mapping: Mapping, key: str) -> bool:
    return _text(mapping, key).lower() == "true"
