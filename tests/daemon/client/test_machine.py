"""Without an address: all daemons of this machine, of which some may hang or be another user's."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from motiond.client import NoAnswer, Refused, connect
from motiond.daemon.api import Dispatcher
from motiond.daemon.mqtt.bridge import MqttBridge
from motiond.local import address_of, hanging, peer_of
from tests.daemon.answers import status
from tests.daemon.conftest import Embedded, Robots, control_of, known_hub, running, started_broker
from tests.users import OTHER_USER, as_other_user, listening_as_other_user

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SOON, LATER = ({"goal_id": "g", "stops_within_s": within_s} for within_s in (0.1, 0.9))


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("motiond.client.connecting.DEFAULT_CONFIG", tmp_path / "none.yaml")
    for name in ("MOTIOND_CONFIG", "MOTIOND_BROKER"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def daemons(folder: Path, *answers: dict[str, Any] | None) -> AsyncIterator[list[Robots]]:
    """Run daemons of an arm that answer a stop so; one without an answer hangs."""
    serving, all_robots = [], [Robots() for _ in answers]
    with ExitStack() as hung:
        for number, (answer, robots) in enumerate(zip(answers, all_robots, strict=True)):
            if answer is None:
                listening = hung.enter_context(socket.socket(socket.AF_UNIX))
                listening.bind(address_of(folder / f"{number}.yaml"))
                listening.listen()
                continue
            robots.robots, robots.answers["stop"] = tuple(answer.pop("robots", ("arm",))), answer
            control = control_of(folder / f"{number}.yaml", robots, known_hub())
            serving.append(asyncio.create_task(control.run()))
        await asyncio.sleep(0.0)
        try:
            yield all_robots
        finally:
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)


def here() -> str:
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as asking:
        listening.bind("\0here")
        listening.listen()
        asking.connect("\0here")
        return str(peer_of(asking))


async def test_a_stop_reaches_all_and_the_answer_is_of_the_one_that_takes_longest(tmp_path: Path) -> None:
    async with (
        daemons(tmp_path, dict(SOON), dict(LATER), {"robots": ("hand",)}) as (first, second, other),
        connect() as daemon,
    ):
        assert await daemon.robot("arm").stop() == LATER
        assert (first.verbs(), second.verbs(), other.verbs()) == (["stop"], ["stop"], [])
        assert await daemon.robot("hand").status() == status()


async def test_each_daemon_that_hangs_is_named_with_who_has_stopped(tmp_path: Path) -> None:
    async with (
        daemons(tmp_path, None, dict(SOON), None, dict(LATER)) as (_, first, _, second),
        connect() as daemon,
    ):
        with pytest.raises(NoAnswer) as caught:
            await daemon.robot("arm").stop()
    assert (first.verbs(), second.verbs()) == (["stop"], ["stop"])
    done = f"arm: {here()} has stopped it"
    assert str(caught.value).splitlines() == [hanging("arm", here(), 5.0)] * 2 + [done] * 2


async def test_a_daemon_that_has_ended_is_waited_for_no_longer(tmp_path: Path) -> None:
    async with AsyncExitStack() as ending:
        await ending.enter_async_context(daemons(tmp_path, dict(SOON)))
        async with daemons(tmp_path / "other", dict(LATER)), connect() as daemon:
            await ending.aclose()
            await asyncio.sleep(1.0)
            async with asyncio.timeout(1.0):
                assert await daemon.robot("arm").stop() == LATER


@pytest.fixture
async def at_broker() -> AsyncIterator[Robots]:
    """The robots of a daemon at the broker that is asked where none is named."""
    broker, robots = Embedded(1883), Robots()
    bridge = MqttBridge(broker.settings, "d1", robots, Dispatcher(robots), known_hub())
    async with started_broker(broker), running(bridge):
        yield robots


@pytest.mark.parametrize(
    "answers", [[{"robots": ("hand",)}], [dict(SOON)], []], ids=["no robot", "user", "none"]
)
async def test_a_stop_that_no_daemon_here_has_done_goes_to_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_broker: Robots, answers: list[dict[str, Any]]
) -> None:
    async with daemons(tmp_path, *answers) as here:
        with as_other_user(monkeypatch) if SOON in answers else nullcontext():
            async with connect() as daemon:
                assert await daemon.robot("arm").stop() == at_broker.answers["stop"]
    assert set(at_broker.verbs()) == {"stop"}
    assert [robots.verbs() for robots in here] == [[] for _ in answers]


NO_BROKER = (
    "mqtt://127.0.0.1:1883: no connection to the broker; nobody listens there; "
    "start the daemon or the broker, or correct the URL"
)


async def test_who_may_not_ask_is_refused_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "root may, the user that the daemon runs as, and the owner of its configuration"
    message = f"control: user {OTHER_USER} may not ask; {reason}; use sudo"
    async with daemons(tmp_path, dict(SOON)):
        with as_other_user(monkeypatch):
            async with connect() as daemon:
                arm = daemon.robot("arm")
                for asked in (arm.status(), arm.play("wave"), daemon.robots(), arm.stop(), arm.stop()):
                    with pytest.raises(Refused) as caught:
                        await asked
                    assert caught.value.code == "NOT_ALLOWED"
                    assert str(caught.value).splitlines()[0] == message
                assert str(caught.value).splitlines()[1:] == [NO_BROKER]
                with pytest.raises(NoAnswer) as unknown:
                    await arm.report("state")
                assert str(unknown.value) == f"arm: no state in 5 s; {message}"


async def test_where_nobody_is_believed_the_broker_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_broker: Robots
) -> None:
    with listening_as_other_user(monkeypatch, address_of(tmp_path / "motiond.yaml")):
        async with connect() as daemon:
            assert (await daemon.robot("arm").status(), daemon.place) == (status(), "mqtt://127.0.0.1:1883")
            assert await daemon.robot("arm").stop() == at_broker.answers["stop"]


async def test_beside_a_daemon_that_has_stopped_the_robot_who_is_not_believed_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with daemons(tmp_path, dict(SOON)):
        with listening_as_other_user(monkeypatch, address_of(tmp_path / "motiond.yaml")):
            async with connect() as daemon:
                assert await daemon.robot("arm").stop() == SOON


async def test_a_daemon_that_takes_no_connection_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def so_many_wait(*_: Any, **__: Any) -> socket.socket:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("motiond.client.messages.connected", so_many_wait)
    with pytest.raises(NoAnswer) as caught:
        async with connect(config=tmp_path / "motiond.yaml"):
            pass
    hangs = "takes no connection, as so many wait for it already; it hangs; look at its log"
    assert str(caught.value) == f"{tmp_path / 'motiond.yaml'}: {hangs}"


async def test_where_nobody_is_believed_and_no_broker_is_there_both_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        listening_as_other_user(monkeypatch, address_of(tmp_path / "motiond.yaml")),
        pytest.raises(NoAnswer) as caught,
    ):
        async with connect():
            pass
    impostor, broker = str(caught.value).splitlines()
    assert (f"of user {OTHER_USER} has the socket of its daemon" in impostor, broker) == (True, NO_BROKER)


async def test_where_all_daemons_here_have_ended_a_stop_goes_to_the_broker(
    tmp_path: Path, at_broker: Robots
) -> None:
    async with AsyncExitStack() as ending:
        await ending.enter_async_context(daemons(tmp_path, dict(SOON)))
        async with connect() as daemon:
            await ending.aclose()
            await asyncio.sleep(1.0)
            assert await daemon.robot("arm").stop() == at_broker.answers["stop"]
        with pytest.raises(NoAnswer, match="this machine: the connection is closed; connect again"):
            await daemon.robot("arm").stop()
