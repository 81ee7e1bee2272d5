"""HEBI modules that fail as real ones do, behind the part of hebi-py that the driver uses.

Messages (`GroupCommand`, `GroupFeedback`) are the vendor's own. The lookup and the groups are fakes: modules
release when their commands end, drop out, report late, and set their flags. `test_fake_hebi.py` compares the
signatures with the vendor's.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from hebi._internal.ffi import api, ctypes_defs, enums

from motiond.drivers.hebi.gains import FIELDS, LOOPS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

UNLOCKED, LOCKED_BY_OTHER, LOCKED_BY_SENDER = range(3)
REPORTED = (*FIELDS, "control_strategy", *(f"{loop}_d_on_error" for loop in LOOPS))
NAN = math.nan
FRICTION = 5.0  # N·m·s/rad
EFFORT_CONTROL = {"control_strategy": 4.0, "effort_kp": 0.25, "effort_feed_forward": 1.0}
"""What modules need to act on efforts alone."""


@dataclass(slots=True)
class FakeModule:
    """One module; tests set what it reports and does."""

    name: str
    position: float = 0.0
    mstop_state: int = 1
    temperature_state: int = 0
    position_limit_state: int = 2
    temperature_c: float = 30.0
    effort: float | None = None
    orientation: tuple[float, float, float, float] | None = (1.0, 0.0, 0.0, 0.0)
    limits: tuple[float, float] = (-math.inf, math.inf)
    lost: bool = False
    mute: bool = False
    jammed: bool = False
    commanded_by_other: bool = False
    deaf: bool = False
    goal: tuple[float, float, float] = (NAN, NAN, NAN)
    alive_until_s: float = -math.inf
    settings: dict[str, float] = field(default_factory=dict)

    def take(self, goal: tuple[float, float, float], until_s: float) -> None:
        if not (self.lost or self.commanded_by_other or self.deaf):
            self.goal, self.alive_until_s = goal, until_s

    def move(self, now_s: float) -> None:
        if now_s > self.alive_until_s:
            self.goal = (NAN, NAN, NAN)
        follows = self.mstop_state == 1 and self.temperature_state < 2 and not self.jammed
        if follows and math.isfinite(self.goal[0]):
            self.position = self.goal[0]

    def sink(self, weight: float, passed_s: float) -> None:
        """Move by what the effort does not carry, against the friction of a gear."""
        if not math.isfinite(self.goal[0]):
            carried = self.goal[2] if math.isfinite(self.goal[2]) else 0.0
            self.position += (carried - weight) * passed_s / FRICTION

    def lifetime_state(self, now_s: float) -> int:
        if self.commanded_by_other:
            return LOCKED_BY_OTHER
        return LOCKED_BY_SENDER if now_s <= self.alive_until_s else UNLOCKED


@dataclass(frozen=True, slots=True)
class FakeEntry:
    """A module that the lookup has seen."""

    family: str
    name: str
    is_stale: bool = False


class FakeLookup:
    """A network of modules of one family; `entrylist` also has modules that are gone.

    `of_groups`: what every group has, such as `reticent`.
    """

    def __init__(self, modules: Sequence[FakeModule], now: Callable[[], float], **of_groups: Any) -> None:
        self.modules = {module.name: module for module in modules}
        self.now = now
        self.groups: list[FakeGroup] = []
        self.of_groups = of_groups

    def __getitem__(self, name: str) -> FakeModule:
        return self.modules[name]

    @property
    def entrylist(self) -> list[FakeEntry | None]:
        return [FakeEntry("Arm", module.name, module.lost) for module in self.modules.values()]

    @property
    def group(self) -> FakeGroup:
        """The last group of all modules."""
        return next(group for group in reversed(self.groups) if group.size == len(self.modules))

    def get_group_from_names(
        self, families: str | list[str], names: str | list[str], timeout_ms: float | None = None
    ) -> FakeGroup:
        del families, timeout_ms
        group = FakeGroup([self.modules[name] for name in names], self.now)
        for name, value in self.of_groups.items():
            setattr(group, name, value)
        self.groups.append(group)
        return group


class FakeGroup:
    """A group as `get_group_from_names` returns it.

    `delay_s`: how old feedback is when it arrives, in s. `withholds`: whether one lost module keeps back the
    feedback of all, as in hebi-py. `lost_acknowledgements`: how many of the next acknowledgements get lost.
    `forgets`: settings that the modules ignore. `reticent`: whether the modules keep their settings to
    themselves. `weigh`: what gravity exerts on each module at their positions, so that a module without a
    goal moves by what its effort does not carry.
    """

    def __init__(self, modules: Sequence[FakeModule], now: Callable[[], float]) -> None:
        self._modules = modules
        self._now = now
        self._past: deque[tuple[float, list[list[tuple[str, Any, Any]]]]] = deque(maxlen=50)
        self.command_lifetime = 0
        self._requested = False
        self.feedback_frequency = 100.0
        self.delay_s = 0.0
        self.withholds = False
        self.lost_acknowledgements = 0
        self.forgets: set[str] = set()
        self.reticent = False
        self.weigh: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]] | None = None
        self._moved_s = now()

    @property
    def size(self) -> int:
        return len(self._modules)

    def send_command(self, group_command: Any) -> bool:
        self._move()
        until_s = self._now() + (self.command_lifetime / 1000 or math.inf)
        fields = (group_command.position, group_command.velocity, group_command.effort)
        for module, goal in zip(self._modules, np.transpose(fields).tolist(), strict=True):
            module.take(tuple(goal), until_s)
        self._move()
        return True

    def send_command_with_acknowledgement(self, group_command: Any, timeout_ms: int | None = None) -> bool:
        del timeout_ms
        if self.lost_acknowledgements > 0:
            self.lost_acknowledgements -= 1
            return False
        for name in REPORTED:
            for module, value in zip(self._modules, getattr(group_command, name), strict=True):
                if name not in self.forgets and np.isfinite(value):
                    module.settings[name] = float(value)
        return True

    def request_info(self, timeout_ms: float | None = None, reuse_info: Any = None) -> Any:
        del timeout_ms, reuse_info
        if self.reticent or any(module.lost or module.mute for module in self._modules):
            return None
        settings = {
            name: np.array([module.settings.get(name, NAN) for module in self._modules]) for name in REPORTED
        }
        limits = np.array([module.limits for module in self._modules])
        return SimpleNamespace(position_limit_min=limits[:, 0], position_limit_max=limits[:, 1], **settings)

    def send_feedback_request(self) -> bool:
        self._requested = True
        return True

    def get_next_feedback(self, timeout_ms: float | None = None, reuse_fbk: Any = None) -> Any:
        del timeout_ms
        if not self.feedback_frequency and not self._requested:
            return None
        self._move()
        now_s = self._now()
        self._past.append((now_s, [self._report(module, now_s) for module in self._modules]))
        arrived = [reports for sent_s, reports in self._past if sent_s <= now_s - self.delay_s]
        if not arrived or not any(arrived[-1]) or (self.withholds and not all(arrived[-1])):
            return None
        reuse_fbk.clear()
        for ref, report in zip(reuse_fbk.refs, arrived[-1], strict=True):
            for kind, number, value in report:
                _put(ref, kind, number, value)
        return reuse_fbk

    def _move(self) -> None:
        now_s = self._now()
        for module in self._modules:
            module.move(now_s)
        passed_s, self._moved_s = now_s - self._moved_s, now_s
        if self.weigh is not None:
            weights = self.weigh(np.array([module.position for module in self._modules]))
            for module, weight in zip(self._modules, weights.tolist(), strict=True):
                module.sink(weight, passed_s)

    def _report(self, module: FakeModule, now_s: float) -> list[tuple[str, Any, Any]]:
        """Return the fields that a module reports: their kind, the vendor's number, and the value."""
        if module.lost or module.mute:
            return []
        floats, states = enums.FeedbackFloatField, enums.FeedbackEnumField
        report: list[tuple[str, Any, Any]] = [
            ("high_res_angle", enums.FeedbackHighResAngleField.Position, module.position),
            ("float", floats.Velocity, 0.0),
            ("float", floats.MotorWindingTemperature, module.temperature_c),
            ("enum", states.MstopState, module.mstop_state),
            ("enum", states.TemperatureState, module.temperature_state),
            ("enum", states.PositionLimitState, module.position_limit_state),
            ("enum", states.CommandLifetimeState, module.lifetime_state(now_s)),
            ("float", floats.Effort, module.effort),
            ("quaternionf", enums.FeedbackQuaternionfField.Orientation, module.orientation),
        ]
        return [field for field in report if field[2] is not None]


def _put(ref: Any, kind: str, number: Any, value: Any) -> None:
    """Fill in one field of a module's feedback, and mark it as sent."""
    fields = getattr(ref, f"{kind}_fields_")
    if kind == "high_res_angle":
        turns = round(value / (2 * math.pi))
        angle = fields[number.value]
        angle.revolutions_, angle.offset_ = turns, value - turns * 2 * math.pi
    elif kind == "quaternionf":
        for index, part in enumerate(value):
            fields[number.value].data[index] = part
    else:
        fields[number.value] = value
    metadata = ctypes_defs.HebiFeedbackMetadata()
    api.hebiFeedbackGetMetadata(metadata)
    bit = getattr(metadata, f"{kind}_field_bitfield_offset_") + number.value
    ref.message_bitfield_[bit // 32] |= 1 << bit % 32
