"""A request on its way in: as a transport received it, the verbs that are served, and how it is checked."""

from __future__ import annotations

import json
import re
import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, get_args

import orjson
from pydantic import BaseModel, ValidationError

from motiond.text import nearest

from . import schemas
from .errors import RequestError
from .schemas import Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_core import ErrorDetails

    from .lease import Lease

MOST_BYTES, MOST_BYTES_WITHOUT_JOINTS = 65_536, 16_384
MOST_VALUES, MOST_ENTRIES, MOST_KEYS, MOST_LEVELS = 1024, 256, 100, 64
MOST_PROBLEMS, MOST_TOLD_BYTES = 20, 3500  # of what an answer tells, so that it fits in 4 kB
MOST_HINTS = 3  # of likely spellings, which cost more than all else of a refusal
LONGEST_WORD = 60


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request as a transport received it, unchecked.

    Attributes
    ----------
    robot, verb : str
        Of any spelling; only known ones are served.
    payload : bytes
        What the client sent, of any kind and length.
    caller : str
        Who sent it, as the transport knows them; '' where it does not.
    deadline_s : float or None
        Unix time in seconds from which on it is not to be served any more.
    refusal : RequestError or None
        Why the transport does not want it served.
    message : bytes or str
        The JSON text of which the payload was a part, as it was sent; '' where it was none.
    """

    robot: str
    verb: str
    payload: bytes
    caller: str = ""
    deadline_s: float | None = None
    refusal: RequestError | None = None
    message: bytes | str = ""

    @property
    def where(self) -> str:
        """The robot and the verb, as messages name them: `arm/play`."""
        return f"{_short(self.robot)}/{_short(self.verb)}"


@dataclass(frozen=True, slots=True)
class Verb:
    """How one verb is served.

    Attributes
    ----------
    schema : type of Request
        What its JSON object holds.
    handler : str
        The method of the robot's request handlers that acts on it.
    stops : bool
        Whether it stops the robot, as those of `names.STOPS` do: served however many requests are being
        served, as often as it is sent, and whatever it carries, since whoever sends it wants the robot to
        stop.
    begins : bool
        Whether it may set the robot going, so that a stop that was sent later must not find it done.
    interferes : bool
        Whether it is refused while the robot is reserved for a start of its group.
    needs_lease : bool
        Whether only who is in control may ask for it, where a lease is required.
    most_bytes : int
        How long its payload may be.
    """

    schema: type[Request]
    handler: str
    stops: bool = False
    begins: bool = False
    interferes: bool = False
    needs_lease: bool = True
    most_bytes: int = MOST_BYTES_WITHOUT_JOINTS


VERBS: dict[str, Verb] = {
    "play": Verb(schemas.PlayRequest, "play", begins=True, interferes=True, most_bytes=MOST_BYTES),
    "goto": Verb(schemas.GotoRequest, "goto", begins=True, interferes=True, most_bytes=MOST_BYTES),
    "enable": Verb(schemas.EnableRequest, "enable", begins=True, interferes=True),
    "disable": Verb(schemas.DisableRequest, "disable", interferes=True),
    "torque": Verb(schemas.TorqueRequest, "switch_torque", begins=True, interferes=True),
    "pause": Verb(schemas.PauseRequest, "pause"),
    "resume": Verb(schemas.ResumeRequest, "resume", begins=True, interferes=True),
    "speed": Verb(schemas.SpeedRequest, "set_speed", begins=True, interferes=True),
    "seek": Verb(schemas.SeekRequest, "seek", begins=True, interferes=True),
    "queue": Verb(schemas.QueueRequest, "list_queue", needs_lease=False),
    "queue/remove": Verb(schemas.RemoveFromQueueRequest, "remove_from_queue"),
    "queue/move": Verb(schemas.MoveInQueueRequest, "move_in_queue"),
    "queue/clear": Verb(schemas.ClearQueueRequest, "clear_queue"),
    "stop": Verb(schemas.StopRequest, "stop", stops=True, needs_lease=False),
    "estop": Verb(schemas.EstopRequest, "estop", stops=True, needs_lease=False),
    "reset": Verb(schemas.ResetRequest, "reset", begins=True, interferes=True),
    "servo/reboot": Verb(schemas.RebootServosRequest, "reboot_servos", interferes=True),
    "fault": Verb(schemas.FaultRequest, "inject_fault", most_bytes=MOST_BYTES),
    "lease/acquire": Verb(schemas.AcquireLeaseRequest, "acquire_lease", needs_lease=False),
    "lease/renew": Verb(schemas.RenewLeaseRequest, "renew_lease", needs_lease=False),
    "lease/release": Verb(schemas.ReleaseLeaseRequest, "release_lease", needs_lease=False),
    "lease/take": Verb(schemas.TakeLeaseRequest, "take_lease", needs_lease=False),
    "status": Verb(schemas.StatusRequest, "status", needs_lease=False),
    "motions/delete": Verb(schemas.DeleteMotionRequest, "delete_motion"),
    "motions/reload": Verb(schemas.ReloadMotionsRequest, "reload_motions"),
    "fleet/prepare": Verb(schemas.PrepareRequest, "prepare", begins=True, most_bytes=MOST_BYTES),
    "fleet/release": Verb(schemas.ReleaseStartRequest, "release_start"),
}
STOPS = frozenset(name for name, verb in VERBS.items() if verb.stops)
SCHEMAS: dict[str, type[Request]] = {name: verb.schema for name, verb in VERBS.items()}

FLEET_SCHEMAS: dict[str, type[Request]] = {
    "commit": schemas.CommitRequest,
    "release": schemas.ReleaseStartsRequest,
}
"""What those hold, by verb."""
GROUP_SCHEMAS: dict[str, type[Request]] = {
    "play": schemas.GroupPlayRequest,
    **{verb: VERBS[verb].schema for verb in ("stop", "estop", "pause", "resume")},
}
"""What a group of robots can be asked for by HTTP, by verb."""


class Commands(Protocol):
    """The one who acts on requests: all robots, or a test's stand-in."""

    @property
    def robots(self) -> tuple[str, ...]:
        """The names of all robots."""

    @property
    def leases(self) -> Mapping[str, Lease]:
        """The lease of each robot that requires one."""

    async def handle(self, robot: str, verb: str, request: Request) -> dict[str, Any]:
        """Act on a request and return the data of its answer.

        Raises
        ------
        RequestError
            If it is refused.
        """


def parse(raw: RawRequest, schemas: Mapping[str, type[Request]] = SCHEMAS) -> Request:
    """Check a request.

    Parameters
    ----------
    schemas : mapping of str to type of Request, optional
        What each verb takes; by default, those of robots.

    Raises
    ------
    RequestError
        UNKNOWN_VERB; INVALID_REQUEST with every problem, one a line; or the transport's own refusal. It
        carries the request's transaction where there is one.
    """
    body = _body(raw)
    try:
        return _checked(raw, body, schemas)
    except RequestError as error:
        error.transaction = _transaction(body)
        raise


def stop_without_keys(raw: RawRequest, error: RequestError) -> Request | None:
    """Return the stop that a request asks for although `parse` found fault with it; None where there is none.

    A transport's refusal stands: what was retained or overtaken is not what somebody wants now.
    """
    if error.code != "INVALID_REQUEST" or raw.refusal is not None:
        return None
    verb = VERBS.get(raw.verb)
    return verb.schema(transaction=error.transaction) if verb is not None and verb.stops else None


def _transaction(body: dict[str, Any]) -> str | None:
    """Return the transaction of a request that is refused, if it has one that can be sent back."""
    try:
        return Request.model_validate({"transaction": body.get("transaction")}).transaction
    except ValidationError:
        return None


def most_bytes(verb: str) -> int:
    """Return how long the payload of a request for a verb may be, whether there is such a verb or not."""
    return VERBS[verb].most_bytes if verb in VERBS else MOST_BYTES


def is_crowded(text: bytes | str) -> bool:
    """Whether a JSON text may hold more values than a request has; quicker than to read it.

    Commas and brackets that stand in strings count as well.
    """
    first, second, third = (",", "[", "{") if isinstance(text, str) else (b",", b"[", b"{")
    return text.count(first) + text.count(second) + text.count(third) > MOST_VALUES  # type: ignore[arg-type]


def _body(raw: RawRequest) -> dict[str, Any]:
    """Read the JSON object that a request carries; an empty payload is an empty object.

    What costs the least is looked at first: whoever sends many of these must not hold up others' stops.
    """
    size, most = len(raw.payload), most_bytes(raw.verb)
    if size > most:
        raise _invalid(raw, f"{size} bytes", f"a request has at most {most}", "send less")
    if is_crowded(raw.payload):
        raise crowded(raw.where)
    try:
        body = orjson.loads(raw.payload or b"{}")
    except orjson.JSONDecodeError as error:
        problem = f"not JSON at line {error.lineno} column {error.colno}"
        raise _invalid(
            raw, problem, "a request is a JSON object in UTF-8, without NaN", "correct it"
        ) from error
    if not isinstance(body, dict):
        raise _invalid(raw, f"{reprlib.repr(body)} is no JSON object", "", "put keys and values in { }")
    if len(body) > MOST_KEYS:  # to find fault with each of them would hold up others
        raise _invalid(raw, f"{len(body)} keys", f"a request has at most {MOST_KEYS}", "leave some out")
    for key, value in body.items():
        if isinstance(value, dict | list) and len(value) > MOST_ENTRIES:
            problem, reason = f"'{_short(key)}' has {len(value)} entries", f"it may have {MOST_ENTRIES}"
            raise _invalid(raw, problem, reason, "leave some out")
    return body


def _checked(raw: RawRequest, body: dict[str, Any], schemas: Mapping[str, type[Request]]) -> Request:
    if raw.refusal is not None:
        raise raw.refusal
    if raw.verb not in schemas:
        known, hint = f"motiond knows {', '.join(schemas)}", nearest(_short(raw.verb), schemas)
        raise RequestError("UNKNOWN_VERB", raw.where, "unknown verb", known, hint)
    schema = schemas[raw.verb]
    try:
        request = schema.model_validate(body)
    except ValidationError as error:
        raise RequestError.of("INVALID_REQUEST", _told(raw, schema, body, error)) from error
    _refuse_levels(raw, body)
    _refuse_repeated_keys(raw)
    return request


def _refuse_levels(raw: RawRequest, body: dict[str, Any]) -> None:
    """Refuse what nests as deep as no request, whatever the Python reads."""
    level: list[Any] = [body]
    for _ in range(MOST_LEVELS):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise _invalid(raw, "it nests too deeply", f"a request has at most {MOST_LEVELS} levels", "correct it")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


class _RepeatedKeyError(Exception):
    """A key stands twice in one object."""


def _refuse_repeated_keys(raw: RawRequest) -> None:
    """Refuse what says two things at once, of which a parser takes the last.

    It is looked for only where nothing else is wrong: orjson cannot tell, and `json` takes several times as
    long, which a flood of large requests must not cost.
    """
    try:
        json.loads(
            raw.message or raw.payload or "{}", object_pairs_hook=_once, parse_int=str, parse_float=str
        )
    except _RepeatedKeyError as error:
        problem, reason = f"'{_short(str(error))}' stands twice", "one key has one value"
        raise _invalid(raw, problem, reason, "leave one out") from error
    except RecursionError as error:
        reason = f"a request has at most {MOST_LEVELS} levels"
        raise _invalid(raw, "it nests too deeply", reason, "correct it") from error


def _once(pairs: list[tuple[str, Any]]) -> None:
    """Look at the keys of one object."""
    seen = set()
    for key, _ in pairs:
        if key in seen:
            raise _RepeatedKeyError(key)
        seen.add(key)


def _told(raw: RawRequest, schema: type[Request], body: dict[str, Any], error: ValidationError) -> str:
    """Return what is wrong, one problem a line: at most `MOST_PROBLEMS`, no more than fit."""
    found = error.errors(include_url=False, include_context=False)
    lines: list[str] = []
    room = MOST_TOLD_BYTES
    for place, one in enumerate(found[:MOST_PROBLEMS]):
        line = str(_invalid(raw, *_problem(one, raw.verb, schema, body, hints=place < MOST_HINTS)))
        room -= len(line.encode())
        if room < 0 and lines:
            break
        lines.append(line)
    if len(found) > len(lines):
        lines.append(f"{raw.where}: {len(found) - len(lines)} more problems; correct these first")
    return "\n".join(lines)


def _short(word: str) -> str:
    """Return a client's word, cut where it is longer than any of ours."""
    return word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}…"


def crowded(where: str) -> RequestError:
    """Return the refusal of a request of too many values."""
    problem, reason = f"more than {MOST_VALUES} values", "no request has so many"
    return RequestError("INVALID_REQUEST", where, problem, reason, "leave some out")


def _invalid(raw: RawRequest, problem: str, reason: str, hint: str) -> RequestError:
    return RequestError("INVALID_REQUEST", raw.where, problem, reason, hint)


def _problem(
    found: ErrorDetails, verb: str, schema: type[Request], body: dict[str, Any], *, hints: bool
) -> tuple[str, str, str]:
    """Say what pydantic found in the house's words."""
    path = _path(found["loc"], body)
    key = ".".join(map(_short, path)) or verb
    match found["type"]:
        case "extra_forbidden":
            owner = schema if len(path) == 1 else _object_under(path[0], schema)
            known = sorted(owner.model_fields, key=Request.model_fields.__contains__)  # its own keys first
            who = verb if owner is schema else path[0]
            hint = nearest(path[-1], known) if hints else ""
            return f"unknown key '{key}'", f"{who} knows {', '.join(known)}", hint
        case "missing":
            return f"'{key}' is missing", f"{verb} needs it", "add it"
        case _:
            must = re.sub(r"^\w+ should", "it must", found["msg"].removeprefix("Value error, "))
            return f"'{key}' is {reprlib.repr(found['input'])}", must, "correct it"


def _path(loc: tuple[int | str, ...], body: dict[str, Any]) -> list[str]:
    """Return the keys that lead to a problem: of an object's, the inner one as well.

    Other parts of a `loc` name members of unions, or say that a key itself is wrong.
    """
    inside = body.get(str(loc[0])) if loc else None
    depth = 2 if len(loc) > 1 and isinstance(inside, dict) and loc[1] in inside else 1
    return [str(part) for part in loc[:depth]]


def _object_under(key: str, schema: type[Request]) -> type[BaseModel]:
    """Return what stands under a key whose value is an object."""
    kinds = get_args(schema.model_fields[key].annotation)
    return next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))
