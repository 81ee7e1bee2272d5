"""`motiond doctor` as a whole: beside a daemon that plays, with a wrong configuration, without any."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from motiond.daemon.client.connection import NoAnswer
from motiond.daemon.client.session import ask
from motiond.daemon.config.client import load_mqtt_settings
from motiond.daemon.doctor import broker, examination
from motiond.daemon.doctor.examination import STEPS, examine
from motiond.daemon.doctor.punctuality import NotMeasured
from motiond.daemon.doctor.report import Check, CheckName, Report, Verdict, gravest
from motiond.daemon.doctor.wakeups import Measured, Task
from motiond.daemon.doctor.wording import lines_of
from tests.daemon.doctor.machines import machine
from tests.daemon.programs import background, run_here
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"
LATE = {"p50": 20e-6, "p99": 60e-6, "p99.9": 90e-6, "max": 400e-6}


def punctual(task: Task) -> Measured:
    """Measure nothing, and say that all was on time."""
    return Measured([], {"rtprio": 99, "memlock": None}, int(1000 * task.seconds), 0, LATE)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.daemon = {"id": "bench", "mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    return rig


@pytest.fixture
def playing(rig: Rig) -> Iterator[Path]:
    """Run a daemon whose robot plays for a long time, and give its configuration."""
    config = rig.config
    with background("run", "-c", config):
        eventually("the robot is idle", lambda: answer(config)["state"], lambda state: state == "idle")
        asyncio.run(ask(load_mqtt_settings(config), "arm", "play", {"motion": "long", "speed": 0.1}))
        eventually("it plays", lambda: answer(config)["state"], lambda state: state == "playing")
        yield config


def answer(config: Path) -> dict[str, Any]:
    try:
        return asyncio.run(ask(load_mqtt_settings(config), "arm", "status"))
    except NoAnswer as error:
        return {"state": str(error)}


def test_beside_a_daemon_that_plays_it_tells_of_its_broker_and_disturbs_nothing(
    playing: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "ECHO_S", PATIENCE_S)
    before = answer(playing)
    code, out, err = run_here(capsys, "doctor", "-c", playing, "--seconds", "0.2", "--json")
    report = Report.model_validate_json(out)
    told = {check.check: check for check in report.checks}
    assert told.keys() == set(get_args(CheckName)) - {"latency timer"}
    assert told["configuration"].verdict == "ok"
    assert told["broker"].verdict in {"ok", "warning"}, told["broker"].found
    assert told["broker"].figures["messages"]
    assert int(told["wake-ups"].figures["ticks"] or 0) >= 200  # more where the machine stood still at the end
    assert (code, err) == (1 if report.verdict == "failure" else 0, "")
    after = answer(playing)
    assert (after["state"], after["goal_id"]) == ("playing", before["goal_id"])
    eventually("it plays on", lambda: answer(playing), lambda told: told.get("time", 0.0) > before["time"])


def test_where_all_can_work_the_exit_code_is_0(
    rig: Rig, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "measure", punctual)
    code, out, _ = run_here(capsys, "doctor", "-c", rig.config, "--seconds", "1")
    assert f"ok              configuration {rig.folder / 'motiond.yaml'}: robots arm\n" in out
    assert "\nok              wake-ups: late by µs p50 20, p99 60, p99.9 90, max 400; 0 of 1000 " in out
    assert (code, "failure" in out) == (0, False), out


def test_a_configuration_that_cannot_be_used_fails_and_the_machine_is_looked_at_all_the_same(
    rig: Rig, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "measure", punctual)
    rig.daemon["mqtt"]["base"] = "a b"
    code, out, _ = run_here(capsys, "doctor", "-c", rig.config, "--json")
    told = {check.check: check for check in Report.model_validate_json(out).checks}
    config = told["configuration"]
    assert (code, config.verdict, config.subject) == (1, "failure", str(rig.folder / "motiond.yaml"))
    assert config.found == (
        f"{config.subject}:5: 'a b' cannot begin a topic on every broker; letters, digits, _ and - can, "
        "with / between; rename it"
    )
    assert "broker" not in told
    assert config.mend == f"correct it, and hold it against `motiond check -c {config.subject}`"
    assert told["wake-ups"].verdict == "ok"


def test_of_a_configuration_that_cannot_be_used_no_broker_is_measured_that_it_does_not_name(
    rig: Rig, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "measure", punctual)
    rig.daemon["mqqt"] = rig.daemon.pop("mqtt")
    code, out, _ = run_here(capsys, "doctor", "-c", rig.config, "--json")
    told = {check.check: check for check in Report.model_validate_json(out).checks}
    where = told["configuration"].subject
    assert (code, told["configuration"].verdict, "broker" in told) == (1, "failure", False)
    known = "http, id, max_clock_error_s, model_folders, mqtt, realtime, robots"
    said = f"{where}:3: unknown key 'mqqt'; the file knows {known}; did you mean 'mqtt'?"
    assert told["configuration"].found == said


def test_the_broker_that_a_configuration_names_is_measured_whatever_else_is_wrong_in_it(
    rig: Rig, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "measure", punctual)
    broker = f"mqtt://127.0.0.1:{free_port()}"
    rig.daemon |= {"mqtt": {"broker": broker}, "robotts": {}}
    _, out, _ = run_here(capsys, "doctor", "-c", rig.config, "--json")
    told = {check.check: check for check in Report.model_validate_json(out).checks}
    assert told["configuration"].found.endswith("; did you mean 'robots'?")
    assert (told["broker"].subject, told["broker"].found) == (broker, "no connection: nobody listens there")


def test_a_robot_whose_driver_cannot_be_made_fails_with_its_reason(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "measure", punctual)
    rig.driver["noise"] = {"knee": 0.1}
    report = examine(rig.config, None, 0.0, lambda: None, machine(rig.folder))
    config = report.checks[0]
    assert (config.verdict, config.means) == ("failure", "the daemon does not start with it")
    assert config.found == (
        "driver sim: option 'noise' names an unknown actuator 'knee'; there are shoulder, elbow"
    )


def test_without_a_configuration_the_machine_alone_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "measure", punctual)
    steps: list[None] = []
    report = examine(None, None, 1.0, lambda: steps.append(None), machine(tmp_path))
    told = {check.check: check.verdict for check in report.checks}
    assert {name: told[name] for name in ("configuration", "port", "hebi", "wake-ups")} == {
        "configuration": "not applicable",
        "port": "not applicable",
        "hebi": "not applicable",
        "wake-ups": "ok",
    }
    assert len(steps) == STEPS


def test_a_measurement_that_fails_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Task) -> Measured:
        raise NotMeasured("MemoryError")

    monkeypatch.setattr(examination, "measure", fail)
    report = examine(None, None, 1.0, lambda: None, machine(tmp_path))
    assert [check.found for check in report.checks[-2:]] == [
        "the process that measures has failed: MemoryError",
        "the process that measures has failed",
    ]


def test_a_time_to_measure_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run_here(capsys, "doctor", "--seconds", "-1")
    assert code == 2
    assert "--seconds" in err


GOOD = Check(check="kernel", verdict=Verdict.OK, found="Linux 6.1 with PREEMPT_RT", means="drivers give way")
ABSENT = Check(
    check="port",
    subject="/dev/ttyUSB0",
    verdict=Verdict.FAILURE,
    found="it is not there\nnor is another",
    means="robot 'arm' stays offline until it is",
    mend="plug it in",
)


def test_people_are_told_what_was_found_what_it_means_and_what_to_do() -> None:
    checks = [GOOD, ABSENT]
    report = Report(version="1", stamp_utc="2026-11-22T12:00:00", verdict=gravest(checks), checks=checks)
    assert list(lines_of(report)) == [
        ("ok", "ok              kernel: Linux 6.1 with PREEMPT_RT"),
        ("ok", "                  drivers give way"),
        ("failure", "failure         port /dev/ttyUSB0: it is not there"),
        ("failure", "                  nor is another"),
        ("failure", "                  robot 'arm' stays offline until it is"),
        ("failure", "                  do: plug it in"),
        ("failure", ""),
        ("failure", "1 failure, 1 ok"),
    ]


def test_the_gravest_of_all_checks_counts() -> None:
    assert gravest([GOOD, ABSENT]) == "failure"
    assert gravest([GOOD.model_copy(update={"verdict": "not applicable"}), GOOD]) == "ok"
    assert gravest([]) == "not applicable"


def test_every_check_has_its_row_and_the_document_on_the_page_is_one() -> None:
    page = PAGE.read_text(encoding="utf-8")
    _, *parts = page.split("\n## ")
    rows = re.findall(r"^\| `([^`]+)` \|", "\n".join(parts), re.MULTILINE)
    assert sorted(rows) == sorted([*get_args(CheckName), *Check.model_fields])
    (document,) = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    shown = json.loads(document)
    assert Report.model_validate(shown).model_dump(mode="json") == shown


@pytest.mark.parametrize("seconds", ["nan", "inf"])
def test_a_time_that_is_no_number_is_refused_before_anything_is_looked_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, seconds: str
) -> None:
    monkeypatch.setattr("motiond.daemon.doctor.examination.examine", None)
    code, out, err = run_here(capsys, "doctor", "--seconds", seconds)
    assert (code, out) == (2, "")
    assert err.startswith("motiond: invalid value for ")
    assert "--seconds" in err
