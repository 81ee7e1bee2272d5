"""The coordinator of a group's start before stand-ins for its robots: all of them play, or none."""

from __future__ import annotations

import asyncio
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from motiond.client import NoAnswer
from motiond.daemon.api import RequestError
from motiond.daemon.fleet.coordinator import conversation
from motiond.daemon.fleet.coordinator.start import GroupPlay, coordinating
from motiond.local import own_holder
from tests.daemon.fleet.members import Members, members, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from motiond.daemon.fleet.coordinator.outcomes import End
    from motiond.daemon.fleet.coordinator.start import Coordinator
    from tests.daemon.conftest import Embedded

DO = "fix this and play again"
START_IT = "start it, or take the robot out of the group; `motiond forget` clears one that is gone"


@pytest.fixture
async def choir(broker: Embedded) -> AsyncIterator[Members]:
    """Two robots of one group, and one of another."""
    async with members(broker.settings) as choir:
        choir.add("left", "choir")
        choir.add("right", "choir", "wind", ready_in_s=2.0)
        choir.add("drum", "band")
        await choir.settle()
        yield choir


def starting(broker: Embedded, **asked: Any) -> AbstractAsyncContextManager[Coordinator]:
    return coordinating(broker.settings, GroupPlay(**{"group": "choir", "motion": "wave"} | asked))


async def ended(start: Coordinator) -> list[End]:
    while not await start.outcomes.next():
        pass
    return start.outcomes.ends()


async def played(broker: Embedded, **asked: Any) -> list[End]:
    async with starting(broker, **asked) as start:
        await start.begin()
        return await ended(start)


async def refused(broker: Embedded, **asked: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        await played(broker, **asked)
    return caught.value


def released(choir: Members) -> bool:
    return choir.asked_for("fleet/release") == {"left", "right"}


# -- all of them --------------------------------------------------------------------------------------------


async def test_all_are_prepared_and_then_committed_to_one_time(broker: Embedded, choir: Members) -> None:
    before = time.time()
    ends = await played(broker, options={"speed": 0.5}, on_member_failure="continue")
    after = time.time()
    assert [(end.robot, end.motion, end.code) for end in ends] == [
        ("left", "wave", "SUCCESSFUL"),
        ("right", "wave", "SUCCESSFUL"),
    ]
    assert choir.verbs() == ["fleet/prepare"] * 2 + ["fleet/commit"] * 2
    prepared, commits = choir.bodies("fleet/prepare"), choir.bodies("fleet/commit")
    start = choir.starts["left"]
    assert len({body["start_at"] for body in commits.values()}) == 1
    assert len({body["token"] for body in commits.values()}) == 2
    for robot in ("left", "right"):
        # No other client knows the secret before the commit, only its digest.
        token = commits[robot].pop("token")
        assert prepared[robot].pop("token_sha256") == sha256(token.encode()).hexdigest()
        for body in (prepared[robot], commits[robot]):
            del body["transaction"], body["expires_at"]
        assert prepared[robot].pop("asked_by") == own_holder("fleet play")
        assert prepared[robot] == {"motion": "wave", "speed": 0.5, "start": start, "expires_s": 10.0}
        assert before + 3.0 <= commits[robot].pop("start_at") <= after + 3.0
        assert commits[robot] == {
            "start": start,
            "robots": ["left", "right"],
            "on_member_failure": "continue",
        }


async def test_a_member_first_reported_while_others_are_prepared_takes_part(
    broker: Embedded, choir: Members
) -> None:
    choir.robots["right"].silent_at.add("fleet/prepare")
    playing = asyncio.create_task(played(broker))
    await until(lambda: choir.verbs("right"))
    choir.add("late", "choir")
    choir.robots["right"].silent_at.clear()
    asked = choir.bodies("fleet/prepare")["right"]
    choir.take("right", "fleet/prepare", asked)
    assert [end.robot for end in await playing] == ["late", "left", "right"]
    assert choir.bodies("fleet/commit")["late"]["robots"] == ["late", "left", "right"]


async def test_sixty_robots_that_require_control_start_together(broker: Embedded) -> None:
    names = [f"robot_{number:02}" for number in range(60)]
    async with members(broker.settings) as many:
        for name in names:
            many.add(name, "choir", lease="secret")
        await many.settle()
        assert [(end.robot, end.code) for end in await played(broker)] == [
            (name, "SUCCESSFUL") for name in names
        ]
        await until(lambda: many.verbs().count("lease/release") == 60)
        assert many.verbs().count("fleet/commit") == 60


# -- or none ------------------------------------------------------------------------------------------------


BUSY = "right: busy with nod; one motion plays at a time; stop it first, replace it, or queue behind it"
CONTROLLED = "right/fleet/prepare: not in control; ana has it; ask them to release it, or take control"
EXPIRED = "right: not reserved for start 's1'; it has expired, was released or never was; prepare it first"
NO_TIME = "right: its answer has ready_in_s -1.0; it must be a time in s; look at the daemon's log"
IN_1_S, IN_5_S = (
    f"right: no answer in {time_s} s; its daemon is reported online; "
    "look at the daemon's log, and at the broker's access list"
    for time_s in (1, 5)
)


def refusing(verb: str, code: str, error: str, **data: str) -> dict[str, Any]:
    return {"refusals": {verb: {"code": code, "error": error, "data": data}}}


@pytest.mark.parametrize(
    ("right", "asked", "error"),
    [
        (refusing("fleet/prepare", "BUSY", BUSY), {}, ("BUSY", BUSY)),
        (
            refusing("fleet/prepare", "NOT_IN_CONTROL", CONTROLLED, holder="ana"),
            {},
            ("NOT_IN_CONTROL", CONTROLLED),
        ),
        ({"silent_at": {"fleet/prepare"}}, {}, ("OFFLINE", IN_5_S)),
        ({"ready_in_s": -1.0}, {}, ("INTERNAL", NO_TIME)),
        (refusing("fleet/commit", "NOT_RESERVED", EXPIRED), {}, ("NOT_RESERVED", EXPIRED)),
        ({"silent_at": {"fleet/commit"}}, {}, ("OFFLINE", IN_1_S)),
        ({"silent_at": {"fleet/commit"}}, {"start_in": 60.0}, ("OFFLINE", IN_5_S)),
    ],
)
async def test_one_that_refuses_or_does_not_answer_releases_all_and_is_reported(
    broker: Embedded,
    choir: Members,
    right: dict[str, Any],
    asked: dict[str, float],
    error: tuple[str, str],
) -> None:
    choir.robots["left"].code = None
    vars(choir.robots["right"]).update(right)
    refusal = await refused(broker, **asked)
    code, reason = error
    assert str(refusal) == f"choir: no robot plays; right does not start; {DO}\n{reason}"
    assert (refusal.code, refusal.data) == (
        "MEMBER_REFUSED",
        {"members": {"right": {"code": code, "error": reason}}},
    )
    assert released(choir)
    assert "lease/acquire" not in choir.verbs()
    if "fleet/commit" in choir.verbs():
        assert time.time() < choir.bodies("fleet/commit")["left"]["start_at"] - 2.0 + 0.1


async def test_a_robot_reported_in_part_is_waited_for(broker: Embedded, choir: Members) -> None:
    late = choir.add("late", "choir")
    choir.forget("late", "availability")
    await choir.settle()
    playing = asyncio.create_task(played(broker))
    await asyncio.sleep(3 * conversation.MORE_S)
    choir.add(late.name, *late.groups)
    assert [end.robot for end in await playing] == ["late", "left", "right"]


@pytest.mark.parametrize(
    ("state", "reason"),
    [("offline", "is offline"), ("broken", "has crashed, or has lost the broker")],
)
async def test_without_a_member_no_robot_is_asked(
    broker: Embedded, choir: Members, state: str, reason: str
) -> None:
    async with members(broker.settings, "d2") as others:
        others.add("middle", "choir")
        others.daemon(state)
        await others.settle()
        error = await refused(broker)
    gone = f"middle: not there; its daemon 'd2' {reason}; {START_IT}"
    assert str(error) == f"choir: no robot plays; middle does not start; {DO}\n{gone}"
    assert choir.asked == []


async def test_an_unknown_group_is_refused_with_the_groups_there_are(
    broker: Embedded, choir: Members
) -> None:
    error = await refused(broker, group="chior")
    assert (error.code, str(error)) == (
        "UNKNOWN_GROUP",
        "chior: no robot is in this group; the groups here are band, choir, wind; did you mean 'choir'?",
    )
    assert choir.asked == []


async def test_a_motion_for_a_robot_of_no_group_is_refused(broker: Embedded, choir: Members) -> None:
    error = await refused(broker, motions={"lfet": "nod"})
    assert (error.code, str(error)) == (
        "UNKNOWN_ROBOT",
        (
            "choir: 'lfet' is to play nod, and is no robot of the group; its robots are left, right; "
            "did you mean 'left'?"
        ),
    )
    assert choir.asked == []


async def test_a_group_has_at_most_two_hundred_robots(broker: Embedded) -> None:
    async with members(broker.settings) as many:
        for number in range(201):
            many.add(f"robot_{number}", "choir")
        await many.settle()
        assert str(await refused(broker)) == (
            "choir: it has 201 robots; a group has at most 200; make several groups of it"
        )


async def test_a_time_that_is_too_early_releases_all(broker: Embedded, choir: Members) -> None:
    assert (await refused(broker, start_at=time.time() + 2.0)).code == "TOO_LATE"
    assert released(choir)


async def test_an_interrupt_before_the_commit_releases_all(broker: Embedded, choir: Members) -> None:
    choir.robots["right"].silent_at.add("fleet/prepare")
    playing = asyncio.create_task(played(broker))
    await until(lambda: len(choir.asked) == 2)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert released(choir)


async def test_a_reservation_that_is_about_to_expire_is_not_committed(
    broker: Embedded, choir: Members
) -> None:
    choir.robots["right"].silent_at.add("fleet/prepare")
    playing = asyncio.create_task(refused(broker))
    for name, next_ in (("right", "late"), ("late", None)):
        await until(lambda name=name: choir.verbs(name))  # type: ignore[misc]
        if next_:
            choir.add(next_, "choir", silent_at={"fleet/prepare"})
        await asyncio.sleep(4.0)
        choir.robots[name].silent_at.clear()
        choir.take(name, "fleet/prepare", choir.bodies("fleet/prepare")[name])
    assert str(await playing) == (
        "choir: it takes too long to prepare all; a reservation lasts 10 s; "
        "try again when the network is quiet"
    )
    assert choir.asked_for("fleet/release") == {"late", "left", "right"}
    assert choir.asked_for("fleet/commit") == set()


async def test_one_that_does_not_confirm_its_cancellation_is_named(broker: Embedded, choir: Members) -> None:
    choir.robots["left"].code = None
    choir.robots["right"].silent_at |= {"fleet/commit", "fleet/release"}
    head = "choir: cancelled; right does not start, and right did not confirm that; "
    assert str(await refused(broker)).startswith(
        f"{head}look at the robots: one that begins stops unless all play\nright: no answer in 1 s; "
    )


# -- results -----------------------------------------------------------------------------------------------


async def test_each_result_is_gathered(broker: Embedded, choir: Members) -> None:
    choir.robots["left"].code = choir.robots["right"].code = None
    playing = asyncio.create_task(played(broker))
    await until(lambda: "fleet/commit" in choir.verbs())
    choir.result("left", "PATH_TOLERANCE_VIOLATED", "elbow was 0.2 rad off")
    assert not playing.done()
    choir.result("right", "CANCELED", "left failed")
    left, right = await playing
    assert (left.code, left.message) == ("PATH_TOLERANCE_VIOLATED", "elbow was 0.2 rad off")
    assert (right.code, right.message) == ("CANCELED", "left failed")


async def test_a_member_that_is_released_late_is_reported_with_its_reason(
    broker: Embedded, choir: Members
) -> None:
    choir.robots["left"].code = None
    async with starting(broker) as start:
        await start.begin()
        choir.phase("left", "ready")
        choir.phase("left", "released", "right was not ready in time")
        left, right = await ended(start)
    assert (left.code, left.message) == ("RELEASED", "right was not ready in time")
    assert right.code == "SUCCESSFUL"


@pytest.mark.parametrize(
    ("lose", "reason"),
    [
        (lambda choir: choir.daemon("offline"), "its daemon 'd1' is offline"),
        (
            lambda choir: choir.daemon("broken"),
            "its daemon 'd1' has crashed, or has lost the broker",
        ),
        # its machine has died together with the broker's node that kept the will
        (lambda choir: choir.report("left", "diagnostics", {}), "its daemon has fallen silent"),
        (
            lambda choir: choir.phase("left", None),
            "its daemon was started again and knows nothing of the start",
        ),
    ],
)
async def test_a_member_that_stays_away_is_given_up(
    broker: Embedded, choir: Members, lose: Callable[[Members], None], reason: str
) -> None:
    choir.robots["left"].code = None
    async with starting(broker) as start:
        await start.begin()
        lose(choir)
        left, right = await ended(start)
    assert (left.code, left.message) == ("GONE", reason)
    assert right.code == "SUCCESSFUL"


async def test_a_broker_that_goes_away_ends_the_waiting(broker: Embedded, choir: Members) -> None:
    choir.robots["left"].code = None
    playing = asyncio.create_task(played(broker))
    await until(lambda: "fleet/commit" in choir.verbs())
    await broker.kill()
    with pytest.raises(NoAnswer) as caught:
        await playing
    assert str(caught.value).startswith(f"mqtt://127.0.0.1:{broker.settings.listen.partition(':')[2]}: ")


# -- control ------------------------------------------------------------------------------------------------


async def test_control_is_acquired_where_it_is_free_and_kept_and_returned(
    broker: Embedded, choir: Members
) -> None:
    left = choir.robots["left"]
    left.lease, left.ttl_s, left.code = "secret", 0.3, None
    playing = asyncio.create_task(played(broker))
    await until(lambda: choir.verbs("left").count("lease/renew") > 2)
    await until(lambda: "fleet/commit" in choir.verbs())  # before it, results are not followed
    assert choir.verbs("left")[:3] == ["fleet/prepare", "lease/acquire", "fleet/prepare"]
    choir.result("left", "SUCCESSFUL")
    await playing
    await until(lambda: choir.verbs("left")[-1] == "lease/release")
    leases = {body["lease"] for robot, verb, body in choir.asked if robot == "left" and "lease" in body}
    assert leases == {"secret"}
    assert "lease/acquire" not in choir.verbs("right")
