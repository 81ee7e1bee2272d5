"""`motiond doctor` as a whole: beside a daemon that plays, with a wrong configuration, without any."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from motiond.daemon.config.client import load_mqtt_settings
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.doctor.examination import STEPS, examination
from motiond.daemon.doctor.punctuality import NotMeasured
from motiond.daemon.doctor.report import Check, CheckName, Report, Verdict, gravest, lines_of
from motiond.daemon.doctor.wakeups import Measured, Task
from tests.daemon.doctor.machines import machine
from tests.daemon.programs import run_here
from tests.daemon.rig import Rig
from tests.virtual import NETWORK

PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"
LATE = {"p50": 20e-6, "p99": 60e-6, "p99.9": 90e-6, "max": 400e-6}


def punctual(task: Task) -> Measured:
    """Measure nothing, and say that all was on time."""
    return Measured([], {"rtprio": 99, "memlock": None}, int(1000 * task.seconds), 0, LATE)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.daemon = {"id": "bench", "mqtt": {"listen": f"127.0.0.1:{NETWORK.free_port()}"}}
    return rig


async def examined(rig: Rig, mqtt: MqttSettings | None = None) -> tuple[Report, dict[CheckName, Check]]:
    """Look at a configuration, and at a machine that is made up."""
    report = await examination(rig.config, mqtt, 1.0, lambda: None, machine(rig.folder), measured=punctual)
    return report, {check.check: check for check in report.checks}


async def test_where_all_can_work_nothing_is_a_failure(rig: Rig) -> None:
    report, told = await examined(rig, load_mqtt_settings(rig.config))
    assert told.keys() == set(get_args(CheckName)) - {"latency timer"}
    lines = list(lines_of(report, lambda _, text: text))
    assert f"ok              configuration {rig.folder / 'motiond.yaml'}: robots arm" in lines
    said = "wake-ups: late by µs p50 20, p99 60, p99.9 90, max 400; 0 of 1000 deadlines at 1000 Hz missed"
    assert f"ok              {said}" in lines
    assert report.verdict == "warning", lines
    assert report.version == "1.2"


async def test_a_configuration_that_cannot_be_used_fails_and_the_machine_is_looked_at_all_the_same(
    rig: Rig,
) -> None:
    rig.daemon["mqtt"]["base"] = "a b"
    report, told = await examined(rig, MqttSettings())
    config = told["configuration"]
    assert (report.verdict, config.verdict, config.subject) == (
        "failure",
        "failure",
        str(rig.folder / "motiond.yaml"),
    )
    assert config.found == (
        f"{config.subject}:5: 'a b' cannot begin a topic on every broker; letters, digits, _ and - can, "
        "with / between; rename it"
    )
    assert "broker" not in told
    assert config.hint == f"correct it, and hold it against `motiond check -c {config.subject}`"
    assert told["wake-ups"].verdict == "ok"


async def test_the_broker_that_a_configuration_names_is_measured_whatever_else_is_wrong_in_it(
    rig: Rig,
) -> None:
    broker = f"mqtt://127.0.0.1:{NETWORK.free_port()}"
    rig.daemon |= {"mqtt": {"broker": broker}, "robotts": {}}
    _, told = await examined(rig, load_mqtt_settings(rig.config))
    assert told["configuration"].found.endswith("; did you mean 'robots'?")
    assert (told["broker"].subject, told["broker"].verdict) == (broker, "failure")


async def test_a_robot_whose_driver_cannot_be_made_fails_with_its_reason(rig: Rig) -> None:
    rig.driver["noise"] = {"knee": 0.1}
    _, told = await examined(rig)
    config = told["configuration"]
    assert (config.verdict, config.means) == ("failure", "the daemon does not start with it")
    assert config.found == (
        "driver sim: option 'noise' names an unknown actuator 'knee'; there are shoulder, elbow"
    )


async def test_a_robot_that_asks_for_a_world_without_a_description_fails_with_the_reason(rig: Rig) -> None:
    rig.driver["physics"] = True
    _, told = await examined(rig)
    expected = "arm: `physics` is true; it has no description; name one under `model`"
    assert told["configuration"].found == expected


async def test_without_a_configuration_the_machine_alone_is_looked_at(tmp_path: Path) -> None:
    steps: list[None] = []
    report = await examination(
        None, None, 1.0, lambda: steps.append(None), machine(tmp_path), measured=punctual
    )
    told = {check.check: check.verdict for check in report.checks}
    assert {name: told[name] for name in ("configuration", "port", "hebi", "wake-ups")} == {
        "configuration": "not applicable",
        "port": "not applicable",
        "hebi": "not applicable",
        "wake-ups": "ok",
    }
    assert len(steps) == STEPS


async def test_a_measurement_that_fails_ends_nothing(tmp_path: Path) -> None:
    def fail(_: Task) -> Measured:
        raise NotMeasured("MemoryError")

    report = await examination(None, None, 1.0, lambda: None, machine(tmp_path), measured=fail)
    assert [check.found for check in report.checks[-2:]] == [
        "the process that measures has failed: MemoryError",
        "the process that measures has failed",
    ]


@pytest.mark.parametrize(("verdict", "code"), [(one, 1 if one is Verdict.FAILURE else 0) for one in Verdict])
def test_the_exit_code_is_1_where_something_cannot_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verdict: Verdict, code: int
) -> None:
    report = Report(version="1", stamp_utc="2026-11-22T12:00:00", verdict=verdict, checks=[GOOD])
    monkeypatch.setattr("motiond.daemon.doctor.examination.examine", lambda *_: report)
    assert run_here(capsys, "doctor")[:2] == (
        code,
        "ok              kernel: Linux 6.1 with PREEMPT_RT\n                  drivers give way\n\n1 ok\n",
    )
    code_of_json, out, _ = run_here(capsys, "doctor", "--json")
    assert (code_of_json, Report.model_validate_json(out)) == (code, report)


GOOD = Check(check="kernel", verdict=Verdict.OK, found="Linux 6.1 with PREEMPT_RT", means="drivers give way")
ABSENT = Check(
    check="port",
    subject="/dev/ttyUSB0",
    verdict=Verdict.FAILURE,
    found="it is not there\nnor is another",
    means="robot 'arm' stays offline until it is",
    hint="plug it in",
)


def test_people_are_told_what_was_found_what_it_means_and_what_to_do() -> None:
    checks = [GOOD, ABSENT]
    report = Report(version="1", stamp_utc="2026-11-22T12:00:00", verdict=gravest(checks), checks=checks)
    assert (
        list(lines_of(report, lambda verdict, text: f"<{verdict} {text}>"))[-1]
        == "1 <failure failure>, 1 <ok ok>"
    )
    assert list(lines_of(report, lambda _, text: text)) == [
        "ok              kernel: Linux 6.1 with PREEMPT_RT",
        "                  drivers give way",
        "failure         port /dev/ttyUSB0: it is not there",
        "                  nor is another",
        "                  robot 'arm' stays offline until it is",
        "                  do: plug it in",
        "",
        "1 failure, 1 ok",
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


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_a_time_that_is_no_number_is_refused_before_anything_is_looked_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, seconds: str
) -> None:
    monkeypatch.setattr("motiond.daemon.doctor.examination.examine", None)
    code, out, err = run_here(capsys, "doctor", "--seconds", seconds)
    assert (code, out) == (2, "")
    assert err.startswith("motiond: invalid value for ")
    assert "--seconds" in err
