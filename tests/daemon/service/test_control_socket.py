"""Behaviour of the socket at which programs of this machine ask the daemon for what concerns all of it."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.client import NoAnswer
from motiond.daemon.api import Report, ReportHub
from motiond.daemon.service.control_socket import MOST_CLIENTS, TARGETS_BURST
from motiond.local import address_of, named_user
from tests.daemon import answers
from tests.daemon.asking import ask_here
from tests.daemon.cli.program import motiond
from tests.daemon.conftest import Robots, control_of, known_hub
from tests.daemon.programs import logging_as_before
from tests.tables import table
from tests.users import OTHER_USER, as_other_user, listening_as_other_user, owned_by
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def served(
    config: Path, hub: ReportHub | None = None, robots: Robots | None = None
) -> AsyncIterator[None]:
    with logging_as_before():
        serving = asyncio.create_task(control_of(config, robots or Robots(), hub or known_hub()).run())
        await asyncio.sleep(0.05)
        try:
            yield
        finally:
            serving.cancel()
            await asyncio.wait((serving,), timeout=PATIENCE_S)


async def answer_to(config: Path, sent: bytes) -> dict[str, Any]:
    reader, writer = await asyncio.open_unix_connection(address_of(config))
    writer.write(sent)
    async with asyncio.timeout(PATIENCE_S):
        answer: dict[str, Any] = orjson.loads(await reader.readline())["answer"]
    writer.close()
    return answer


async def accepted(listening: socket.socket) -> socket.socket:
    listening.setblocking(False)
    return (await asyncio.get_running_loop().sock_accept(listening))[0]


@pytest.mark.usefixtures("programs")
async def test_motiond_log_level_says_and_sets_it(tmp_path: Path) -> None:
    config = tmp_path / "motiond.yaml"
    config.touch()
    nobody = (
        f"{config}: no daemon of this configuration runs on this machine; start it with `motiond run`, "
        "or name its configuration with -c\n"
    )
    assert await motiond("log-level", "-c", config) == (3, "", nobody)
    async with served(config):
        assert await motiond("log-level", "error", "-c", config) == (0, "error\n", "")


@table(
    "sent, code, refusal",
    (b"{" * 4000, "INVALID_REQUEST", "control: a line is no JSON object; correct it"),
    (b"x" * 70_000, "INVALID_REQUEST", "control: a line is longer than 66560 bytes; correct it"),
    (b'{"verb":["stop"]}', "INVALID_REQUEST", "control: verb must be a text; correct it"),
)
async def test_what_cannot_be_served_is_refused_and_the_next_is_served(
    tmp_path: Path, sent: bytes, code: str, refusal: str
) -> None:
    config = tmp_path / "motiond.yaml"
    async with served(config):
        answer = await answer_to(config, sent + b"\n")
        assert (answer["status"], answer["code"], answer["error"]) == ("error", code, refusal)
        assert (await answer_to(config, b'{"verb":"log-level"}\n'))["status"] == "ok"


@pytest.mark.parametrize("body", [b"null", b"[]", b"3", b'"now"'])
async def test_a_stop_is_served_whatever_its_body(tmp_path: Path, body: bytes) -> None:
    config = tmp_path / "motiond.yaml"
    async with served(config):
        answer = await answer_to(config, b'{"robot":"arm","verb":"stop","body":%s}\n' % body)
    assert answer["status"] == "ok"


async def test_no_report_is_lost_or_comes_twice_while_a_client_changes_what_it_follows(
    tmp_path: Path,
) -> None:
    config, hub, sent = tmp_path / "motiond.yaml", known_hub(), range(60)
    both, one = (
        orjson.dumps({"follow": [*more, ["arm", "result"]]}) + b"\n" for more in ([["hand", "state"]], [])
    )
    async with served(config, hub):
        reader, writer = await asyncio.open_unix_connection(address_of(config))
        writer.write(both)
        async with asyncio.timeout(PATIENCE_S):
            assert orjson.loads(await reader.readline())["subject"] == "state"
        for number in sent:
            for robot in ("arm", "hand"):  # the results of the hand, which are not followed, do not come
                hub.publish(Report(robot, "result", answers.result(str(number))))
            if number % 5 == 0:
                writer.write(one if number % 2 == 0 else both)
            await asyncio.sleep(0)
        received = list[str]()
        async with asyncio.timeout(PATIENCE_S):
            while len(received) < len(sent):
                report = orjson.loads(await reader.readline())
                if report["subject"] == "result":
                    received.append(report["data"]["goal_id"])
        writer.close()
    assert received == [str(number) for number in sent]


async def test_more_clients_than_are_served_have_their_stops_served_alone(tmp_path: Path) -> None:
    config = tmp_path / "motiond.yaml"
    async with served(config):
        crowd = [await asyncio.open_unix_connection(address_of(config)) for _ in range(MOST_CLIENTS)]
        busy = await answer_to(config, b'{"robot":"arm","verb":"status"}\n')
        reason = "there is room for stops only; wait for answers"
        assert (busy["code"], busy["error"]) == ("BUSY", f"control: 32 clients are served; {reason}")
        assert (await answer_to(config, TARGET % 1))["code"] == "BUSY"
        assert (await answer_to(config, b'{"robot":"arm","verb":"stop"}\n'))["status"] == "ok"
        for _, writer in crowd:
            writer.close()


async def test_other_users_may_not_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "motiond.yaml"
    caplog.set_level("INFO", "motiond")
    async with served(config):
        with socket.socket(socket.AF_UNIX) as theirs:
            with as_other_user(monkeypatch):
                theirs.connect(address_of(config))
            theirs.sendall(b'{"verb":"log-level","body":{"level":"debug"}}\n')
            answer = orjson.loads(await asyncio.to_thread(theirs.recv, 4096))
    reason = "root may, the user that the daemon runs as, and the owner of its configuration"
    assert caplog.messages == [f"control: user {OTHER_USER} may not ask"]
    refusal = f"control: user {OTHER_USER} may not ask; {reason}; use sudo"
    assert (answer["answer"]["code"], answer["answer"]["error"]) == ("NOT_ALLOWED", refusal)


async def test_the_owner_of_the_configuration_may_ask_and_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = owned_by(tmp_path / "motiond.yaml", OTHER_USER, monkeypatch)
    async with served(config):
        with socket.socket(socket.AF_UNIX) as theirs:
            with as_other_user(monkeypatch):
                theirs.connect(address_of(config))
            theirs.sendall(b'{"verb":"log-level"}\n')
            answer = orjson.loads(await asyncio.to_thread(theirs.recv, 4096))
    assert answer["answer"]["status"] == "ok"
    with listening_as_other_user(monkeypatch, address_of(config)) as theirs:
        asking = asyncio.create_task(ask_here(config, "log-level"))
        with await accepted(theirs) as connection:
            assert orjson.loads(await asyncio.get_running_loop().sock_recv(connection, 4096))["id"] == 1
            connection.sendall(b'{"id":1,"answer":{"status":"ok","data":{"level":"info"}}}\n')
        assert await asking == {"level": "info"}


async def test_other_users_who_only_connect_keep_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "motiond.yaml"
    async with served(config):
        with ExitStack() as crowd:
            strangers = [crowd.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(40)]
            for stranger in strangers:
                with as_other_user(monkeypatch):
                    stranger.connect(address_of(config))
            # Those beyond the bound are hung up on, while the others have their time.
            assert await asyncio.to_thread(strangers[-1].recv, 1) == b""
            if os.geteuid() == 0:
                assert await ask_here(config, "log-level") is not None


async def test_a_second_daemon_of_a_configuration_says_so_once_and_serves_when_the_first_has_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "motiond.yaml"
    with socket.socket(socket.AF_UNIX) as first:
        first.bind(address_of(config))
        first.listen()
        serving = asyncio.create_task(control_of(config, Robots(), known_hub()).run())
        await asyncio.sleep(3.5)
    with pytest.raises(NoAnswer):
        await ask_here(config, "log-level")
    await asyncio.sleep(1.0)
    assert await ask_here(config, "log-level") is not None
    serving.cancel()
    await asyncio.wait((serving,), timeout=PATIENCE_S)
    unserved = "requests of this machine are not served"
    user = f"process {os.getpid()} of user {named_user(os.geteuid())}"
    assert caplog.messages == [f"{config}: {unserved}; {user} has bound the socket; end it; tried again"]


async def test_a_daemon_whose_socket_another_user_has_says_whose_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "motiond.yaml"
    with listening_as_other_user(monkeypatch, address_of(config)) as theirs:
        serving = asyncio.create_task(control_of(config, Robots(), known_hub()).run())
        (await accepted(theirs)).close()
        serving.cancel()
        await asyncio.wait((serving,), timeout=PATIENCE_S)
    unserved = "requests of this machine are not served"
    who = f"process {os.getpid()} of user {OTHER_USER} has bound the socket"
    assert caplog.messages == [f"{config}: {unserved}; {who}; it is no daemon of yours; end it; tried again"]


TARGET = b'{"robot":"arm","verb":"follow/target","body":{"goal_id":"g1","positions":[%d.5]}}\n'


async def test_a_target_without_an_id_is_passed_on_without_an_answer(tmp_path: Path) -> None:
    config, robots = tmp_path / "motiond.yaml", Robots()
    async with served(config, robots=robots):
        reader, writer = await asyncio.open_unix_connection(address_of(config))
        writer.write(TARGET % 1 + b'{"id":7,' + TARGET[1:] % 2)
        async with asyncio.timeout(PATIENCE_S):
            answered = orjson.loads(await reader.readline())
        writer.close()
    assert (answered["id"], answered["answer"]["status"]) == (7, "ok")
    assert [(robot, target.model_dump(exclude_unset=True)) for robot, target in robots.taken] == [
        ("arm", {"goal_id": "g1", "positions": [1.5]})
    ]
    assert robots.handled == [("arm", "follow/target", {"goal_id": "g1", "positions": [2.5]})]


async def test_of_a_flood_of_targets_only_so_many_are_passed_on_and_a_stop_is_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "motiond")
    config, robots = tmp_path / "motiond.yaml", Robots()
    async with served(config, robots=robots):
        reader, writer = await asyncio.open_unix_connection(address_of(config))
        writer.write(b"".join(TARGET % number for number in range(5000)))
        writer.write(b'{"id":1,"robot":"arm","verb":"stop"}\n')
        async with asyncio.timeout(PATIENCE_S):
            assert orjson.loads(await reader.readline())["answer"]["status"] == "ok"
        writer.close()
    assert TARGETS_BURST / 2 < len(robots.taken) < 1000
    assert any("sends more targets than are taken" in line for line in caplog.messages)
