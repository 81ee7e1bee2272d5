"""Every verb, declared once: what a request holds, what its answer holds, and who acts on it."""

# ruff: noqa: F403, F405 - the face is what these modules name
from __future__ import annotations

from typing import TYPE_CHECKING

from .actuators import *
from .control import *
from .following import *
from .gamepad import *
from .groups import *
from .history import *
from .looking import *
from .playing import *
from .queue import *
from .recording import *
from .stopping import *
from .teaching import *
from .verb import *

if TYPE_CHECKING:
    from collections.abc import Mapping

VERBS: Mapping[str, Verb] = {
    verb.name: verb
    for subject in (
        PLAYING_VERBS,
        FOLLOWING_VERBS,
        ACTUATORS_VERBS,
        QUEUE_VERBS,
        STOPPING_VERBS,
        TEACHING_VERBS,
        CONTROL_VERBS,
        LOOKING_VERBS,
        RECORDING_VERBS,
        GAMEPAD_VERBS,
        GROUPS_VERBS,
        HISTORY_VERBS,
    )
    for verb in subject
}
STOPS = frozenset(name for name, verb in VERBS.items() if verb.stops)
STREAMED_VERBS = frozenset(name for name, verb in VERBS.items() if verb.streams)
