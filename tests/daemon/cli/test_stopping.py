"""Stops that no broken configuration prevents, and that go to the daemon on this machine by a key, too."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from motiond.daemon.cli import broker as finding_broker
from motiond.daemon.cli.broker import Client
from motiond.daemon.client.connection import NoAnswer
from motiond.daemon.client.session import ask
from motiond.daemon.client.stopping import stop
from motiond.daemon.config.client import load_mqtt_settings
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.ipc.control import address_of
from motiond.daemon.service.control_socket import ControlSocket
from tests.daemon.cli.terminals import on_terminal
from tests.daemon.conftest import Embedded
from tests.daemon.fleet.members import members
from tests.daemon.programs import background, motiond, run_here
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.users import OTHER_USER, listening_as_other_user
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

BROKEN = {
    "not YAML": "robots: [\n",
    "a key that stands twice": "mqtt: {}\nmqtt: {}\n",
    "a key that nobody knows": "mqtt: {brokr: x}\n",
    "files that are missing": "mqtt: {broker: 'mqtts://127.0.0.1:9', ca_file: no.pem}\n",
    "no file": None,
}


class Playing:
    """A daemon whose robot `arm` plays, and whose configuration can no longer be read."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.settings: MqttSettings = load_mqtt_settings(config)
        self.broker = f"mqtt://{self.settings.listen}"
        self._text = config.read_text()

    def ask(self, verb: str, **body: object) -> dict[str, object]:
        return asyncio.run(ask(self.settings, "arm", verb, body))

    def state(self) -> str:
        try:
            return str(self.ask("status")["state"])
        except NoAnswer as error:
            return str(error)

    def until(self, *states: str) -> None:
        eventually(f"the robot is {states}", self.state, lambda seen: seen in states)

    def play(self) -> None:
        if self.state() == "estopped":
            self.ask("reset")
        self.until("idle", "playing")
        self.ask("play", motion="long", loop="forever", ping_pong=True, on_busy="replace")
        self.until("playing")

    def spoil(self, text: str | None) -> None:
        if text is None:
            self.config.unlink()
        else:
            self.config.write_text(text)

    def mend(self) -> None:
        self.config.write_text(self._text)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playing]:
    rig = Rig(tmp_path_factory.mktemp("daemon"))
    del rig.driver["trace"], rig.driver["plant"]
    rig.robot["groups"] = ["choir"]
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    with background("run", "-c", rig.config):
        daemon = Playing(rig.folder / "motiond.yaml")
        daemon.until("idle")
        yield daemon


@pytest.fixture
def playing(daemon: Playing) -> Iterator[Playing]:
    daemon.play()
    yield daemon
    daemon.mend()


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize(("verb", "said"), [("stop", "stops softly"), ("estop", "estopped")])
def test_no_broken_configuration_keeps_a_stop_from_the_daemon_of_this_machine(
    playing: Playing, capsys: pytest.CaptureFixture[str], text: str | None, verb: str, said: str
) -> None:
    playing.spoil(text)
    code, out, err = run_here(capsys, verb, "arm", "-c", playing.config)
    assert (code, out, err.count("\n")) == (0, f"arm: {said}\n", 1)
    assert err.startswith(f"{playing.config}:")
    guess = "its daemon on this machine is asked, and else mqtt://127.0.0.1:1883"
    assert err.endswith(f"; the configuration is not read, so {guess}\n")
    playing.until("idle" if verb == "stop" else "estopped")


@pytest.mark.parametrize("words", [("stop", "arm"), ("estop", "arm"), ("fleet", "stop", "choir")])
def test_who_names_the_broker_needs_no_configuration_for_a_stop(
    playing: Playing,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    playing.spoil(BROKEN["not YAML"])
    monkeypatch.setenv("MOTIOND_CONFIG", str(playing.config))
    monkeypatch.setenv("MOTIOND_BROKER", playing.broker)
    code, _, err = run_here(capsys, *words)
    told = f"; the configuration is not read, so {playing.broker} is asked, by topics below 'motiond'\n"
    assert (code, err.count("\n"), err.endswith(told)) == (0, 1, True)
    playing.until("estopped" if "estop" in words else "idle")
    assert run_here(capsys, *words, "--broker", playing.broker, "--base", "motiond")[::2] == (0, "")


def test_all_but_stops_refuses_a_broken_configuration(
    playing: Playing, capsys: pytest.CaptureFixture[str]
) -> None:
    playing.spoil(BROKEN["not YAML"])
    for words in (("pause", "arm"), ("status",), ("reset", "arm"), ("fleet", "pause", "choir")):
        code, out, err = run_here(capsys, *words, "-c", playing.config, "--broker", playing.broker)
        assert (code, out) == (2, "")
        assert err.startswith(f"{playing.config}:2: not valid YAML; ")
    assert playing.state() == "playing"


@pytest.mark.parametrize("words", [("stop",), ("estop",), ("fleet", "stop"), ("fleet", "estop")])
def test_where_a_guess_is_not_answered_it_is_told_plainly_that_nothing_was_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    config, nobody = tmp_path / "none.yaml", f"mqtt://127.0.0.1:{free_port()}"
    code, out, err = run_here(capsys, *words, "nobody", "-c", config, "--broker", nobody)
    warning, *why, last = err.splitlines()
    assert (code, out, len(why)) == (3, "", 1)
    assert warning == (
        f"{config}: cannot be read; no such file; check the path; the configuration is not read, "
        f"so {nobody} is asked, by topics below 'motiond'"
    )
    unknown = f"what {config} says of the broker is not known"
    assert last == f"nobody: nothing was stopped; {unknown}; use the robot's own switch"


@pytest.fixture
async def choir(free_port: int) -> AsyncIterator[str]:
    """A broker with a group whose daemon is gone."""
    broker = Embedded(free_port)
    await broker.start()
    async with members(broker.settings) as choir:
        choir.add("left", "alone", silent_at={"stop"})
        choir.daemon("offline")
        await choir.settle()
        yield f"mqtt://{broker.settings.listen}"
    await broker.kill()


async def test_a_group_none_of_which_has_answered_was_not_stopped(choir: str, tmp_path: Path) -> None:
    words = ("fleet", "stop", "alone", "-c", tmp_path / "none.yaml", "--broker", choir)
    done = await asyncio.to_thread(motiond, *words)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[-1].startswith("alone: nothing was stopped; ")


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


def test_a_default_configuration_in_a_folder_that_may_not_be_looked_into_keeps_no_stop_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], playing: Playing
) -> None:
    class Closed(type(playing.config)):  # type: ignore[misc] # which class a path has depends on the system
        def is_file(self) -> bool:
            raise PermissionError(13, "Permission denied", str(self))

    playing.spoil("robots: [\n")
    monkeypatch.setattr(finding_broker, "DEFAULT_CONFIG", Closed(playing.config))
    assert run_here(capsys, "stop", "arm")[:2] == (0, "arm: stops softly\n")


def test_a_configuration_of_somebody_else_keeps_no_stop_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], playing: Playing
) -> None:
    def denied(path: Path) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.access", lambda *_, **__: False)
    monkeypatch.setattr("motiond.formats.io.source.open_regular", denied)
    code, out, err = run_here(capsys, "stop", "arm", "-c", playing.config)
    assert (code, out) == (0, "arm: stops softly\n")
    assert err.startswith(f"{playing.config}: cannot be read; Permission denied; ")
    code, out, err = run_here(capsys, "pause", "arm", "-c", playing.config)
    assert (code, out) == (2, "")
    assert err.startswith(f"{playing.config}: cannot be read; Permission denied")


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
def test_an_impostor_is_named_and_stops_nothing(impostor: Path, free_port: int, verb: str) -> None:
    """As a program of its own, as it says so on stderr by its logging."""
    nobody = f"mqtt://127.0.0.1:{free_port}"
    impostor.write_text(f"mqtt: {{broker: '{nobody}'}}\n")
    done = motiond(verb, "arm", "-c", impostor)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[0] == has_the_socket(impostor)
    assert done.stderr.count("has the socket") == 1


@pytest.mark.parametrize("here_first", [True, False])
async def test_a_stop_beside_an_impostor_goes_out_by_the_broker(
    impostor: Path, free_port: int, caplog: pytest.LogCaptureFixture, *, here_first: bool
) -> None:
    broker = Embedded(free_port)
    await broker.start()
    async with members(broker.settings) as crowd:
        crowd.add("left")
        await crowd.settle()
        answer = await stop(broker.settings, "left", "stop", impostor, here_first=here_first)
        assert answer == await stop(broker.settings, "left", "stop")
    await broker.kill()
    assert caplog.messages == ([has_the_socket(impostor)] if here_first else [])


def test_a_reload_beside_an_impostor_reads_the_motions_by_the_broker_and_fails(
    playing: Playing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.yaml"
    copy.write_text(playing.config.read_text())
    with listening_as_other_user(monkeypatch, address_of(copy)):
        code, out, err = run_here(capsys, "reload", "-c", copy)
    assert (code, out) == (3, "arm: plays long, short\n")
    assert err == f"{has_the_socket(copy)}; motions are read again, the configuration is not\n"


# -- the monitor --------------------------------------------------------------------------------------------


def test_the_monitor_of_a_broker_that_is_named_starts_beside_a_broken_configuration(playing: Playing) -> None:
    playing.spoil("robots: [\n")
    with on_terminal("monitor", "arm", "-c", playing.config, "--broker", playing.broker) as terminal:
        terminal.shows("arm: playing long")
        terminal.type("s")
        terminal.shows("arm: stop accepted; stops softly")
        terminal.type("q")
        code, err = terminal.ended()
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith(f"{playing.config}:2: not valid YAML; ")


@pytest.mark.parametrize(("key", "said"), [("s", "stop accepted; stops softly"), ("e", "estop accepted; ")])
async def test_a_key_stops_a_robot_of_this_machine_whose_broker_is_gone(
    tmp_path: Path, free_port: int, key: str, said: str
) -> None:
    broker = Embedded(free_port)
    await broker.start()
    rig = Rig(tmp_path)
    del rig.driver["trace"], rig.driver["plant"]
    url = f"mqtt://{broker.settings.listen}"
    rig.daemon = {"mqtt": {"broker": url, "protocol": "3.1.1", "stop_when_lost_s": None}}
    config = rig.config
    with background("run", "-c", config):
        daemon = await asyncio.to_thread(_playing_at, config)
        with on_terminal("monitor", "arm", "-c", config) as terminal:
            await asyncio.to_thread(terminal.shows, "arm: playing long")
            await broker.kill()
            await asyncio.to_thread(terminal.shows, "NOT CONNECTED")
            terminal.type(key)
            shown = await asyncio.to_thread(terminal.shows, f"arm: {said}")
            assert "HAS FAILED" not in shown
            terminal.type("q")
            assert await asyncio.to_thread(terminal.ended) == (0, "")
        assert daemon.config == config


async def test_a_key_stops_a_robot_of_this_machine_that_does_not_answer_at_its_broker(
    tmp_path: Path, free_port: int
) -> None:
    broker, config, asked = Embedded(free_port), tmp_path / "motiond.yaml", list[object]()

    async def stop(request: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(request["robot"])
        return {"goal_id": "g"}

    await broker.start()
    config.write_text(f"mqtt: {{broker: 'mqtt://{broker.settings.listen}', protocol: '3.1.1'}}\n")
    async with members(broker.settings) as crowd:
        crowd.add("left", silent_at={"stop"})
        await crowd.settle()
        serving = asyncio.create_task(ControlSocket(config, {"stop": stop}).run())
        with on_terminal("monitor", "left", "-c", config) as terminal:
            await asyncio.to_thread(terminal.shows, "left: ")
            terminal.type("s")
            await asyncio.to_thread(terminal.shows, "left: stop accepted; stops softly")
            terminal.type("q")
            assert await asyncio.to_thread(terminal.ended) == (0, "")
        serving.cancel()
        await asyncio.wait((serving,))
    await broker.kill()
    assert asked == ["left"]


def _playing_at(config: Path) -> Playing:
    daemon = Playing(config)
    daemon.play()
    return daemon
