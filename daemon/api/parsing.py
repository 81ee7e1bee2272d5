"""A request on its way in: as a transport received it, and how it is checked."""

from __future__ import annotations

import json
import re
import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import orjson
from pydantic import BaseModel, ValidationError

from motiond.text import echoed, nearest

from .errors import RequestError, RequestProblem
from .verbs import VERBS
from .verbs.verb import MOST_BYTES, MOST_VALUES, Request, Verb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_core import ErrorDetails

MOST_KEYS, MOST_LEVELS = 100, 64
ENTRIES_A_VALUE = 1 / 4  # of one list or object, at most
MOST_PROBLEMS, MOST_PROBLEM_BYTES = 10, 1500  # of a refusal, so that it fits in 4 kB
MOST_HINTS = 3  # of likely spellings, which cost more than all else of a refusal
_PYDANTICS = re.compile(r"^.*? should | or instance of \w+$| after validation.*$")
"""What is left out of "Input should be …", "List should have at least 1 item after validation, not 0"."""


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
        Who sent it, as the transport knows them and the log names them; '' where it does not.
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
        return f"{echoed(self.robot)}/{echoed(self.verb)}"


def parse(raw: RawRequest, verbs: Mapping[str, Verb] = VERBS) -> Request:
    """Check a request; `verbs` are those that there are, by default those of robots.

    Raises
    ------
    RequestError
        UNKNOWN_VERB; INVALID_REQUEST with every problem, one a line; or the transport's own refusal. It
        carries the request's transaction where there is one.
    """
    body = _body(raw, verbs)
    try:
        request = _validated(raw, body, verbs)
        _refuse_levels(raw, body)
        _refuse_repeated_keys(raw)
    except RequestError as error:
        error.transaction, error.target_of = _transaction(body), _target_of(raw, body, verbs)
        raise
    return request


def stop_without_keys(raw: RawRequest, error: RequestError) -> Request | None:
    """Return the stop that a request asks for although `parse` refused it; None where there is none.

    A transport's refusal stands: what was retained or overtaken is not what somebody wants now.
    """
    if error.code != "INVALID_REQUEST" or raw.refusal is not None:
        return None
    verb = VERBS.get(raw.verb)
    return verb.request(transaction=error.transaction) if verb is not None and verb.stops else None


def _transaction(body: dict[str, Any]) -> str | None:
    """Return the transaction of a request that is refused, if it has one that can be sent back."""
    try:
        return Request.model_validate({"transaction": body.get("transaction")}).transaction
    except ValidationError:
        return None


def most_bytes(verb: str, verbs: Mapping[str, Verb] = VERBS) -> int:
    """Return how long the payload of a request for a verb may be, whether there is such a verb or not."""
    return verbs[verb].most_bytes if verb in verbs else MOST_BYTES


def is_crowded(text: bytes | str, most: int = MOST_VALUES) -> bool:
    """Whether a JSON text may hold more values than a request has; quicker than to read it.

    Commas and brackets that stand in strings count as well.
    """
    first, second, third = (",", "[", "{") if isinstance(text, str) else (b",", b"[", b"{")
    return text.count(first) + text.count(second) + text.count(third) > most  # type: ignore[arg-type]


def _body(raw: RawRequest, verbs: Mapping[str, Verb]) -> dict[str, Any]:
    """Read the JSON object that a request carries; an empty payload is an empty object.

    What costs the least is looked at first: whoever sends many of these must not hold up others' stops.
    """
    size, most = len(raw.payload), most_bytes(raw.verb, verbs)
    if size > most:
        raise _invalid(raw, f"{size} bytes", f"a request has at most {most}", "send less")
    most_values = verbs[raw.verb].most_values if raw.verb in verbs else MOST_VALUES
    if is_crowded(raw.payload, most_values):
        raise crowded(raw.where, most_values)
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
    most_entries = int(most_values * ENTRIES_A_VALUE)
    for key, value in body.items():
        if isinstance(value, dict | list) and len(value) > most_entries:
            problem, reason = f"'{echoed(key)}' has {len(value)} entries", f"it may have {most_entries}"
            raise _invalid(raw, problem, reason, "leave some out")
    return body


def checked(raw: RawRequest, body: dict[str, Any]) -> Request:
    """Check the body of a request that its transport has read already; raises as `parse`."""
    try:
        request = _validated(raw, body, VERBS)
        if raw.message:
            _refuse_repeated_keys(raw)
    except RequestError as error:
        error.target_of = _target_of(raw, body, VERBS)
        raise
    return request


def _target_of(raw: RawRequest, body: dict[str, Any], verbs: Mapping[str, Verb]) -> str | None:
    """Return the goal that a target names; None of any other request."""
    verb, goal_id = verbs.get(raw.verb), body.get("goal_id")
    return goal_id if verb is not None and verb.streams and isinstance(goal_id, str) else None


def _validated(raw: RawRequest, body: dict[str, Any], verbs: Mapping[str, Verb]) -> Request:
    if raw.refusal is not None:
        raise raw.refusal
    if raw.verb not in verbs:
        known, hint = f"motiond knows {', '.join(verbs)}", nearest(echoed(raw.verb), verbs)
        raise RequestError("UNKNOWN_VERB", raw.where, "unknown verb", known, hint)
    kind = verbs[raw.verb].request
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True)
        raise RequestError.of_several("INVALID_REQUEST", _problems(raw, kind, body, found)) from error


def _refuse_levels(raw: RawRequest, body: dict[str, Any]) -> None:
    """Refuse what nests as deep as no request, whatever the Python reads."""
    level: list[Any] = [body]
    for _ in range(MOST_LEVELS):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise _too_deep(raw)


def _too_deep(raw: RawRequest) -> RequestError:
    return _invalid(raw, "it nests too deeply", f"a request has at most {MOST_LEVELS} levels", "correct it")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


class _RepeatedKeyError(Exception):
    """A key stands twice in one object."""


def _refuse_repeated_keys(raw: RawRequest) -> None:
    """Refuse an object that has two values for one key, of which a parser takes the last.

    It is looked for only where nothing else is wrong: orjson does not report it, and `json` takes several
    times as long, which a flood of large requests must not cost.
    """
    text = raw.message or raw.payload or "{}"
    try:
        READER.decode(text if isinstance(text, str) else text.decode())
    except _RepeatedKeyError as error:
        problem, reason = f"'{echoed(str(error))}' stands twice", "one key has one value"
        raise _invalid(raw, problem, reason, "leave one out") from error
    except RecursionError as error:
        raise _too_deep(raw) from error


def _once(pairs: list[tuple[str, Any]]) -> None:
    """Look at the keys of one object."""
    seen = set()
    for key, _ in pairs:
        if key in seen:
            raise _RepeatedKeyError(key)
        seen.add(key)


READER = json.JSONDecoder(object_pairs_hook=_once, parse_int=str, parse_float=str)
"""Looks at keys alone."""


def _problems(
    raw: RawRequest, kind: type[Request], body: dict[str, Any], found: list[ErrorDetails]
) -> list[RequestProblem]:
    """Return what is wrong: at most `MOST_PROBLEMS`, no more than fit."""
    problems: list[RequestProblem] = []
    room = MOST_PROBLEM_BYTES
    for place, details in enumerate(found[:MOST_PROBLEMS]):
        problem = _problem(details, raw, kind, body, hints=place < MOST_HINTS)
        room -= len(str(problem).encode())
        if room < 0 and problems:
            break
        problems.append(problem)
    if len(found) > len(problems):
        more = f"{len(found) - len(problems)} more problems"
        problems.append(RequestProblem(raw.where, more, hint="correct these first"))
    return problems


def crowded(where: str, most: int = MOST_VALUES) -> RequestError:
    """Return the refusal of a request of too many values."""
    problem, reason = f"more than {most} values", "no request has so many"
    return RequestError("INVALID_REQUEST", where, problem, reason, "leave some out")


def _invalid(raw: RawRequest, problem: str, reason: str, hint: str, field: str = "") -> RequestError:
    return RequestError("INVALID_REQUEST", raw.where, problem, reason, hint, field=field)


def _problem(
    found: ErrorDetails, raw: RawRequest, kind: type[Request], body: dict[str, Any], *, hints: bool
) -> RequestProblem:
    """Return what pydantic has found, as a problem."""
    path = _path(found["loc"], body)
    if found["type"] == "missing" and path[-1] != found["loc"][-1]:
        path.append(str(found["loc"][-1]))
    field = echoed(".".join(path))
    key = field or raw.verb
    if found["type"] == "extra_forbidden":
        owner = kind if len(path) == 1 else _object_under(path[0], kind) if len(path) == 2 else None
        if owner is None:
            return RequestProblem(raw.where, f"unknown key '{key}'", "", "leave it out", field)
        names = [entry.alias or name for name, entry in owner.model_fields.items()]
        known = sorted(names, key=Request.model_fields.__contains__)  # its own keys first
        reason = f"{raw.verb if owner is kind else path[0]} knows {', '.join(known)}"
        hint = nearest(path[-1], known) if hints else ""
        return RequestProblem(raw.where, f"unknown key '{key}'", reason, hint, field)
    if found["type"] == "missing":
        return RequestProblem(raw.where, f"'{key}' is missing", f"{raw.verb} needs it", "add it", field)
    own = found.get("ctx", {}).get("error")
    reason = str(own) if own else f"it must {_PYDANTICS.sub('', found['msg'])}"
    if not path:  # of the whole request, which may hold a lease that no log is to show
        return RequestProblem(raw.where, reason, hint="correct it")
    return RequestProblem(
        raw.where, f"'{key}' is {reprlib.repr(found['input'])}", reason, "correct it", field
    )


def _path(loc: tuple[int | str, ...], body: dict[str, Any]) -> list[str]:
    """Return the keys that lead to a problem through the request, with places in lists: `steps[2]`, `speed`.

    Other parts of a `loc` name members of unions, or mean that a key itself is wrong.
    """
    path, inside = [str(part) for part in loc[:1]], body.get(str(loc[0])) if loc else None
    for part in loc[1:]:
        if isinstance(inside, dict) and part in inside:
            path.append(str(part))
            inside = inside[part]
        elif isinstance(inside, list) and isinstance(part, int):
            path[-1] += f"[{part}]"
            inside = inside[part]
    return path


def _object_under(key: str, kind: type[Request]) -> type[BaseModel]:
    """Return what stands under a key whose value is an object, or a list of them."""
    annotation = kind.model_fields[key.partition("[")[0]].annotation
    kinds = get_args(annotation) or (annotation,)
    return next(one for one in kinds if isinstance(one, type) and issubclass(one, BaseModel))
