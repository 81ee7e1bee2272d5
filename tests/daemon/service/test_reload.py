"""Behaviour of a reload: what a running daemon takes, and which changes need a restart."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.service.reload import Reload
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, sweep, write_seq

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.daemon = {"id": "one"}
    rig.others = {"leg": {**rig.robot, "driver": {"type": "sim"}}}
    return rig


@asynccontextmanager
async def reloading(rig: Rig) -> AsyncIterator[tuple[Reload, list[str]]]:
    """Run the robots, and yield what reloads, and what the page was asked for."""
    page: list[str] = []
    async with rig.running() as registry:
        await rig.until_state("idle")
        yield Reload(rig.config, load_settings(rig.config), registry, lambda: page.append("renewed")), page


async def test_motions_and_the_pages_files_are_read_again(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with reloading(rig) as (reload, page):
        write_seq(rig.folder / "motions" / "new.seq", sweep(0.5), JOINTS, RATE_HZ)
        answer = await reload.reload()
    assert answer["restart"] == []
    assert [motion["name"] for motion in answer["motions"]["arm"]["motions"]] == ["long", "new", "short"]
    assert page == ["renewed"]
    assert "the configuration was read again; nothing in it has changed" in caplog.messages


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        ({"id": "two"}, ["id"]),
        ({"mqtt": {"broker": "mqtt://elsewhere", "telemetry_hz": 5.0}}, ["mqtt.broker", "mqtt.telemetry_hz"]),
        ({"http": {"listen": "127.0.0.1:8099"}}, ["http"]),
        ({"arm": {"stop_duration_s": 0.3}}, ["robots.arm.stop_duration_s"]),
        ({"arm": {"motions": ["elsewhere"]}}, ["robots.arm.motions"]),
        ({"driver": {"command_lifetime_s": 9.0}}, ["robots.arm.driver.command_lifetime_s"]),
        ({"renamed": True}, ["robots.leg", "robots.hand"]),
    ],
)
async def test_keys_that_have_changed_are_named_until_a_restart(
    rig: Rig, change: dict[str, Any], keys: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with reloading(rig) as (reload, _):
        rig.robot |= change.pop("arm", {})
        rig.driver |= change.pop("driver", {})
        if change.pop("renamed", False):
            rig.others = {"hand": rig.others["leg"]}
        rig.daemon |= change
        assert rig.config.is_file()
        for _ in range(2):
            assert (await reload.reload())["restart"] == keys
            changed = f"the configuration was read again; {', '.join(keys)} changed; restart the daemon"
            assert caplog.messages[-1] == changed


async def test_a_wrong_configuration_is_refused_with_all_that_is_wrong(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    async with reloading(rig) as (reload, page):
        write_seq(rig.folder / "motions" / "new.seq", sweep(0.5), JOINTS, RATE_HZ)
        rig.others["leg"] |= {"on_ende": "park", "idle_rate_hz": -3}
        config = rig.config
        with pytest.raises(RequestError) as refused:
            await reload.reload()
        assert [line.partition("; ")[0].split(" ", 1)[1] for line in str(refused.value).splitlines()] == [
            "unknown key 'on_ende'",
            "robots.leg.idle_rate_hz is -3",
        ]
        reason = "the configuration is wrong; nothing has changed; correct it and reload"
        assert caplog.messages[-1] == f"{config}: {reason}\n{refused.value}"
        assert page == ["renewed"]
        rig.others["leg"] = {**rig.robot, "driver": {"type": "sim"}}
        assert rig.config.is_file()
        assert (await reload.reload())["restart"] == []
