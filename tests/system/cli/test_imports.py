"""What a subcommand imports is what it needs: a stop is on its way sooner without the planner.

Each one is run as a program that writes at its end which modules are loaded.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from motiond.daemon.client.connection import NoAnswer
from motiond.daemon.client.session import ask
from motiond.daemon.config.client import load_mqtt_settings
from tests.daemon.programs import background
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

DEMO = Path(__file__).parents[3] / "config" / "demo.yaml"
PLANNER = {"motiond.daemon.planning", "ruckig", "lxml", "numpy"}
UNUSED = {"email", "http.client", "importlib.metadata._meta"}  # libraries ask for them, and use none
MQTT = {"aiomqtt", "paho", "motiond.daemon.mqtt"}
NAMES_MODULES = """
import sys
from motiond.daemon.cli.main import main

try:
    main(sys.argv[1:])
finally:
    print("modules", *sys.modules)
"""


class Ended(NamedTuple):
    """How a run of motiond ended: its exit code, what it said, and what was loaded then."""

    code: int
    said: str
    modules: frozenset[str]


def ended(*arguments: object) -> Ended:
    """Run motiond to its end; packages are named beside the modules that they hold."""
    command = [sys.executable, "-c", NAMES_MODULES, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    out, _, names = run.stdout.rpartition("modules ")
    assert names, run.stderr
    return Ended(run.returncode, out + run.stderr, frozenset(names.split()))


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run a daemon, and give its configuration."""
    rig = Rig(tmp_path_factory.mktemp("daemon"))
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    config = rig.config
    with background("run", "-c", config):
        eventually("the robot is idle", lambda: state(config), lambda seen: seen == "idle")
        yield config


def state(config: Path) -> str:
    try:
        return str(asyncio.run(ask(load_mqtt_settings(config), "arm", "status"))["state"])
    except NoAnswer as error:
        return str(error)


def test_a_demonstration_loads_all_that_other_subcommands_do_without() -> None:
    run = ended("demo", "--seconds", "0")
    assert (run.code, PLANNER - run.modules, MQTT - run.modules) == (0, set(), set()), run.said


@pytest.mark.parametrize("words", [("stop", "arm"), ("status",)])
def test_asking_a_daemon_loads_no_planner_and_nothing_that_is_not_used(
    config: Path, words: tuple[str, ...]
) -> None:
    run = ended(*words, "-c", config)
    assert (run.code, (PLANNER | UNUSED) & run.modules) == (0, set()), run.said
    assert "arm" in run.said


@pytest.mark.parametrize("words", [("stop", "arm"), ("status",)])
def test_asking_where_nobody_answers_loads_no_planner(words: tuple[str, ...]) -> None:
    run = ended(*words, "--broker", f"mqtt://127.0.0.1:{free_port()}")
    assert (run.code, (PLANNER | UNUSED) & run.modules) == (3, set()), run.said


def test_checking_motions_loads_no_broker_and_no_mqtt_library() -> None:
    run = ended("check", "-c", DEMO)
    assert (run.code, MQTT & run.modules) == (0, set()), run.said
    assert "arm: nod: ok" in run.said
