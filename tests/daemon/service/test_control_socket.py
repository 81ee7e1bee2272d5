"""Behaviour of the socket at which programs of this machine ask the daemon for what concerns all of it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.client.local import ask_here
from motiond.daemon.ipc.control import Refused, address_of
from motiond.daemon.log.lines import level_name
from motiond.daemon.service import control_socket
from motiond.daemon.service.control_socket import ControlSocket
from motiond.daemon.service.log_level import serve_log_level
from tests.daemon.programs import logging_as_before, run_here
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def served(config: Path) -> AsyncIterator[None]:
    with logging_as_before():
        serving = asyncio.create_task(ControlSocket(config, {"log-level": serve_log_level}).run())
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
        answer: dict[str, Any] = orjson.loads(await reader.read())
    writer.close()
    return answer


async def test_the_log_level_is_told_and_set(tmp_path: Path) -> None:
    config = tmp_path / "motiond.yaml"
    async with served(config):
        logging.getLogger("motiond").setLevel(logging.INFO)
        assert await asyncio.to_thread(ask_here, config, "log-level") == {"level": "info"}
        assert await asyncio.to_thread(ask_here, config, "log-level", level="debug") == {"level": "debug"}
        assert level_name() == "debug"


async def test_motiond_log_level_says_and_sets_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "motiond.yaml"
    config.touch()
    nobody = (
        f"{config}: no daemon of this configuration runs on this machine; start it with `motiond run`, "
        "or name its configuration with -c\n"
    )
    assert run_here(capsys, "log-level", "-c", config) == (3, "", nobody)
    async with served(config):
        told = await asyncio.to_thread(run_here, capsys, "log-level", "error", "-c", config)
        assert told == (0, "error\n", "")


@pytest.mark.parametrize(
    ("sent", "refusal"),
    [
        (b"{}\n", "control: no verb ''; there are log-level"),
        (
            b'{"verb":"log-levle"}\n',
            "control: no verb 'log-levle'; there are log-level; did you mean 'log-level'?",
        ),
        (b"[]\n", "control: the request is no JSON object; put keys and values in { }"),
        (
            b'{"verb":"log-level","level":"loud"}\n',
            "log-level: no level 'loud'; there are debug, info, warning, error",
        ),
    ],
)
async def test_what_nobody_serves_is_refused(tmp_path: Path, sent: bytes, refusal: str) -> None:
    config = tmp_path / "motiond.yaml"
    async with served(config):
        assert await answer_to(config, sent) == {"status": "error", "error": refusal}


async def test_what_is_no_request_is_refused_and_the_next_is_served(tmp_path: Path) -> None:
    config = tmp_path / "motiond.yaml"
    async with served(config):
        for sent in (b"\n", b"\xff\n", b"{" * 4000 + b"\n", b"x" * 5_000 + b"\n"):
            assert (await answer_to(config, sent))["error"].startswith("control: no line of JSON; ")
        assert (await answer_to(config, b'{"verb":"log-level"}\n'))["status"] == "ok"


async def test_a_link_that_leads_elsewhere_meanwhile_is_still_the_configuration(tmp_path: Path) -> None:
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text("")
    config = tmp_path / "motiond.yaml"
    config.symlink_to("one.yaml")
    async with served(config):
        config.unlink()
        config.symlink_to("two.yaml")
        assert await asyncio.to_thread(ask_here, config, "log-level") is not None


async def test_other_users_may_not_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "motiond.yaml"
    monkeypatch.setattr(control_socket, "_user_of", lambda _: os.geteuid() + 1)
    async with served(config):
        with pytest.raises(Refused) as refused:
            await asyncio.to_thread(ask_here, config, "log-level", level="debug")
    why = "root may, and the user that the daemon runs as"
    assert str(refused.value) == f"control: user {os.geteuid() + 1} may not ask; {why}; use sudo"


async def test_a_second_daemon_of_a_configuration_says_so_once_and_serves_when_the_first_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(control_socket, "TRY_AGAIN_S", 0.02)
    config = tmp_path / "motiond.yaml"
    with socket.socket(socket.AF_UNIX) as first:
        first.bind(address_of(config))
        serving = asyncio.create_task(ControlSocket(config, {"log-level": serve_log_level}).run())
        await asyncio.sleep(0.2)
    async with asyncio.timeout(PATIENCE_S):
        while await asyncio.to_thread(ask_here, config, "log-level") is None:  # noqa: ASYNC110 - of a thread
            await asyncio.sleep(0.02)
    serving.cancel()
    await asyncio.wait((serving,), timeout=PATIENCE_S)
    unserved = "`motiond reload` and `motiond log-level` are not served"
    assert caplog.messages == [f"{config}: {unserved}; Address already in use; tried again"]


def test_the_log_level_of_a_configuration_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none.yaml"
    why = (
        "there is no such file, and so no daemon is known by it; name the configuration of the daemon with -c"
    )
    assert run_here(capsys, "log-level", "-c", missing) == (2, "", f"{missing}: {why}\n")
