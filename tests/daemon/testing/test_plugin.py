"""The pytest plugin's parts: which robot a test gets, on which port, and what its page shows."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

import pytest_motiond
from motiond.daemon.ipc.states import State
from motiond.daemon.testing.plugin import robot_named
from motiond.daemon.testing.robot import STATES

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "robot-tests"
PAGE = (ROOT / "docs" / "testing-your-robot.md").read_text()


@pytest.mark.parametrize(
    ("name", "robots", "message"),
    [
        ("", ("left", "right"), "no robot is named; there are left, right"),
        ("arm", ("left", "right"), "no robot 'arm'; there are left, right"),
        ("arm", ("left",), "no robot 'arm'; there are left"),
    ],
)
def test_a_robot_that_is_not_there_is_not_guessed(name: str, robots: tuple[str, ...], message: str) -> None:
    hint = "name one by the marker `motiond(robot=…)` or the option `motiond_robot`"
    with pytest.raises(pytest_motiond.MotiondFailure) as caught:
        robot_named(name, robots, Path("cell.yaml"))
    assert str(caught.value) == f"cell.yaml: {message}; {hint}"


@pytest.mark.parametrize(
    ("exit_codes", "starts", "ends"), [([1, 1, None], 3, False), ([1, 1, 1], 3, True), ([-9, None], 1, True)]
)
def test_a_port_that_somebody_else_took_is_given_up_for_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exit_codes: list[int | None], starts: int, *, ends: bool
) -> None:
    to_come = iter(exit_codes)
    started: list[int | None] = []

    def launch(daemon: pytest_motiond.MotiondDaemon) -> None:
        started.append(next(to_come))
        if started[-1] is not None:
            raise pytest_motiond.DaemonEnded(daemon.config, started[-1])

    monkeypatch.setattr(pytest_motiond.MotiondDaemon, "_launch", launch)
    monkeypatch.setattr(pytest_motiond.MotiondDaemon, "_await_robots", lambda _daemon: None)
    daemon = pytest_motiond.MotiondDaemon(EXAMPLE / "arm.yaml", tmp_path)
    with pytest.raises(pytest_motiond.DaemonEnded) if ends else nullcontext():
        daemon.start()
    assert len(started) == starts


def test_the_plugin_knows_every_state() -> None:
    assert set(STATES) == {state.value for state in State}


def test_the_page_quotes_the_examples_as_they_are_and_what_both_import_is_public_and_there() -> None:
    for example in (EXAMPLE / "test_arm.py", ROOT / "examples" / "physics-tests" / "test_wall.py"):
        assert f"```python\n{example.read_text()}```" in PAGE
    imports = re.findall(r"^from pytest_motiond import (.*)$", PAGE, re.MULTILINE)
    imported = {name for names in imports for name in names.split(", ")}
    assert {"MotiondRobot", "RequestRefused"} <= imported <= set(pytest_motiond.__all__)
    assert [name for name in pytest_motiond.__all__ if not hasattr(pytest_motiond, name)] == []


def test_the_page_lists_every_exception_and_no_other() -> None:
    table = PAGE.split("| `pytest_motiond.` | |", 1)[1]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)", row)}
    public = {name: getattr(pytest_motiond, name) for name in pytest_motiond.__all__}
    assert listed == {name for name, one in public.items() if issubclass(one, pytest_motiond.MotiondFailure)}
