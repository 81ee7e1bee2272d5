"""`motiond doctor` on this machine: beside a daemon that plays, at a mosquitto, at the kernel's sockets."""

from __future__ import annotations

import asyncio
import os
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, get_args

import orjson
import pytest

from motiond.client import NoAnswer
from motiond.daemon.config.client import load_mqtt_settings
from motiond.daemon.doctor.broker import check_brokers
from motiond.daemon.doctor.machine import Machine
from motiond.daemon.doctor.ports import check_ports, is_locked
from motiond.daemon.doctor.punctuality import NotMeasured, measure
from motiond.daemon.doctor.report import CheckName, Report, Verdict
from motiond.daemon.doctor.wakeups import Task
from motiond.daemon.stream.locks import DeviceLocks
from tests.certificates import Authority
from tests.daemon.asking import ask
from tests.daemon.doctor.machines import machine
from tests.daemon.mqtt.test_roles import login
from tests.daemon.programs import background, motiond
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.system.mqtt.test_roles import with_access_list
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.daemon.conftest import Mosquitto


def answer(config: Path) -> dict[str, Any]:
    try:
        return asyncio.run(ask(load_mqtt_settings(config), "arm", "status"))
    except NoAnswer as error:
        return {"state": str(error)}


def test_beside_a_daemon_that_plays_it_tells_of_its_broker_and_disturbs_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.daemon = {"id": "bench", "mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    config = rig.config
    with background("run", "-c", config):
        eventually("the robot is idle", lambda: answer(config)["state"], lambda state: state == "idle")
        long = {"motion": "long", "speed": 0.1}
        asyncio.run(ask(load_mqtt_settings(config), "arm", "play", long, PATIENCE_S))
        before = eventually("it plays", lambda: answer(config), lambda told: told["state"] == "playing")
        done = motiond("doctor", "-c", config, "--seconds", "0.2", "--json")
        after = eventually("it answers", lambda: answer(config), lambda told: "goal_id" in told)
        assert (after["state"], after["goal_id"]) == ("playing", before["goal_id"])
        eventually("it plays on", lambda: answer(config), lambda told: told.get("time", 0.0) > before["time"])
    report = Report.model_validate(orjson.loads(done.stdout))
    told = {check.check: check for check in report.checks}
    assert told.keys() == set(get_args(CheckName)) - {"latency timer"}
    assert told["configuration"].verdict == "ok"
    assert told["broker"].verdict in {"ok", "warning"}, told["broker"].found
    assert told["broker"].figures["messages"]
    assert int(told["wake-ups"].figures["ticks"] or 0) >= 200  # more where the machine stood still at the end
    assert told["versions"].figures["motiond"] == report.version
    assert motiond("--version").stdout.split()[1] == report.version.split()[0]
    assert (done.returncode, done.stderr) == (1 if report.verdict == "failure" else 0, "")


async def test_by_the_shipped_access_list_the_daemon_is_heard_and_an_observer_is_not(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    await mosquitto.kill()
    await with_access_list(mosquitto, tmp_path)
    (heard,) = await check_brokers(login(mosquitto, "motiond", tmp_path), "bench")
    assert heard.verdict in {"ok", "warning"}
    (unheard,) = await check_brokers(login(mosquitto, "observer", tmp_path), "bench")
    topic = unheard.found.split("'")[1]
    assert unheard.verdict is Verdict.FAILURE
    assert unheard.found == f"message 1 on '{topic}' has not come back in 2 s"
    refused = login(mosquitto, "motiond", tmp_path).model_copy(update={"username": "nobody"})
    (out,) = await check_brokers(refused, "bench")
    assert (out.verdict, out.found, out.hint) == (
        "failure",
        "no connection: the broker refuses the login",
        "correct mqtt.username, and its password",
    )


async def test_the_certificate_that_a_broker_shows_is_judged(mosquitto: Mosquitto, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    authority = Authority(tmp_path / "authority")
    cert_file, key_file = authority.issue(now - timedelta(1), now + timedelta(5, 60))
    await mosquitto.kill()
    mosquitto.configure("allow_anonymous true", f"certfile {cert_file}", f"keyfile {key_file}")
    await mosquitto.start()
    url = f"mqtts://localhost:{mosquitto.port}"
    settings = mosquitto.settings.model_copy(update={"broker": url, "ca_file": authority.certificate})
    found = await check_brokers(settings, "bench")
    assert [(one.check, one.subject) for one in found] == [("broker", url), ("certificate", url)]
    assert found[1].verdict is Verdict.WARNING
    assert found[1].found == f"expires in 5 days, on {now + timedelta(5, 60):%Y-%m-%d}"


def test_a_process_measures_what_the_kernel_grants_it() -> None:
    measured = measure(Task(0.05, 200.0, None, 4000, lock_memory=False))
    assert measured.refused == ["processor 4000 refused; Invalid argument; correct realtime.core"]
    assert measured.ticks >= 10
    assert measured.late_s.keys() == {"p50", "p99", "p99.9", "max"}
    assert 0.0 <= measured.late_s["p50"] <= measured.late_s["max"]
    with pytest.raises(NotMeasured, match=r"^ZeroDivisionError: "):
        measure(Task(0.05, 0.0, None, None, lock_memory=False))


def test_the_lock_of_a_stream_process_is_seen_and_not_touched(tmp_path: Path) -> None:
    port = tmp_path / "ttyUSB0"
    port.touch()
    names, proc = (f"serial:{port}",), Machine().proc
    locks = DeviceLocks(names)
    assert locks.take() is None
    try:
        # More than may wait at the lock (128); the kernel's list may leave it out while others close theirs.
        assert sum(is_locked(names, proc) for _ in range(200)) > 150
        use, _ = eventually(
            "the port is told to be driven",
            lambda: check_ports({"arm": names}, replace(machine(tmp_path), proc=proc)),
            lambda told: told[0].found == "motiond drives it",
        )
        assert use.verdict == "ok"
        waiting = DeviceLocks(names).take()
        assert waiting is not None
        with closing(waiting):
            assert str(waiting).startswith(f"serial:{port}: held by process {os.getpid()}")
    finally:
        locks.close()
    assert not is_locked(names, proc)
