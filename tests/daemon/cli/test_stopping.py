"""Stops that no broken configuration prevents, and that go to the daemon on this machine by a key, too."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, NoReturn

import pytest

from motiond.daemon.cli.requests import broker as finding_broker
from motiond.daemon.cli.requests.broker import Client
from motiond.daemon.config.mqtt import MqttSettings
from motiond.local import address_of
from tests.daemon.cli.program import OnTerminal, daemon_of, motiond
from tests.daemon.conftest import Robots, control_of, known_hub
from tests.daemon.fleet.members import members
from tests.daemon.programs import run_here
from tests.users import OTHER_USER, listening_as_other_user

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.daemon.cli.program import Daemon
    from tests.daemon.conftest import Embedded
    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow

BROKEN = {
    "not YAML": "robots: [\n",
    "a key that stands twice": "mqtt: {}\nmqtt: {}\n",
    "a key that nobody knows": "mqtt: {brokr: x}\n",
    "files that are missing": "mqtt: {broker: 'mqtts://127.0.0.1:9', ca_file: no.pem}\n",
    "no file": None,
}
NOBODY = "mqtt://127.0.0.1:1884"


def spoil(config: Path, text: str | None) -> None:
    if text is None:
        config.unlink()
    else:
        config.write_text(text)


@pytest.fixture
async def daemon(rig: Rig) -> AsyncIterator[Daemon]:
    """A daemon whose robot `arm`, of the group `choir`, plays."""
    rig.robot["groups"] = ["choir"]
    async with daemon_of(rig) as daemon:
        await daemon.ask("play", motion="long", loop="forever", ping_pong=True)
        await daemon.until("playing")
        yield daemon


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize(("verb", "said"), [("stop", "stops softly"), ("estop", "estopped")])
async def test_no_broken_configuration_keeps_a_stop_from_the_daemon_of_this_machine(
    daemon: Daemon, text: str | None, verb: str, said: str
) -> None:
    spoil(daemon.config, text)
    assert await motiond(verb, "arm", "-c", daemon.config) == (0, f"arm: {said}\n", "")
    await daemon.until("idle" if verb == "stop" else "estopped")


@pytest.mark.parametrize("words", [("stop", "arm"), ("estop", "arm"), ("fleet", "stop", "choir")])
async def test_who_names_the_broker_needs_no_configuration_for_a_stop(
    daemon: Daemon,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    spoil(daemon.config, BROKEN["not YAML"])
    monkeypatch.setenv("MOTIOND_CONFIG", str(daemon.config))
    monkeypatch.setenv("MOTIOND_BROKER", daemon.broker)
    code, _, err = await motiond(*words)
    told = f"; the configuration is not read, so {daemon.broker} is asked, by topics below 'motiond'\n"
    assert (code, err.count("\n"), err.endswith(told)) == (0, 1, True)
    await daemon.until("estopped" if "estop" in words else "idle")
    assert (await motiond(*words, "--broker", daemon.broker, "--base", "motiond"))[::2] == (0, "")


async def test_on_the_daemons_machine_requests_need_no_configuration(daemon: Daemon) -> None:
    spoil(daemon.config, BROKEN["not YAML"])
    assert (await motiond("pause", "arm", "-c", daemon.config))[::2] == (0, "")
    assert (await motiond("status", "-c", daemon.config)).code == 0


async def test_all_but_stops_refuses_a_broken_configuration(daemon: Daemon) -> None:
    spoil(daemon.config, BROKEN["not YAML"])
    for words in (("pause", "arm"), ("status",), ("reset", "arm"), ("fleet", "pause", "choir")):
        code, out, err = await motiond(*words, "-c", daemon.config, "--broker", daemon.broker)
        assert (code, out) == (2, "")
        assert err.startswith(f"{daemon.config}:2: not valid YAML; ")
    assert (await daemon.ask("status"))["state"] == "playing"


@pytest.mark.parametrize("words", [("stop",), ("estop",), ("fleet", "stop"), ("fleet", "estop")])
def test_where_a_guess_is_not_answered_it_is_told_plainly_that_nothing_was_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    config = tmp_path / "none.yaml"
    code, out, err = run_here(capsys, *words, "nobody", "-c", config, "--broker", NOBODY)
    warning, *reason, last = err.splitlines()
    assert (code, out, len(reason)) == (3, "", 1)
    assert warning == (
        f"{config}: cannot be read; no such file; check the path; the configuration is not read, "
        f"so {NOBODY} is asked, by topics below 'motiond'"
    )
    unknown = f"what {config} says of the broker is not known"
    assert last == f"nobody: nothing was stopped; {unknown}; use the robot's own switch"


@pytest.mark.usefixtures("programs")
async def test_a_group_none_of_which_has_answered_was_not_stopped(tmp_path: Path, broker: Embedded) -> None:
    async with members(broker.settings) as choir:
        choir.add("left", "alone", silent_at={"stop"})
        choir.daemon("offline")
        await choir.settle()
        words = ("fleet", "stop", "alone", "-c", tmp_path / "none.yaml", "--broker")
        code, out, err = await motiond(*words, f"mqtt://{broker.settings.listen}")
    assert (code, out) == (3, "")
    assert err.splitlines()[-1].startswith("alone: nothing was stopped; ")


async def test_a_group_that_nobody_knows_was_not_stopped(daemon: Daemon, tmp_path: Path) -> None:
    config = tmp_path / "none.yaml"
    code, out, err = await motiond("fleet", "stop", "chior", "-c", config, "--broker", daemon.broker)
    assert (code, out) == (1, "")
    unknown = f"what {config} says of the broker is not known"
    assert err.splitlines()[-1] == f"chior: nothing was stopped; {unknown}; use the robot's own switch"


def test_without_a_configuration_that_can_be_read_the_broker_is_that_of_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "motiond.yaml"
    monkeypatch.setattr(finding_broker, "DEFAULT_CONFIG", config)
    config.write_text("mqtt: {}\nmqtt: {}\n")
    assert Client().known_mqtt() == (MqttSettings(), config)
    assert Client(base="lab").known_mqtt() == (MqttSettings(base="lab"), config)
    assert capsys.readouterr().err.count("; the configuration is not read, so mqtt://127.0.0.1:1883 is") == 2
    config.write_text("mqtt: {base: lab}\n")
    assert Client().known_mqtt() == (MqttSettings(base="lab"), None)
    assert capsys.readouterr().err == ""


async def test_a_default_configuration_in_a_folder_that_may_not_be_looked_into_keeps_no_stop_back(
    monkeypatch: pytest.MonkeyPatch, daemon: Daemon
) -> None:
    class Closed(type(daemon.config)):  # type: ignore[misc] # which class a path has depends on the system
        def is_file(self) -> bool:
            raise PermissionError(13, "Permission denied", str(self))

    spoil(daemon.config, "robots: [\n")
    monkeypatch.setattr(finding_broker, "DEFAULT_CONFIG", Closed(daemon.config))
    assert (await motiond("stop", "arm"))[:2] == (0, "arm: stops softly\n")


async def test_a_configuration_of_somebody_else_keeps_no_stop_back(
    monkeypatch: pytest.MonkeyPatch, daemon: Daemon
) -> None:
    def denied(path: Path) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.access", lambda *_, **__: False)
    monkeypatch.setattr("motiond.formats.io.source.open_regular", denied)
    assert await motiond("stop", "arm", "-c", daemon.config) == (0, "arm: stops softly\n", "")


# -- this machine -------------------------------------------------------------------------------------------


async def test_a_link_leads_to_the_daemon_of_a_configuration(daemon: Daemon, tmp_path: Path) -> None:
    link = tmp_path / "current.yaml"
    link.symlink_to(daemon.config)
    spoil(daemon.config, BROKEN["not YAML"])
    assert await motiond("pause", "arm", "-c", link) == (0, "arm: paused\n", "")
    assert (await motiond("log-level", "-c", link))[::2] == (0, "")
    assert await motiond("stop", "arm", "-c", link) == (0, "arm: stops softly\n", "")


async def test_a_group_is_stopped_by_the_daemon_of_this_machine_whose_broker_is_gone(
    rig: Rig, broker: Embedded
) -> None:
    url = f"mqtt://{broker.settings.listen}"
    rig.others = {"hand": {**rig.robot}}
    rig.robot["groups"] = ["choir"]
    rig.daemon = {"mqtt": {"broker": url, "protocol": "3.1.1", "stop_when_lost_s": None}}
    async with daemon_of(rig) as daemon:
        for robot in ("arm", "hand"):
            await daemon.ask("play", robot, motion="long", loop="forever", ping_pong=True)
        await broker.kill()
        code, out, err = await daemon.cli("fleet", "stop", "choir")
        reason = "nobody listens there; start the broker, or correct --broker or mqtt.broker"
        unreached = f"{url}: no connection to the broker; {reason}\n"
        assert (code, out, err) == (1, "arm: stops softly\n", unreached)
        assert await daemon.cli("stop", "hand") == (0, "hand: stops softly\n", "")


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("words", [("stop", "left"), ("fleet", "stop", "choir")])
async def test_who_may_not_ask_the_daemon_of_this_machine_stops_by_the_broker(
    tmp_path: Path, broker: Embedded, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("motiond.daemon.service.control_socket.believed_users", lambda *_: frozenset())
    config = tmp_path / "motiond.yaml"
    spoil(config, f"mqtt: {{broker: 'mqtt://{broker.settings.listen}', protocol: '3.1.1'}}\n")
    async with members(broker.settings) as crowd:
        crowd.add("left", "choir")
        await crowd.settle()
        serving = asyncio.create_task(control_of(config, Robots(), known_hub()).run())
        assert await motiond(*words, "-c", config) == (0, "left: stops softly\n", "")
        serving.cancel()
        await asyncio.wait((serving,))


# -- an impostor --------------------------------------------------------------------------------------------


@pytest.fixture
def impostor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A configuration that cannot be read, and whose daemon's socket another user has bound."""
    config = tmp_path / "motiond.yaml"
    config.write_text("robots: [\n")
    with listening_as_other_user(monkeypatch, address_of(config)):
        yield config


def has_the_socket(config: Path) -> str:
    return (
        f"{config}: process {os.getpid()} of user {OTHER_USER} has the socket of its daemon, and is not "
        "believed; only root, you and the owners of the configuration and of /var/lib/motiond are; end that "
        "process, or make its user the owner of the configuration"
    )


@pytest.mark.parametrize("verb", ["stop", "estop"])
def test_an_impostor_is_named_and_stops_nothing(
    impostor: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    impostor.write_text(f"mqtt: {{broker: '{NOBODY}'}}\n")
    code, out, err = run_here(capsys, verb, "arm", "-c", impostor)
    reason = "nobody listens there; start the daemon or the broker, or correct the URL"
    unreached = f"{NOBODY}: no connection to the broker; {reason}"
    assert (code, out, err.splitlines()) == (3, "", [has_the_socket(impostor), unreached])


@pytest.mark.usefixtures("programs")
async def test_a_stop_beside_an_impostor_goes_out_by_the_broker(impostor: Path, broker: Embedded) -> None:
    spoil(impostor, f"mqtt: {{broker: 'mqtt://{broker.settings.listen}', protocol: '3.1.1'}}\n")
    async with members(broker.settings) as crowd:
        crowd.add("left")
        await crowd.settle()
        stopped = await motiond("stop", "left", "-c", impostor)
    assert stopped == (0, "left: stops softly\n", f"{has_the_socket(impostor)}\n")


async def test_a_reload_beside_an_impostor_reads_the_motions_by_the_broker_and_fails(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.yaml"
    copy.write_text(daemon.config.read_text())
    with listening_as_other_user(monkeypatch, address_of(copy)):
        ended = await motiond("reload", "-c", copy)
    reason = f"{has_the_socket(copy)}; motions are read again, the configuration is not\n"
    assert ended == (3, "arm: plays long, short\n", reason)


# -- the monitor --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("terminals")
async def test_the_monitor_of_a_broker_that_is_named_starts_beside_a_broken_configuration(
    daemon: Daemon,
) -> None:
    spoil(daemon.config, "robots: [\n")
    monitor = OnTerminal("monitor", "arm", "-c", daemon.config, "--broker", daemon.broker)
    await monitor.shows("arm: playing long")
    monitor.type("s")
    await monitor.shows("arm: stop accepted; stops softly")
    monitor.type("q")
    code, _, err = await monitor.end()
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith(f"{daemon.config}:2: not valid YAML; ")


@pytest.mark.usefixtures("terminals")
@pytest.mark.parametrize(("key", "said"), [("s", "stop accepted; stops softly"), ("e", "estop accepted; ")])
async def test_a_key_stops_a_robot_of_this_machine_whose_broker_is_gone(
    rig: Rig, broker: Embedded, key: str, said: str
) -> None:
    url = f"mqtt://{broker.settings.listen}"
    rig.daemon = {"mqtt": {"broker": url, "protocol": "3.1.1", "stop_when_lost_s": None}}
    async with daemon_of(rig) as daemon:
        await daemon.ask("play", motion="long", loop="forever", ping_pong=True)
        monitor = OnTerminal("monitor", "arm", "-c", daemon.config)
        await monitor.shows("arm: playing long")
        await broker.kill()
        await monitor.shows("NOT CONNECTED")
        monitor.type(key)
        assert "HAS FAILED" not in await monitor.shows(f"arm: {said}")
        monitor.type("q")
        assert (await monitor.end()).code == 0


@pytest.mark.usefixtures("terminals")
async def test_a_key_stops_a_robot_of_this_machine_that_does_not_answer_at_its_broker(
    tmp_path: Path, broker: Embedded
) -> None:
    config, robots = tmp_path / "motiond.yaml", Robots()
    robots.robots, robots.answers["stop"] = ("left",), {"goal_id": "g"}
    config.write_text(f"mqtt: {{broker: 'mqtt://{broker.settings.listen}', protocol: '3.1.1'}}\n")
    async with members(broker.settings) as crowd:
        crowd.add("left", silent_at={"stop"})
        await crowd.settle()
        control = control_of(config, robots, known_hub())
        serving = asyncio.create_task(control.run())
        monitor = OnTerminal("monitor", "left", "-c", config)
        await monitor.shows("left: ")
        monitor.type("s")
        await monitor.shows("left: stop accepted; stops softly")
        monitor.type("q")
        assert (await monitor.end()).code == 0
        serving.cancel()
        await asyncio.wait((serving,))
    assert robots.handled[0][:2] == ("left", "stop")
