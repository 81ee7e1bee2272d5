"""What is true of every request, whatever connection it takes."""

from __future__ import annotations

import asyncio
import json
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.client import ConnectionLost, NoAnswer, Refused, connect
from motiond.client.daemon import LONGEST_BODY, Daemon
from motiond.client.messages import HttpTransport, MessageTransport
from motiond.client.reports import SUBJECTS
from motiond.client.transport import MOST_AT_ONCE
from motiond.daemon.api import MOST_BYTES, VERBS
from motiond.daemon.api import SUBJECTS as ALL_SUBJECTS
from motiond.daemon.http.live.frames import telemetry_frame

if TYPE_CHECKING:
    from collections.abc import Collection

    from motiond.client.reports import Report
    from motiond.client.transport import Interest


class Recorder(MessageTransport):
    """Keeps requests; a daemon whose clock is ahead by so much answers each, or only refuses to `enable`."""

    def __init__(self, ahead_s: float | None) -> None:
        super().__init__("nowhere", lambda _: None)
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.goals: list[dict[str, Any]] = []
        self.most = self.served = 0
        self._ahead_s = ahead_s

    async def _serve(self) -> None:
        self._note_connected()
        await asyncio.Event().wait()

    async def _send(self, message: dict[str, Any]) -> None:
        self.requests.append((message["verb"], message.get("body", {})))
        self.served += 1
        self.most = max(self.most, self.served)
        if self._ahead_s is None and message["verb"] == "enable":
            refusal = {"status": "error", "code": "NOT_IN_CONTROL", "data": {"holder": None}}
            self._receive({"id": message["id"], "answer": refusal})
        elif self._ahead_s is not None:
            asyncio.get_running_loop().call_later(0.1, self._answer, message, self._ahead_s)

    def _answer(self, message: dict[str, Any], ahead_s: float) -> None:
        self.served -= 1
        late_s = time.time() + ahead_s - message["body"].get("expires_at", 1e12)
        expired = {"status": "error", "code": "EXPIRED", "data": {"late_s": late_s}}
        data: dict[str, Any] = {"goal_id": None if message["verb"] == "status" else "g1", "queue": []}
        data["goals"] = self.goals
        answer = expired if late_s > 0.0 else {"status": "ok", "data": data}
        self._receive({"id": message["id"], "answer": answer})

    async def follow(self, interest: Interest) -> None: ...

    async def names(self) -> Collection[str]:
        await asyncio.Event().wait()
        return []


class Client(Daemon):
    def __init__(self, ahead_s: float | None = 0.0) -> None:
        self.transport = Recorder(ahead_s)
        super().__init__(lambda _: self.transport)


@pytest.mark.parametrize("verb", sorted(VERBS))
async def test_whatever_may_move_a_robot_expires_once_its_client_waits_no_longer(verb: str) -> None:
    async with Client() as daemon:
        until_s = time.time() + 2.0
        await daemon.robot("arm").request(verb, timeout_s=2.0)
        await daemon.group("choir").request(verb, timeout_s=2.0)
    expires = [payload.get("expires_at") for _, payload in daemon.transport.requests]
    if verb in {"stop", "estop", "pause"}:
        assert expires == [None, None]
    else:
        assert expires == [pytest.approx(until_s, abs=0.01), pytest.approx(until_s + 0.1, abs=0.01)]


async def test_what_a_client_says_of_its_expiry_stands() -> None:
    async with Client() as daemon:
        await daemon.robot("arm").request("play", motion="wave", expires_at=9e9)
    assert daemon.transport.requests == [("play", {"motion": "wave", "expires_at": 9e9})]


@pytest.mark.parametrize("ahead_s", [-3600.0, 0.0, 3600.0])
async def test_a_daemon_whose_clock_is_ahead_gets_a_time_that_is_right_there(ahead_s: float) -> None:
    async with Client(ahead_s) as daemon:
        until_s = time.time() + 5.0
        await daemon.robot("arm").request("resume")
    *_, (_, last) = daemon.transport.requests
    assert last["expires_at"] == pytest.approx(until_s + max(0.0, ahead_s), abs=0.01)
    assert len(daemon.transport.requests) == (2 if ahead_s > 0.0 else 1)


HANGS = "(nowhere) hangs; look at its log"


async def test_whatever_is_asked_ends_in_time_also_where_control_is_acquired_first() -> None:
    loop = asyncio.get_running_loop()
    async with Client(None) as daemon:
        arm, daemon.holder = daemon.robot("arm"), "ana"
        for asked, timeout_s, message in (
            (arm.play("wave"), 5.0, f"arm: no answer in 5 s; its daemon {HANGS}"),
            (arm.enable(), 5.0, f"arm: no answer in 5 s; its daemon {HANGS}"),
            (arm.report("state"), 5.0, f"arm: no state in 5 s; its daemon {HANGS}"),
            (daemon.robots(), 5.0, "nowhere: no names of robots in 5 s; it hangs; look at its log"),
            (daemon.group("choir").stop(), 35.0, f"group:choir: no answer in 35 s; its daemon {HANGS}"),
        ):
            began_s = loop.time()
            with pytest.raises(NoAnswer) as caught:
                await asked
            assert (str(caught.value), round(loop.time() - began_s, 3)) == (message, timeout_s)


async def test_the_late_answer_to_another_request_is_no_reason_for_silence() -> None:
    async with Client(None) as daemon:
        refusal = {"status": "error", "code": "EXPIRED", "error": "arm/play: expired 0.3 s ago"}
        daemon.transport._receive({"id": 1, "answer": refusal})
        with pytest.raises(NoAnswer) as caught:
            await daemon.robot("arm").stop()
    assert str(caught.value) == f"arm: no answer in 5 s; its daemon {HANGS}"


async def test_who_waits_for_a_connection_waits_no_longer_once_the_client_is_closed() -> None:
    loop = asyncio.get_running_loop()
    daemon = Client()
    async with daemon:
        daemon.transport.connected.clear()
        asked = [asyncio.create_task(daemon.robot("arm").request(verb)) for verb in ("stop", "status")]
        await asyncio.sleep(1.0)
        began_s = loop.time()
    for one in asked:
        with pytest.raises(ConnectionLost) as caught:
            await one
        assert str(caught.value) == "nowhere: the connection is closed; connect again"
    assert loop.time() == began_s
    assert daemon.transport.requests == []


async def test_a_result_that_does_not_come_is_given_up_without_a_word_of_a_broker() -> None:
    async with Client() as daemon:
        with pytest.raises(NoAnswer) as caught:
            await daemon.robot("arm").play("wave")
    assert str(caught.value) == "arm: its motion is over, and no result comes; look at the daemon's log"


@pytest.mark.parametrize("base", [None, "g2"])
async def test_what_plays_beside_others_is_waited_for(base: str | None) -> None:
    """Its robot's state is that of the base, if there is one."""
    loop = asyncio.get_running_loop()
    async with Client() as daemon:
        goals = daemon.transport.goals
        goals += [{"goal_id": one} for one in (base, "g1") if one]
        playing = asyncio.create_task(daemon.robot("arm").play("idle", additive=True, loop="forever"))
        await asyncio.sleep(60.0)
        assert not playing.done()
        goals.clear()
        began_s = loop.time()
        with pytest.raises(NoAnswer):
            await playing
    assert 5.0 < loop.time() - began_s < 20.0


async def test_any_number_of_requests_is_asked_in_turn_and_a_stop_before_all() -> None:
    async with Client() as daemon:
        arm = daemon.robot("arm")
        asked = [asyncio.create_task(arm.status()) for _ in range(3 * MOST_AT_ONCE)]
        await asyncio.sleep(0.0)
        await arm.stop()
        await asyncio.gather(*asked)
    assert daemon.transport.requests[MOST_AT_ONCE][0] == "stop"
    assert daemon.transport.most == MOST_AT_ONCE + 1


async def test_servos_are_restarted_and_their_errors_cleared_by_name() -> None:
    async with Client() as daemon:
        await daemon.robot("arm").reboot_servos("elbow", "wrist")
        await daemon.robot("arm").clear_servos("elbow")
    sent = [(verb, payload["servos"]) for verb, payload in daemon.transport.requests]
    assert sent == [("servo/reboot", ("elbow", "wrist")), ("servo/clear", ("elbow",))]


async def test_a_lesson_may_name_the_motion_that_is_to_come_of_it() -> None:
    async with Client() as daemon:
        await daemon.robot("arm").teach()
        await daemon.robot("arm").teach("gravity", "wave", replace=True)
    keys = ("mode", "name", "replace")
    sent = [[payload.get(key) for key in keys] for _, payload in daemon.transport.requests]
    assert sent == [["released", None, None], ["gravity", "wave", True]]


NO_NUMBER = "a number is NaN or infinite, or a text is no Unicode; correct it"


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"joints": {"elbow": float("nan")}}, f"it cannot be written as JSON; {NO_NUMBER}"),
        ({"speed": float("-inf")}, f"it cannot be written as JSON; {NO_NUMBER}"),
        ({"pose": {1}}, "it cannot be written as JSON; Object of type set is not JSON serializable"),
        ({"pose": "x" * 200_000}, "200,012 bytes; a request has at most 65,536; send less"),
    ],
    ids=["nan", "inf", "set", "200 kB"],
)
async def test_what_no_daemon_can_read_is_refused_at_once(keys: dict[str, Any], reason: str) -> None:
    async with Client() as daemon:
        with pytest.raises(Refused) as caught:
            await daemon.robot("arm").request("goto", keys)
    assert (caught.value.code, str(caught.value)) == ("INVALID_REQUEST", f"arm/goto: {reason}")
    assert daemon.transport.requests == []


async def test_what_is_no_name_address_or_report_is_refused_before_anything_is_sent() -> None:
    daemon = Client()
    hint = "a name is not empty, and has no '/', '+' or '#'; correct it"
    known = ", ".join(sorted(SUBJECTS))
    wrong: list[tuple[Any, tuple[Any, ...], str]] = [
        (daemon.robot, (None,), "a robot's name is a text, and None is none"),
        (daemon.group, (5,), "a group's name is a text, and 5 is none"),
        (daemon.robot, ("",), f"no robot ''; {hint}"),
        (daemon.group, ("a/b",), f"no group 'a/b'; {hint}"),
        (daemon.reports, ("nonsense",), f"no report 'nonsense'; there are {known}; correct it"),
        (connect, ([],), "no broker is named; name one, or leave it out for the daemons of this machine"),
        (connect, (5,), "a broker is named by its URL or as a Broker, and 5 is neither"),
    ]
    for act, arguments, message in wrong:
        with pytest.raises((TypeError, ValueError, Refused)) as caught:
            act(*arguments)
        assert str(caught.value) == message
    for asked, message in (
        (daemon.robot("arm").report("nix"), f"no report 'nix'; there are {known}; correct it"),
        (daemon.robot("arm").request("#"), "arm/#: unknown verb; no verb has '+' or '#'; correct it"),
        *(
            (asked, f"timeout_s is {timeout_s:g}; it is in s, from 0 to 1e+06; correct it")
            for timeout_s in (-1.0, math.inf, math.nan)
            for asked in (
                daemon.robot("arm").request("status", timeout_s=timeout_s),
                daemon.robot("arm").report("state", timeout_s),
                daemon.group("choir").request("stop", timeout_s=timeout_s),
            )
        ),
    ):
        with pytest.raises((ValueError, Refused)) as caught:
            await asked
        assert str(caught.value) == message


def test_the_client_knows_the_bounds_and_the_reports_of_the_daemon() -> None:
    assert (MOST_BYTES, ALL_SUBJECTS | {"samples"}) == (LONGEST_BODY, SUBJECTS)


async def test_samples_over_a_web_socket_have_what_touches_where_the_daemon_knows_it() -> None:
    received: list[Report] = []
    client = HttpTransport("http://nowhere", received.append)
    client._take_message(json.dumps({"hello": {"robots": ["hand", "arm"]}}))
    side = {name: np.array([1.0, np.nan]) for name in ("position", "velocity", "effort")}
    contacts = [{"bodies": ["floor", "hand"], "position": [0.25, 0.0, 0.0], "force": [0.0, 0.0, 9.5]}]
    data = {"stamp_s": 12.5, "frame": 3.0, "reference": side, "feedback": side}
    client._take_message(telemetry_frame(1, data))
    client._take_message(telemetry_frame(1, {**data, "contacts": contacts}))
    without, sample = (report.data for report in received if report.subject == "telemetry")
    assert sample["feedback"] == {name: [1.0, None] for name in side}
    assert sample == {**without, "contacts": contacts}
    assert "contacts" not in without
