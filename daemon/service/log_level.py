"""From which level on the daemon logs, as it is asked for."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from motiond.text import listed, nearest, shortened

from ..api import RequestError
from ..log import LEVELS, level_name, set_level

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)


async def serve_log_level(request: Mapping[str, Any]) -> dict[str, Any]:
    """Set the level that a request names, if it names one, and return the one that holds.

    Raises Refused if there is no such level.
    """
    if (wanted := request.get("level")) is not None:
        name = str(wanted)
        if name not in LEVELS:
            hint = nearest(name, LEVELS)
            problem, reason = f"log-level: no level '{shortened(name, 60)}'", f"there are {listed(LEVELS)}"
            raise RequestError.of(
                "INVALID_REQUEST", "; ".join(part for part in (problem, reason, hint) if part)
            )
        before = level_name()
        set_level(name)
        log.warning("the log level is %s now; it was %s", name, before)
    return {"level": level_name()}
