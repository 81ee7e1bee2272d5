"""Groups for the HTTP interface, before stand-ins for their robots."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api import GroupPlayRequest, RequestError
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.fleet.coordinator.http_groups import HttpGroups
from tests.daemon.fleet.members import Members, members, until
from tests.virtual import NETWORK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.conftest import Embedded

WAVE, ANA = GroupPlayRequest(motion="wave"), "10.0.0.7 over HTTP"


@pytest.fixture
async def choir(broker: Embedded) -> AsyncIterator[Members]:
    async with members(broker.settings) as choir:
        for name in ("left", "right"):
            choir.add(name, "choir", code=None)
        await choir.settle()
        yield choir


@pytest.fixture
async def groups(broker: Embedded) -> AsyncIterator[HttpGroups]:
    async with HttpGroups(broker.settings) as groups:
        yield groups


async def test_a_play_is_answered_when_all_have_accepted_it(groups: HttpGroups, choir: Members) -> None:
    request = GroupPlayRequest.model_validate(
        {"motion": "wave", "motions": {"left": "wave_l"}, "first": {"frame": 3}, "transaction": "t1"}
    )
    answer = await groups.play("choir", request, ANA)
    prepared, commit = choir.bodies("fleet/prepare"), choir.bodies("fleet/commit")["left"]
    assert answer == {"start": commit["start"], "start_at": commit["start_at"], "robots": ["left", "right"]}
    assert {name: body["motion"] for name, body in prepared.items()} == {"left": "wave_l", "right": "wave"}
    keys = {"transaction", "expires_at", "motion", "first", "start", "expires_s", "asked_by", "token_sha256"}
    assert prepared["left"].keys() == keys
    assert prepared["left"]["first"] == {"frame": 3}
    assert {body["asked_by"] for body in prepared.values()} == {ANA}


async def test_without_a_broker_each_request_is_refused() -> None:
    port = NETWORK.free_port()
    async with HttpGroups(MqttSettings(broker=f"mqtt://127.0.0.1:{port}", protocol="3.1.1")) as groups:
        for request in (groups.play("choir", WAVE, ANA), groups.command("choir", "stop"), groups.overview()):
            with pytest.raises(RequestError) as caught:
                await request
            assert caught.value.code == "OFFLINE"
            assert str(caught.value).startswith(f"mqtt://127.0.0.1:{port}: no connection to the broker; ")


async def test_control_that_is_needed_is_kept_to_the_end(groups: HttpGroups, choir: Members) -> None:
    left = choir.robots["left"]
    left.lease, left.ttl_s = "secret", 0.3
    await groups.play("choir", WAVE, ANA)
    renewed = choir.verbs("left").count("lease/renew")
    await until(lambda: choir.verbs("left").count("lease/renew") > renewed + 2)
    assert "lease/release" not in choir.verbs("left")
    for name in ("left", "right"):
        choir.result(name, "SUCCESSFUL")
    await until(lambda: choir.verbs("left")[-1] == "lease/release")


async def test_control_is_returned_where_the_daemon_ends(broker: Embedded, choir: Members) -> None:
    choir.robots["left"].lease = "secret"
    async with HttpGroups(broker.settings) as groups:
        await groups.play("choir", WAVE, ANA)
        assert "lease/release" not in choir.verbs("left")
    await until(lambda: choir.verbs("left")[-1] == "lease/release")
    assert "stop" not in choir.verbs()


async def test_of_too_many_starts_at_once_a_further_one_is_refused(broker: Embedded, choir: Members) -> None:
    choir.robots["left"].silent_at.add("fleet/prepare")
    async with HttpGroups(broker.settings, most_starts=1) as groups:
        first = asyncio.create_task(groups.play("choir", WAVE, ANA))
        await until(choir.verbs)
        with pytest.raises(RequestError) as caught:
            await groups.play("choir", WAVE, ANA)
        assert (caught.value.code, str(caught.value)) == (
            "BUSY",
            (
                "choir/play: too many starts; a daemon has 1 under way at once; "
                "wait until others have been accepted"
            ),
        )
        choir.robots["left"].silent_at.clear()
        choir.take("left", "fleet/prepare", choir.bodies("fleet/prepare")["left"])
        assert (await first)["robots"] == ["left", "right"]


async def test_a_command_that_one_refuses_is_refused_with_all_answers(
    groups: HttpGroups, choir: Members
) -> None:
    reason = "right: nothing to pause; the robot is idle; play first"
    choir.robots["right"].refusals["pause"] = {"code": "NOT_PLAYING", "error": reason}
    with pytest.raises(RequestError) as caught:
        await groups.command("choir", "pause")
    head = "choir/pause: right did not take it, of 2 robots; look at what stands below"
    assert (caught.value.code, str(caught.value)) == ("MEMBER_REFUSED", f"{head}\n{reason}")
    assert [one["ok"] for one in caught.value.data["robots"]] == [True, False]


async def test_requests_at_the_same_time_share_one_overview(groups: HttpGroups, choir: Members) -> None:
    first, second = await asyncio.gather(groups.overview(), groups.overview())
    assert first is second
    assert [row["robot"] for row in first] == [*choir.robots]
    assert await groups.overview() is not first
