"""Requests that somebody hostile could send: made from the schemas of the verbs, or broken byte by byte.

Nothing here can set a robot going. Its motion has a name that nobody guesses, it has no poses, a joint that
it has is asked to go where it cannot, and such bytes are not edited. Only of the robot that somebody else is
in control of, the goal is known by which it follows. Nor does anything take away the torque of the other one,
which anybody may: a robot that holds shows more.
"""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from fuzz.edits import Edit
from motiond.daemon.api import MOST_BYTES, VERBS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

ROBOTS = ("guarded", "open")
JOINTS = ("shoulder", "elbow")
RELEASES = {"guarded": {"estop"}, "open": {"estop", "disable", "torque", "teach/start"}}
"""What takes away the torque of each robot, and is not refused."""
OTHER_ROBOTS = ("", "nobody", "GUARDED", "open ", "a" * 3000, "..", "%2e%2e", "\N{SNOWMAN}", "$SYS")
OTHER_VERBS = (
    "",
    "plya",
    "PLAY",
    "play/",
    "queue//clear",
    "v" * 3000,
    "lease",
    "response/play",
    "\N{SNOWMAN}",
)
TEXTS = (
    "", " ", "a", "x" * 201, "x" * 1021, "y" * 60_000, "\0", "\n", "\x1b[2J", "\u202e", "\ufffe",
    "\N{GRINNING FACE}" * 300, "null", "true", "1", "1e999", "NaN", "../../etc/passwd", "%s%n", "{0}",
    "' OR 1=1", "forever", "queue", "replace", "reject", "approach", "__proto__", "<script>",
)  # fmt: skip
NUMBERS = (
    "0", "-0.0", "1", "-1", "0.1", "0.09999999999999999", "10", "10.000000000000002", "1e308", "-1e308",
    "1e309", "1e-320", "NaN", "Infinity", "-Infinity", "9007199254740993", "18446744073709551616",
    "-9223372036854775809", "1" * 400, "1" * 5000, "0." + "3" * 5000, "1000000001", "1763800000000", "0x10",
    "1_000", "01", "+1", ".5",
)  # fmt: skip
VALUES = (0.0, 0.3, -2.1, 1e-320, 1e308, -1e308, math.nan, math.inf, -math.inf)
STAMPS = (math.nan, 0.0, -1.0, 1e9, 1.8e9, 1e308, math.inf)
DEEP = (2, 60, 250, 300, 1000, 1100, 20_000)
OPCODES = (1, 1, 1, 1, 1, 0, 2, 2, 3, 7, 8, 9, 10, 11, 15)
HOST = "Host: localhost\r\n"
UPLOAD = f"Content-Type: application/octet-stream\r\n{HOST}"
HANDSHAKE = f"{HOST}Upgrade: websocket\r\nConnection: Upgrade\r\n"
HEADS = (
    f"GET / HTTP/1.1\r\n{HOST}\r\n",
    f"GET /api/robots HTTP/1.1\r\n{HOST}Host: other\r\n\r\n",
    f'POST /api/robots/open/play HTTP/1.1\r\n{HOST}Content-Length: 14\r\n\r\n{{"motion":"x"}}',
    f"POST /api/robots/open/play HTTP/1.1\r\n{HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2",
    f"POST /api/robots/guarded/pause HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
    f"GET /api/ws HTTP/1.1\r\n{HANDSHAKE}Sec-WebSocket-Version: 99\r\nSec-WebSocket-Key: short\r\n\r\n",
    "PUT /api/robots/open/status HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n",
    f"POST /api/robots/open/motions/upload?name=../x.seq HTTP/1.1\r\n{UPLOAD}Content-Length: 1\r\n\r\na",
    f'POST /api/login HTTP/1.1\r\n{HOST}Content-Length: 12\r\n\r\n{{"token":""}}',
    f"GET /api/robots/open/meshes/999999999999999999999 HTTP/1.1\r\n{HOST}\r\n",
    f"GET /api/robots/open/motions/%00/plan HTTP/1.1\r\n{HOST}Cookie: a=b; a=c\r\n\r\n",
)


class Request(NamedTuple):
    """A request before it is sent in one way or the other."""

    robot: str
    verb: str
    body: bytes


class Hostile:
    """Makes hostile requests.

    Parameters
    ----------
    rng : random.Random
    leases : sequence of str
        What looks like a lease and gives no control: one of long ago, parts of the one that is valid.
    goals : sequence of str
        The ids by which the guarded robot follows, or has followed.
    """

    def __init__(self, rng: random.Random, leases: Sequence[str], goals: Sequence[str]) -> None:
        self._rng = rng
        self._goals = goals
        transactions = [f"t{number}" for number in range(50)]
        self._known = {"lease": (leases, 0.8), "goal_id": (goals, 0.7), "transaction": (transactions, 0.5)}
        self._schemas = {verb: VERBS[verb].request.model_json_schema() for verb in VERBS}

    def request(self) -> Request:
        """Return any request."""
        rng = self._rng
        robot = rng.choice(ROBOTS)
        verb = rng.choice([verb for verb in VERBS if verb not in RELEASES[robot]])
        if rng.random() < 0.03:
            robot = rng.choice(OTHER_ROBOTS)
        if rng.random() < 0.05:
            verb = rng.choice(OTHER_VERBS)
        return Request(robot, verb, self._body(verb))

    def head(self) -> bytes:
        """Return a request of HTTP, byte by byte."""
        return self._edited(self._rng.choice(HEADS).encode("latin-1"))

    def frame(self) -> bytes:
        """Return a frame of a WebSocket (RFC 6455, section 5.2), mostly a malformed one."""
        rng = self._rng
        robot, verb, body = self.request()
        text = (
            f'{{"id":1,"robot":{json.dumps(robot)},"verb":{json.dumps(verb)},"body":'.encode() + body + b"}"
        )
        if rng.random() < 0.3:
            text = self.target()
        payload = self._edited(text)[: rng.choice((0, 1, 125, 126, 65_535, 70_000, 70_000))]
        first = rng.choice(OPCODES) | rng.choice((0x80, 0x80, 0x80, 0x80, 0x00, 0xF0, 0xC0))
        told = len(payload)
        if rng.random() < 0.4:
            told = rng.choice((told + 1, 0, 2**16, 2**31, 2**63 - 1, 2**64 - 1))
        mask = rng.choice((0x80, 0x80, 0x80, 0x00))
        if told < 126:
            length = bytes([mask | told])
        elif told < 2**16 and rng.random() < 0.8:
            length = bytes([mask | 126]) + struct.pack("!H", told)
        else:
            length = bytes([mask | 127]) + struct.pack("!Q", told)
        key = rng.randbytes(4) if mask else b""
        masked = bytes(byte ^ key[at % 4] for at, byte in enumerate(payload)) if mask else payload
        return bytes([first]) + length + key + masked

    def target(self) -> bytes:
        """Return a binary frame of a target, for a robot of which somebody else is in control."""
        rng = self._rng
        if rng.random() < 0.4:  # nothing is wrong with it but who sends it
            return struct.pack("<B16sddd", 1, bytes.fromhex(self._goals[-1]), math.nan, 0.3, -0.3)
        kind = rng.choice((1, 1, 2, 3, 4, 4, 0, 5, 9, 255))
        goal_id = bytes.fromhex(rng.choice(self._goals)) if rng.random() < 0.8 else rng.randbytes(16)
        head = struct.pack("<B16sd", kind, goal_id, rng.choice(STAMPS))
        if kind == 4:
            head += struct.pack("<dd", rng.choice(STAMPS), rng.choice((*VALUES, 0.02)))
        count = rng.choice((0, 1, 2, 2, 2, 6, 200, 8000))
        values = struct.pack(f"<{count}d", *rng.choices(VALUES, k=count))
        return (head + values)[: rng.choice((0, 24, 25, 33, *[MOST_BYTES] * 8))]

    def message(self) -> str:
        """Return a text message of a WebSocket that is meant as a request."""
        rng = self._rng
        robot, verb, body = self.request()
        told = body.decode(errors="replace") or "{}"
        number = rng.choice(("1", '"a"', "null", "1.5", "1e999", f'"{"i" * 300}"', "[]"))
        parts = [
            f'"id":{number}',
            f'"robot":{json.dumps(robot)}',
            f'"verb":{json.dumps(verb)}',
            f'"body":{told}',
        ]
        if rng.random() < 0.1:
            parts.append(rng.choice((*parts[:3], '"more":1', '"watching":true')))
        rng.shuffle(parts)
        return "{" + ",".join(parts) + "}"

    # -- bodies ---------------------------------------------------------------------------------------------

    def _body(self, verb: str) -> bytes:
        rng = self._rng
        kind = rng.random()
        if kind < 0.04:
            return rng.randbytes(rng.choice((0, 1, 10, 1000)))
        if kind < 0.06:
            return rng.choice((b"x", b" ", b"[", b'{"a":')) * rng.choice((MOST_BYTES, MOST_BYTES + 1, 30_000))
        if kind < 0.12:
            return self._value(rng.choice(DEEP)).encode()[: 4 * MOST_BYTES]
        body = self._object(verb).encode("utf-8", "surrogatepass")
        if kind < 0.35 and not any(joint.encode() in body for joint in JOINTS):
            return self._edited(body)
        return body

    def _edited(self, data: bytes) -> bytes:
        for _ in range(self._rng.randint(1, 3)):
            data = Edit.at_random(self._rng).apply(data, ())
        return data

    def _object(self, verb: str) -> str:
        """Return a JSON object with keys that the verb knows, and values that it may not."""
        rng = self._rng
        schema = self._schemas.get(verb, self._schemas["play"])
        properties = schema["properties"]
        keys = set(schema.get("required", ()))
        keys |= set(rng.sample(sorted(properties), rng.randint(0, min(4, len(properties)))))
        pairs = [(key, self._value_of(key, properties[key], schema.get("$defs", {}))) for key in sorted(keys)]
        if rng.random() < 0.2:
            pairs.append((rng.choice(TEXTS), self._value()))
        if pairs and rng.random() < 0.1:
            pairs.append((rng.choice(pairs)[0], self._value()))
        if rng.random() < 0.02:
            pairs += [(f"k{number}", "0") for number in range(rng.choice((99, 101, 5000)))]
        return _object(pairs)

    def _value_of(self, key: str, schema: dict[str, Any], definitions: dict[str, Any]) -> str:
        """Return a value for a key: a border of what it takes, or what it does not take at all."""
        rng = self._rng
        if key == "joints" and schema.get("type") != "array":
            return self._joints()
        known, often = self._known.get(key, ((), 0.0))
        if rng.random() < often:
            return json.dumps(rng.choice(known))
        if rng.random() < 0.2:
            return self._value()
        kind = rng.choice(schema.get("anyOf", [schema]))
        if "$ref" in kind:
            inner = definitions[kind["$ref"].rpartition("/")[2]]["properties"]
            some = rng.sample(sorted(inner), rng.randint(0, len(inner)))
            return _object([(one, self._value_of(one, inner[one], definitions)) for one in some])
        return self._array(kind) if kind.get("type") == "array" else self._of_type(kind)

    def _array(self, kind: dict[str, Any]) -> str:
        least, most = kind.get("minItems", 0), kind.get("maxItems", 30)
        count = max(0, self._rng.choice((least, least, least - 1, most, most + 1, 3000)))
        items = kind["items"]
        if items.get("type") == "array":
            return _list(_list(map(self._of_type, [items["items"]] * len(JOINTS))) for _ in range(count))
        return _list(map(self._of_type, [items] * count))

    def _of_type(self, kind: dict[str, Any]) -> str:
        rng = self._rng
        kind = rng.choice(kind.get("anyOf", [kind]))
        if "enum" in kind:
            return json.dumps(rng.choice((*kind["enum"], kind["enum"][0].upper())))
        if "const" in kind or kind.get("type") == "boolean":
            return rng.choice((json.dumps(kind.get("const", False)), "true", "0", '"true"'))
        match kind.get("type"):
            case "string":
                least, most = kind.get("minLength", 0), kind.get("maxLength", 100)
                return json.dumps("m" * max(0, rng.choice((least, least - 1, most, most + 1, 8))))
            case "integer" | "number":
                borders = [kind[one] for one in ("minimum", "maximum") if one in kind] or [0]
                border = rng.choice(borders)
                return rng.choice(
                    (repr(border), repr(border + 1), repr(border - 1), repr(border * (1 + 1e-15)))
                )
            case "object":
                count = rng.choice((0, 1, 30, 3000))
                return _object([(rng.choice((*TEXTS[:4], *JOINTS)), self._number()) for _ in range(count)])
        return "null"

    def _joints(self) -> str:
        """Return where joints are to go: others than the robot has, or places that it does not reach."""
        rng = self._rng
        beyond = ("2.1", "-2.0000001", "1e6", "-1000001", "1e308", "NaN", "null", '"0"', "true", "[]")
        own = [(joint, rng.choice(beyond)) for joint in rng.sample(JOINTS, rng.randint(1, 2))]
        others = [(rng.choice(("wrist", "Shoulder", "", *TEXTS[:4])), self._number())]
        return _object(rng.choice((own, others, own + others, [])))

    def _number(self) -> str:
        return self._rng.choice(NUMBERS)

    def _value(self, levels: int = 0) -> str:
        """Return any value, or something that looks like one; perhaps many levels of it."""
        rng = self._rng
        if levels:
            begin, end = rng.choice((("[", "]"), ('{"a":', "}"), ('{"motion":', "}")))
            return begin * levels + "1" + end * rng.choice((levels, levels, levels, levels - 1))
        choices: tuple[Callable[[], str], ...] = (
            self._number,
            lambda: json.dumps(rng.choice(TEXTS), ensure_ascii=rng.random() < 0.5),
            lambda: rng.choice(
                ("null", "true", "false", "[]", "{}", '"\\ud800"', '"\\u0000"', "'a'", "nul", "")
            ),
            lambda: "[" + ",".join(["0"] * rng.choice((1, 100, 20_000))) + "]",
            lambda: self._value(rng.choice(DEEP[:4])),
        )
        return rng.choice(choices)()


def _list(values: Iterable[str]) -> str:
    return "[" + ",".join(values) + "]"


def _object(pairs: Sequence[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in pairs) + "}"
