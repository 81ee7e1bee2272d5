"""The robots' reports in the daemon's log, each at the level that an operator would filter by."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NoReturn

from motiond.text import MOST_LISTED, listed, nearest, shortened

from ..api import RequestError
from ..ipc.states import State
from ..log import LEVELS, level_name, set_level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..api import Report, ReportHub, Subject

log = logging.getLogger(__name__)

LOGGED: frozenset[Subject] = frozenset({"availability", "motions", "state", "result", "event"})
KEPT: frozenset[Subject] = frozenset({"motions", "state"})
LEVEL_OF_EVENT = {
    "marker": logging.DEBUG,  # a loop passes many
    "driver": logging.INFO,
    "back": logging.INFO,
    "rested": logging.INFO,
    "stream_lost": logging.DEBUG,  # whoever lost it has logged it
}
AS_WISHED = {"SUCCESSFUL", "CANCELED", "PREEMPTED"}


async def write_journal(hub: ReportHub) -> NoReturn:
    """Log what the robots report, until cancelled; what has not changed is not logged again."""
    before: dict[tuple[str, Subject], Mapping[str, Any]] = {}
    with hub.subscribe(LOGGED) as reports:
        async for report in reports:
            try:
                log_report(report, before.get((report.robot, report.subject), {}))
            except Exception:  # a report that cannot be logged ends no daemon
                log.exception("%s: %s could not be logged", report.robot, report.subject)
            if report.subject in KEPT:
                before[report.robot, report.subject] = report.data
    raise AssertionError  # a subscription never ends by itself


def log_report(report: Report, before: Mapping[str, Any]) -> None:
    """Log one report, in one line for each fact; `before` is the one before it where these are kept."""
    robot, data = report.robot, report.data
    fields = {"robot": robot, "goal": data.get("goal_id"), "code": data.get("code")}
    match report.subject:
        case "result":
            level = logging.INFO if data["code"] in AS_WISHED else logging.WARNING
            values = (robot, data["motion"], data["code"], data["message"])
            log.log(level, "%s: %s ended with %s; %s", *values, extra=fields)
        case "event":
            level = LEVEL_OF_EVENT.get(data["kind"], logging.WARNING)
            if data["kind"] == "teaching" and "details" not in data:
                level = logging.INFO  # it holds, and neither a joint nor a check is why
            log.log(level, "%s: %s", robot, data["message"], extra=fields)
        case "availability":
            log.info("%s: %s", robot, data["state"], extra=fields)
        case "motions":
            if data != before:
                _log_motions(robot, data["motions"], data.get("more", 0))
        case "state":
            _log_state(robot, data, before, fields)
        case _:
            pass


def _log_state(
    robot: str, data: Mapping[str, Any], before: Mapping[str, Any], fields: Mapping[str, object]
) -> None:
    """Log what has changed: torque, where it is known, a motion that begins, and the state."""
    if data["torque"] != before.get("torque", False) and data["state"] != State.OFFLINE:
        log.info("%s: torque is %s", robot, "on" if data["torque"] else "off", extra=fields)
    if data["goal_id"] not in {None, before.get("goal_id")}:
        log.info("%s: %s begins", robot, data["motion"], extra=fields)
    if data["state"] != before.get("state"):
        log.debug("%s: %s", robot, data["state"], extra=fields)


def _log_motions(robot: str, motions: list[dict[str, object]], more: int) -> None:
    playable = [str(motion["name"]) for motion in motions if motion["ok"]]
    fields = {"robot": robot}
    log.info("%s: motions: %s", robot, listed(playable) or "none", extra=fields)
    unplayable = [motion for motion in motions if not motion["ok"]]
    for motion in unplayable[:MOST_LISTED]:
        log.warning("%s: %s", robot, motion["reason"], extra=fields)
    if len(unplayable) > MOST_LISTED:
        unlisted = len(unplayable) - MOST_LISTED
        log.warning(
            "%s: %d more motions cannot be played; `motiond check` says why", robot, unlisted, extra=fields
        )
    if more:
        log.info("%s: %d more motions; `motiond check` names them", robot, more, extra=fields)


async def serve_log_level(request: Mapping[str, Any]) -> dict[str, Any]:
    """Set the level that a request names, if it names one, and return the one that holds.

    Raises RequestError if there is no such level.
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
