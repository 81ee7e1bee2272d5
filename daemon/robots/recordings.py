"""What writes the recordings of a robot, with what each of its files says of it and carries."""

from __future__ import annotations

from functools import cache, partial
from itertools import compress
from typing import TYPE_CHECKING, Any

import orjson

from ..config.secrets import without_password
from ..recording import RecordingAbout, RecordingFiles, RecordingFolder, RobotDescription, leave_evidence
from .payloads import VERSION, description_payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.formats import RobotModel

    from ..clock import ClockMonitor
    from ..config.settings import Settings
    from ..planning import MotionLibrary
    from ..recording import Recording

SECRETS = ("password", "token", "secret")
BLANK = "…"


def make_recordings(
    name: str, settings: Settings, model: RobotModel | None, library: MotionLibrary, clock: ClockMonitor
) -> RecordingFiles:
    """Make what writes a robot's recordings; nothing is opened yet.

    - `library`: its motions, with the limits of its joints as far as they are known by then
    """
    robot, joint_map = settings.robots[name], library.joint_map
    attachments: list[tuple[str, Callable[[], bytes]]] = [
        ("motiond.json", partial(configuration, settings, name)),
        ("description.json", lambda: orjson.dumps(description_payload(library.joint_map, robot, None))),
    ]
    if robot.model is not None:
        attachments.append((robot.model.file.name, robot.model.file.read_bytes))
    description = cache(partial(RobotDescription.of, model, joint_map.joints)) if model else lambda: None

    def describe(recording: Recording) -> RecordingAbout:
        return RecordingAbout(
            robot=name,
            daemon=settings.id,
            driver=robot.driver.type,
            version=VERSION,
            joints=joint_map.joints,
            units=joint_map.units,
            continuous=tuple(compress(joint_map.joints, joint_map.continuous)),
            unix_less_monotonic_s=recording.offset_s,
            began_unix_s=recording.began_unix_s,
            clock=clock.state,
            why=recording.why,
            name=recording.name,
            description=description(),
        )

    folder = RecordingFolder(name, robot.recording.folder_of(name), robot.recording.keep)
    return RecordingFiles(
        folder,
        describe,
        attachments,
        longest_s=60.0 * robot.recording.minutes,
        is_virtual=robot.clock == "virtual",
        finished=leave_evidence if robot.recording.evidence else lambda _: None,
    )


def configuration(settings: Settings, robot: str) -> bytes:
    """Return the configuration of the daemon and of one of its robots, as JSON, without passwords."""
    one = settings.model_copy(update={"robots": {robot: settings.robots[robot]}})
    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(_blanked(one.model_dump()), default=str, option=options)


def _blanked(value: Any, key: str = "") -> Any:
    """Return a value with a blank for what may be a secret."""
    if isinstance(value, dict):
        return {name: _blanked(part, str(name)) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_blanked(part, key) for part in value]
    if isinstance(value, str) and key.lower().endswith(SECRETS):
        return BLANK
    return without_password(value) if isinstance(value, str) and "://" in value else value
