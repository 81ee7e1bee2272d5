from __future__ import annotations

import orjson
import pytest

from motiond.daemon.api import VERBS, PlayRequest, RawRequest, RequestError, StopRequest, parse

JSON = "a request is a JSON object in UTF-8, without NaN; correct it"
UNIX = "it must be Unix time in s, from 0 to 1e+10"
KNOWN = (
    "play knows motion, speed, loop, ping_pong, first, last, seam, path_tolerance, "
    "goal_tolerance, goal_time_tolerance, source, additive, weight, ramp_s, start_at, on_busy, blend_s, "
    "transaction, expires_at, lease"
)


def refused(robot: str, verb: str, payload: bytes) -> str:
    with pytest.raises(RequestError) as caught:
        parse(RawRequest(robot, verb, payload))
    assert caught.value.code == "INVALID_REQUEST" or verb not in VERBS
    return str(caught.value)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"x" * 65537, "65537 bytes; a request has at most 65536; send less"),
        (b'{\n "speed": NaN}', f"not JSON at line 2 column 11; {JSON}"),
        (b'{"motion": "\xff"}', f"not JSON at line 1 column 1; {JSON}"),
        (b"[1, 2]", "[1, 2] is no JSON object; put keys and values in { }"),
    ],
    ids=["large", "NaN", "no UTF-8", "list"],
)
def test_a_payload_that_is_no_json_object_is_refused(payload: bytes, message: str) -> None:
    assert refused("arm", "play", payload) == f"arm/play: {message}"


def test_an_empty_list_is_refused() -> None:
    assert refused("arm", "servo/clear", b'{"servos": []}') == (
        "arm/servo/clear: 'servos' is []; it must have at least 1 item; correct it"
    )


PROBLEMS: tuple[tuple[dict[str, object], list[str]], ...] = (
    ({"sped": 1}, [f"unknown key 'sped'; {KNOWN}; did you mean 'speed'?"]),
    (
        {"last": {"fram": 1}},
        ["unknown key 'last.fram'; last knows frame, time, marker; did you mean 'frame'?"],
    ),
    ({"motion": ""}, ["'motion' is ''; it must have at least 1 character; correct it"]),
    ({"speed": True}, ["'speed' is True; it must be a valid number; correct it"]),
    ({"first": {"frame": 1.5}}, ["'first.frame' is 1.5; it must be a valid integer; correct it"]),
    ({"first": {}}, ["'first' is {}; it must name one of frame, time and marker; correct it"]),
    ({"path_tolerance": {"": 1}}, ["'path_tolerance.' is ''; it must have at least 1 character; correct it"]),
    (
        {"path_tolerance": {"e" * 200: "x"}},
        [f"'path_tolerance.{'e' * 44}…' is 'x'; it must be a valid number; correct it"],
    ),
    (
        {"loop": {"constrained": 1}},
        [
            f"'loop' is {{'constrained': 1}}; it must be {one}; correct it"
            for one in ("a valid integer", "'forever'")
        ],
    ),
    (
        {"motion": None, "loops": 2},
        [
            "'motion' is None; it must be a valid string; correct it",
            f"unknown key 'loops'; {KNOWN}; did you mean 'loop'?",
        ],
    ),
    ({"start_at": 1.7e308}, [f"'start_at' is 1.7e+308; {UNIX}; correct it"]),
    ({"start_at": 2e12}, [f"'start_at' is 2000000000000.0; {UNIX}, and looks like milliseconds; correct it"]),
    (
        {"start_at": 2e15},
        [f"'start_at' is 2000000000000000.0; {UNIX}, and looks like microseconds; correct it"],
    ),
    (
        {"on_busy": "blend", "blend_s": 0.5},
        ["blend_s goes with on_busy 'queue'; 'blend' takes over at once, by a way of its own; correct it"],
    ),
    ({"blend_s": 0.5}, ["blend_s goes with on_busy 'queue', and without start_at; correct it"]),
    ({"expires_at": 2e18}, [f"'expires_at' is 2e+18; {UNIX}, and looks like nanoseconds; correct it"]),
)


@pytest.mark.parametrize(("body", "problems"), PROBLEMS)
def test_every_problem_of_a_request_is_told(body: dict[str, object], problems: list[str]) -> None:
    message = "\n".join(f"arm/play: {problem}" for problem in problems)
    assert refused("arm", "play", orjson.dumps({"motion": "wave"} | body)) == message


def test_a_key_that_is_missing_is_named() -> None:
    assert refused("arm", "play", b"") == "arm/play: 'motion' is missing; play needs it; add it"


STEP = "steps[2] knows motion, blend_s, pause_s, repeat, speed"


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ({"motion": "nod", "blend_s": -1}, "'steps[2].blend_s' is -1; it must be greater than or equal to 0"),
        ({"motion": 3}, "'steps[2].motion' is 3; it must be a valid string"),
        ("nod", "'steps[2]' is 'nod'; it must be a valid dictionary"),
        ({"motion": "nod", "blend": 1}, f"unknown key 'steps[2].blend'; {STEP}; did you mean 'blend_s'?"),
        ({"repeat": 2}, "'steps[2].motion' is missing; sequence needs it; add it"),
    ],
)
def test_a_problem_of_a_step_names_it_and_its_key(step: object, problem: str) -> None:
    steps = [{"motion": "wave"}, {"motion": "wave"}, step]
    hint = "" if problem.endswith(("?", "add it")) else "; correct it"
    assert refused("arm", "sequence", orjson.dumps({"steps": steps})) == f"arm/sequence: {problem}{hint}"


def test_a_problem_of_a_row_names_its_place() -> None:
    chunk = {"goal_id": "a", "positions": [[0.1, 0.2], [0.1, "far"]], "period_s": 0.02}
    assert refused("arm", "follow/chunk", orjson.dumps(chunk)) == (
        "arm/follow/chunk: 'positions[1][1]' is 'far'; it must be a valid number; correct it"
    )


BEYOND: tuple[tuple[str, dict[str, object]], ...] = (
    ("play", {"motion": "m" * 1021}),
    ("play", {"motion": "m", "transaction": "x" * 201}),
    ("play", {"motion": "m", "speed": 11}),
    ("play", {"motion": "m", "loop": 10**12}),
    ("play", {"motion": "m", "goal_time_tolerance": 1e308}),
    ("play", {"motion": "m", "first": {"time": 1e308}}),
    ("play", {"motion": "m", "last": {"frame": 10**18}}),
    ("play", {"motion": "m", "path_tolerance": {"elbow": 1e308}}),
    ("goto", {"joints": {"elbow": 1e308}}),
    ("goto", {"pose": "x" * 256}),
    ("speed", {"speed": 5e-324}),
)


@pytest.mark.parametrize(("verb", "body"), BEYOND)
def test_what_is_beyond_what_can_be_meant_is_refused(verb: str, body: dict[str, object]) -> None:
    assert "; it must " in refused("arm", verb, orjson.dumps(body))


def test_an_unknown_verb_is_told_what_there_is() -> None:
    known = f"unknown verb; motiond knows {', '.join(VERBS)}"
    assert refused("arm", "plya", b"") == f"arm/plya: {known}; did you mean 'play'?"


def test_a_sound_request_comes_with_its_defaults() -> None:
    assert parse(RawRequest("arm", "stop", b"")) == StopRequest()
    request = parse(RawRequest("arm", "play", b'{"motion": "wave", "speed": 2, "transaction": "t"}'))
    assert request == PlayRequest(motion="wave", speed=2.0, on_busy="reject", transaction="t")


@pytest.mark.parametrize(
    ("payload", "key"),
    [
        (b'{"motion":"a","motion":"b"}', "motion"),
        (b'{"motion":"a","\\u006dotion":"b"}', "motion"),
        (b'{"motion":"a","expires_at":1,"expires_at":9e9}', "expires_at"),
        (b'{"motion":"a","first":{"frame":1,"frame":2}}', "frame"),
        (b'{"motion":"a","path_tolerance":{"elbow":-1,"hip":1,"elbow":1}}', "elbow"),
    ],
    ids=["two values", "escaped", "time", "inside", "joint"],
)
def test_a_key_that_stands_twice_is_refused(payload: bytes, key: str) -> None:
    reason = "one key has one value; leave one out"
    assert refused("arm", "play", payload) == f"arm/play: '{key}' stands twice; {reason}"


def test_a_refusal_of_a_repeated_key_has_the_transaction() -> None:
    with pytest.raises(RequestError) as caught:
        parse(RawRequest("arm", "play", b'{"motion":"a","motion":"b","transaction":"t"}'))
    assert (caught.value.code, caught.value.transaction) == ("INVALID_REQUEST", "t")


def test_a_key_may_stand_in_several_objects_and_a_value_may_look_like_one() -> None:
    body = b'{"motion":"motion\\":","first":{"frame":1},"last":{"frame":2},"transaction":"motion"}'
    assert isinstance(parse(RawRequest("arm", "play", body)), PlayRequest)


@pytest.mark.parametrize("levels", [64, 100, 1000])
def test_what_nests_as_deep_as_no_request_is_refused(levels: int) -> None:
    body = b'{"fault":"stuck","size":' + b"[" * levels + b"]" * levels + b"}"
    assert refused("arm", "fault", body) == (
        "arm/fault: it nests too deeply; a request has at most 64 levels; correct it"
    )


def test_what_nests_as_deep_as_a_request_may_is_read() -> None:
    assert parse(RawRequest("arm", "fault", b'{"fault":"stuck","size":' + b"[" * 63 + b"]" * 63 + b"}"))


def test_of_very_many_problems_the_first_are_told() -> None:
    body = {"motion": "wave", **{f"k{number}": 0 for number in range(99)}}
    lines = refused("arm", "play", orjson.dumps(body)).splitlines()
    assert lines[0] == f"arm/play: unknown key 'k0'; {KNOWN}"
    assert 5 < len(lines) <= 11
    assert lines[-1] == f"arm/play: {100 - len(lines)} more problems; correct these first"


SO_MANY = "more than 1024 values; no request has so many"


@pytest.mark.parametrize(
    ("verb", "body", "message"),
    [
        ("play", {f"k{number}": 0 for number in range(6500)}, SO_MANY),
        ("play", {"path_tolerance": {f"j{number}": {} for number in range(4500)}}, SO_MANY),
        ("goto", {"joints": {f"j{number}": 0.0 for number in range(4500)}}, SO_MANY),
        ("play", {"motion": [[]] * 15_000}, SO_MANY),
        ("plya", {"motion": [[]] * 15_000}, SO_MANY),
        ("play", {f"k{number}": 0 for number in range(101)}, "101 keys; a request has at most 100"),
        (
            "play",
            {"path_tolerance": {f"j{number}": {} for number in range(257)}},
            "'path_tolerance' has 257 entries; it may have 256",
        ),
        ("goto", {"joints": [0.0] * 257}, "'joints' has 257 entries; it may have 256"),
    ],
    ids=["keys", "tolerances", "joints", "lists", "no verb", "few keys", "few tolerances", "a list"],
)
def test_what_holds_more_than_a_request_is_refused_before_fault_is_found_with_any_of_it(
    verb: str, body: dict[str, object], message: str
) -> None:
    payload = orjson.dumps(body)
    assert refused("arm", verb, payload) == f"arm/{verb}: {message}; leave some out"


def test_only_requests_that_name_joints_or_motions_may_be_long() -> None:
    may_be_long = {verb for verb, about in VERBS.items() if about.most_bytes > 16_384}
    assert may_be_long == {
        "play",
        "sequence",
        "follow/chunk",
        "goto",
        "fault",
        "fleet/prepare",
        "fleet/commit",
    }
    assert refused("arm", "status", b"{}".ljust(16_385)) == (
        "arm/status: 16385 bytes; a request has at most 16384; send less"
    )
    assert parse(RawRequest("arm", "status", b"{}".ljust(16_384)))


def test_of_many_unknown_keys_the_nearest_is_looked_for_only_for_the_first() -> None:
    lines = refused("arm", "speed", b'{"sped":1,"spee":1,"speeed":1,"spded":1,"speed":1.0}').splitlines()
    assert [line.endswith("did you mean 'speed'?") for line in lines] == [True, True, True, False]


@pytest.mark.parametrize(
    ("robot", "verb", "body"),
    [
        ("arm", "play", {f"{number}{'k' * 3000}": 1 for number in range(20)}),
        ("arm", "play", {"motion": "ü" * 20_000, **{f"{number}{'ü' * 50}": 1 for number in range(20)}}),
        ("arm", "play", {"motion": "m" * 60_000, "speed": "s" * 5000}),
        ("arm", "v" * 60_000, {}),
        ("a" * 60_000, "play", {"speed": 0}),
    ],
    ids=["long keys", "long letters", "long values", "long verb", "long robot"],
)
def test_what_is_told_of_a_request_stays_short(robot: str, verb: str, body: dict[str, object]) -> None:
    told = refused(robot, verb, orjson.dumps(body))
    assert len(told.encode()) < 4096
    assert len(max(told.splitlines(), key=len)) < 700


def test_a_number_that_no_double_holds_is_no_json() -> None:
    told = refused("arm", "play", b'{"motion": "wave", "loop": 1e400}')
    assert told.startswith("arm/play: not JSON at line 1 column ")


def test_a_refusal_is_read_from_its_answer_with_the_parts_that_are_known() -> None:
    refusal = RequestError("BUSY", "arm/play", "busy", "wave plays", "stop it", field="motion", by="wave")
    answer = refusal.payload("t")
    answer["problems"][0]["later"] = "than this version"
    read = RequestError.from_answer(answer)
    assert (read.code, str(read), read.data) == (
        "BUSY",
        "arm/play: busy; wave plays; stop it",
        {"by": "wave"},
    )
    assert read.problems == refusal.problems
