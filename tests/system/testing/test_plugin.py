"""The pytest plugin, in test runs of its own: what users' tests see of a daemon that does well, and badly."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
import yaml

from motiond.formats import load_motion
from tests.daemon.rig import write_seq
from tests.waiting import PATIENCE_S, eventually, still_running

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "robot-tests"
IN_A_WORLD = ROOT / "examples" / "physics-tests"
PLUGIN = ("-p", "pytest_motiond", "-p", "no:cacheprovider", "-W", "error")
PATIENCES = ("max_lateness_s", "stream_timeout_s", "daemon_timeout_s")


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.Pytester]:
    """A copy of the example, for test runs with no plugin but those named; they leave no process behind."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    shutil.copytree(EXAMPLE, pytester.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    be_patient(pytester.path)
    yield pytester
    # The stream process of a daemon that a test has killed leaves as soon as it has noticed.
    assert still_running(processes_in(pytester.path)) == []


def be_patient(folder: Path) -> None:
    """Let nothing that a busy machine delays end a motion, and show a peak that is looked for three times."""
    arm, test = folder / "arm.yaml", folder / "test_arm.py"
    settings = yaml.safe_load(arm.read_text())
    for robot in settings["robots"].values():
        robot["driver"] = {"type": "sim", "command_lifetime_s": 10.0}
        robot |= {"on_late": "stretch", **dict.fromkeys(PATIENCES, 10.0)}
        robot["stop_duration_s"] = robot.pop("stop_duration_s")  # a test adds a line to the last one
    arm.write_text(yaml.safe_dump(settings, sort_keys=False))
    test.write_text(test.read_text().replace('play("wave").code', 'play("wave", loop=3).code'))


def processes_in(folder: Path) -> list[psutil.Process]:
    """Return all other processes that are in a folder, whoever is their parent now."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and Path(process.cwd()).is_relative_to(folder):
                found.append(process)
        except psutil.Error:
            continue  # it ended meanwhile, or is another user's
    return found


def run(suite: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return suite.runpytest_subprocess(*PLUGIN, *arguments, timeout=PATIENCE_S)


def run_file(suite: pytest.Pytester, source: str) -> pytest.RunResult:
    """Run tests of one file; the example's own are left out."""
    path = suite.path / "test_here.py"
    path.write_text(source)
    return run(suite, str(path))


def test_the_example_passes_in_a_worker_process_and_beside_other_plugins(suite: pytest.Pytester) -> None:
    others = ("-p", "xdist.plugin", "-p", "pytest_asyncio.plugin", "-n", "1")
    done = run(suite, *others, "-o", "asyncio_default_fixture_loop_scope=function", "test_arm.py")
    done.assert_outcomes(passed=5)


def test_the_example_in_a_physical_world_passes(suite: pytest.Pytester) -> None:
    folder = suite.path / "in_a_world"
    shutil.copytree(IN_A_WORLD, folder, ignore=shutil.ignore_patterns("__pycache__"))
    arm = folder / "arm.yaml"
    settings = yaml.safe_load(arm.read_text())
    settings["robots"]["arm"] |= {"on_late": "stretch", **dict.fromkeys(PATIENCES, 10.0)}
    settings["robots"]["arm"]["driver"]["command_lifetime_s"] = 10.0
    arm.write_text(yaml.safe_dump(settings))
    run(suite, str(folder), "-c", str(folder / "pytest.ini")).assert_outcomes(passed=2)


FAILURES = """
import os
import re
import signal
import time
import numpy as np
import pytest
from pytest_motiond import MotiondFailure, RequestRefused

HELD = []

@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            lambda robot: robot.play("wavy"),
            "UNKNOWN_MOTION: arm: no motion 'wavy'; there are wave (reach cannot be played); "
            "did you mean 'wave'?",
        ),
        (
            lambda robot: robot.request("pause"),
            "NOT_PLAYING: arm: nothing to pause; the robot is idle; play first",
        ),
        (
            lambda robot: robot.expect_state("paused", timeout_s=0.1),
            "arm: not in state 'paused' in 0.1 s; it was idle",
        ),
        (
            lambda robot: robot.expect_state("pausd"),
            "arm: no state 'pausd'; there are offline, idle, approaching, playing, pausing, paused, "
            "stopping, estopped, fault, teaching, following; name one",
        ),
        (
            lambda robot: robot.expect_event("warning", "hot", timeout_s=0.1),
            "arm: no event 'warning' with 'hot' in 0.1 s; it was idle",
        ),
        (
            lambda robot: robot.trace(),
            "arm: no trace; the test has not played anything; play first, or read `feedback`",
        ),
    ],
)
def test_message(motiond_robot, what, message):
    with pytest.raises(MotiondFailure) as caught:
        what(motiond_robot)
    assert str(caught.value) == message
    assert isinstance(caught.value, AssertionError)

def test_every_row_that_was_sent_is_in_the_trace(motiond_robot, motiond_daemon):
    goal = motiond_robot.play("wave", wait=False, loop=3)
    with pytest.raises(MotiondFailure, match=f"arm: no result of goal {goal.goal_id} in 0.1 s; it was "):
        goal.result(timeout_s=0.1)
    assert motiond_robot.result is None
    result = goal.result()
    assert motiond_robot.result == result
    trace = motiond_robot.trace()
    wave = (motiond_daemon.config.parent / "motions" / "wave.seq").read_text()
    rows = [tuple(map(float, row)) for row in re.findall(r"- \\[ (.*), (.*) \\]", wave)]
    sent = set(map(tuple, trace.setpoints.position.tolist()))
    assert len(rows) == 121
    assert len(sent & set(rows)) > 0.9 * len(set(rows))
    assert trace.setpoints.names == trace.feedback.names == ("shoulder", "elbow")
    assert trace.enabled[-1]
    behind = abs(trace.reference.position - trace.feedback.position)
    assert len(behind) > 10
    assert np.nanmax(behind) < 0.2
    with pytest.raises(MotiondFailure) as caught:
        trace.feedback.of("elbo")
    assert str(caught.value) == "trace: no 'elbo'; it has shoulder, elbow; name one of them"

@pytest.mark.motiond(config="wrong.yaml")
def test_it_cannot_be_run(motiond_robot): ...

@pytest.mark.motiond(config="none.yaml")
def test_it_is_not_there(motiond_robot): ...

@pytest.mark.motiond(config="arm.yaml", robots="arm")
def test_it_is_marked_wrongly(motiond_robot): ...

def holder(robot):
    with pytest.raises(RequestRefused) as caught:
        robot.request("lease/renew", lease="x")
    assert caught.value.code == "NOT_IN_CONTROL"
    return caught.value.data["holder"]

@pytest.mark.motiond(config="controlled.yaml")
def test_it_is_in_control_from_its_first_command_to_its_end(motiond_robot):
    assert motiond_robot.request("status")["state"] == "idle"
    assert holder(motiond_robot) is None
    assert motiond_robot.play("wave", loop=2).code == "SUCCESSFUL"
    assert holder(motiond_robot) == "pytest"
    assert motiond_robot.play("wave", wait=False).goal_id
    motiond_robot.stop()
    motiond_robot.expect_state("idle")

@pytest.mark.motiond(config="controlled.yaml")
def test_the_next_one_is_so_too_and_may_return_control(motiond_robot):
    assert holder(motiond_robot) is None
    motiond_robot.request("enable")
    assert holder(motiond_robot) == "pytest"
    motiond_robot.release_control()
    assert holder(motiond_robot) is None
    motiond_robot.request("disable")
    assert holder(motiond_robot) == "pytest"

@pytest.mark.motiond(config="controlled.yaml")
def test_who_else_is_in_control_is_named(motiond_robot):
    motiond_robot.request("enable")
    lease = motiond_robot.request("lease/take", holder="ana", lease="x")["lease"]
    with pytest.raises(RequestRefused) as caught:
        motiond_robot.play("wave")
    who = "ana has it; ask them to release it, or take control"
    assert str(caught.value) == f"NOT_IN_CONTROL: arm/play: not in control; {who}"
    assert motiond_robot.expect_event("lease_taken")["holder"] == "pytest"
    motiond_robot.request("disable", lease=lease)
    motiond_robot.request("lease/release", lease=lease)
    assert motiond_robot.play("wave").code == "SUCCESSFUL"

def elbow_is_at(robot, place):
    reference = robot.messages("telemetry")[-1]["reference"]["position"]
    return reference[1] == pytest.approx(place, abs=1e-7) or None

@pytest.mark.motiond(config="controlled.yaml")
def test_it_follows_targets_in_control(motiond_robot):
    with motiond_robot.follow(["elbow"], timeout_s=10.0) as follow:
        for step in range(50):
            follow.send([0.01 * step])
            time.sleep(0.02)
        motiond_robot.expect_state("following")
        assert holder(motiond_robot) == "pytest"
        with pytest.raises(RequestRefused) as caught, motiond_robot.follow():
            pass
        assert caught.value.code == "BUSY"
        motiond_robot.wait(lambda: elbow_is_at(motiond_robot, 0.49), 60.0, "it is not there")
    assert motiond_robot.result.code == "SUCCESSFUL"
    positions = motiond_robot.trace().setpoints.of("elbow").position
    assert positions[-1] == pytest.approx(0.49, abs=1e-6)

@pytest.mark.motiond(config="virtual.yaml")
def test_on_virtual_time_a_trace_is_whole(motiond_robot):
    for _ in range(2):
        assert motiond_robot.play("wave").code == "SUCCESSFUL"
        trace = motiond_robot.trace()
        for series in (trace.setpoints, trace.reference, trace.feedback):
            assert np.nanmax(series.of("elbow").position) == pytest.approx(0.5, abs=0.02)
            assert series.time_s[-1] - series.time_s[0] > 1.15  # more where the result comes late
        times_s = trace.feedback.time_s
        assert len(times_s) == pytest.approx(50 * (times_s[-1] - times_s[0]), abs=3)
    motiond_robot.request("goto", joints={"elbow": 0.4})
    motiond_robot.expect_state("idle")
    assert motiond_robot.feedback().of("elbow").position == pytest.approx(0.4, abs=0.02)

def test_fails(motiond_robot, motiond_daemon):
    HELD.append(motiond_daemon.pid)
    goal = motiond_robot.play("wave", wait=False, loop="forever")
    motiond_robot.stop()
    motiond_robot.expect_state("idle")
    assert goal.result().code == "SUCCESSFUL"

def test_its_daemon_dies(motiond_robot, motiond_daemon):
    assert motiond_daemon.pid not in HELD
    goal = motiond_robot.play("wave", wait=False, loop="forever")
    os.kill(motiond_daemon.pid, signal.SIGKILL)
    until = time.monotonic() + 60
    while "the daemon has gone" not in motiond_daemon.log and time.monotonic() < until:
        time.sleep(0.01)
    goal.result()
"""


def test_a_failure_shows_the_daemons_log_and_spoils_no_other_test(suite: pytest.Pytester) -> None:
    """Where control is required, each test acquires it by itself."""
    arm = (suite.path / "arm.yaml").read_text()
    controlled = arm.rstrip() + "\n    lease: {required: true, ttl_s: 15}\n"
    (suite.path / "controlled.yaml").write_text(controlled)
    (suite.path / "virtual.yaml").write_text(arm.rstrip() + "\n    clock: virtual\n")
    (suite.path / "wrong.yaml").write_text(arm.replace("stop_duration_s", "stop_duration"))
    done = run_file(suite, FAILURES)
    done.assert_outcomes(passed=12, failed=2, errors=3)
    output = done.stdout.str()
    for message in (
        f"{suite.path}/wrong.yaml: motiond cannot run it; `motiond check` says:",
        f"{suite.path}/wrong.yaml:{len(arm.splitlines())}: unknown key 'stop_duration'; ",
        f"{suite.path}/none.yaml: No such file or directory; name a configuration of motiond",
        (
            "test_here.py::test_it_is_marked_wrongly: its marker cannot be read; "
            'motiond knows config and robot; write motiond(config="arm.yaml")'
        ),
        "AssertionError: assert 'CANCELED' == 'SUCCESSFUL'",
        "INFO    arm: wave ended with CANCELED; stopped on request, softly, on the path",
        f"{suite.path}/arm.yaml: motiond ended with exit code -9; look at its log",
        "WARNING arm: the daemon has gone; stopping softly, then ending",
    ):
        assert message in output
    assert output.count("- motiond's log -") == 3
    assert "pytest_motiond/" not in output
    assert "daemon/testing" not in output


def test_a_test_run_that_is_killed_takes_its_daemon_along(suite: pytest.Pytester) -> None:
    path = suite.path / "test_here.py"
    path.write_text("import time\ndef test_long(motiond_robot): time.sleep(600)\n")
    command = [sys.executable, "-m", "pytest", *PLUGIN, str(path), "--basetemp", str(suite.path / "tmp")]
    with subprocess.Popen(command, cwd=suite.path, stdout=subprocess.DEVNULL) as running:
        try:
            left = eventually("it runs", lambda: processes_in(suite.path), lambda left: len(left) >= 3)
        finally:
            running.kill()
    assert still_running(left) == []


def test_a_run_without_a_robot_loads_nothing_and_one_without_a_configuration_fails_with_a_hint(
    suite: pytest.Pytester,
) -> None:
    (suite.path / "pytest.ini").unlink()
    lean = "assert not {'numpy', 'paho', 'yaml', 'motiond'} & set(sys.modules)"
    done = run_file(suite, f"import sys\ndef test_lean(): {lean}\ndef test_lost(motiond_robot): ...\n")
    done.assert_outcomes(passed=1, errors=1)
    done.stdout.fnmatch_lines(
        "test_here.py::test_lost: no configuration of motiond is named; the test needs a robot; "
        "name one by the marker `motiond(config=*)` or the option `motiond_config`"
    )


def test_the_plugin_collects_the_contract_of_drivers_once(suite: pytest.Pytester) -> None:
    (suite.path / "test_arm.py").unlink()
    options = ["-ppytest_motiond", "--motiond-driver=sim", "--collect-only", "-q"]
    done = suite.runpytest_subprocess(*options, timeout=PATIENCE_S)
    assert done.ret == 0
    collected = [line for line in done.outlines if "::test_" in line]
    assert len(collected) == len({*collected}) > 10
    assert all("::TestDriver::test_" in line for line in collected)


GOLDEN = """
def test_wave(motiond_robot):
    motiond_robot.play("wave", speed=0.9, loop=2)
    motiond_robot.assert_like("golden/wave.npz")
    motiond_robot.assert_like("golden/wave.npz", source="feedback", rad=0.05)
"""


def test_a_golden_trace_is_made_on_request_and_a_motion_that_changed_fails(suite: pytest.Pytester) -> None:
    """On virtual time, on which no sample of telemetry is left out where the machine is busy."""
    with (suite.path / "arm.yaml").open("a") as arm:
        arm.write("\n    clock: virtual\n")
    missing = run_file(suite, GOLDEN)
    missing.assert_outcomes(failed=1)
    hint = "`pytest --motiond-update-golden` makes it"
    missing.stdout.fnmatch_lines([f"*golden/wave.npz: there is no such golden trace; {hint}*"])
    run(suite, "--motiond-update-golden", "test_here.py").assert_outcomes(passed=1)
    run(suite, "test_here.py").assert_outcomes(passed=1)
    wave = suite.path / "motions" / "wave.seq"
    motion = load_motion(wave)
    wave.unlink()
    write_seq(wave, motion.positions * [1.0, 0.95], motion.joint_names, motion.frame_rate)
    differs = run(suite, "test_here.py")
    differs.assert_outcomes(failed=1)
    differs.stdout.fnmatch_lines(["*golden/wave.npz: joint 'elbow' is at * the bound is 0.01 rad*"])
