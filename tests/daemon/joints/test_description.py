"""What a robot's description and its configured joints leave open is told, once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiond.daemon.config.settings import load_settings
from motiond.daemon.joints.description import missing_limits
from motiond.daemon.tools.check import check_motions
from tests.daemon.programs import run_here
from tests.daemon.rig import Rig, ask
from tests.robots import map_of
from tests.tables import table

if TYPE_CHECKING:
    import pytest

CONFIG = Path(__file__).parents[3] / "config"
WHY = "nothing keeps a motion from asking too much there; set `joints.NAME.limits`"


@table("limits, told")
def test_joints_without_limits_are_named_in_one_warning(limits: dict[str, Any], told: str) -> None:
    assert missing_limits(map_of({name: {"limits": one} for name, one in limits.items()})) == told


async def test_a_daemon_tells_it_once_at_its_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig(tmp_path)
    async with rig.running() as registry:
        await ask(registry, "motions/reload")
    assert caplog.messages.count(f"arm: no acceleration limit for any joint; {WHY}") == 1


def test_a_check_tells_it_once_for_all_motions(tmp_path: Path) -> None:
    short, long = check_motions(load_settings(Rig(tmp_path).config))
    assert (short.problems, long.problems) == ((), ())
    stood_still = (
        "short: no check would find out if these joints stood still: shoulder (0.2 rad), elbow (0.4 rad); "
        "they move so little, or so briefly; lower `joints.NAME.tolerances`, or set their `path`"
    )
    assert sorted([*short.warnings, *long.warnings]) == [
        f"no acceleration limit for any joint; {WHY}",
        stood_still,
    ]


def test_a_description_alone_is_held_against_its_gaps_too(capsys: pytest.CaptureFixture[str]) -> None:
    arm, wave = CONFIG / "robots" / "six_axis.hrdf", CONFIG / "motions" / "wave.seq"
    _, out, err = run_here(capsys, "check", "--robot", arm, wave, wave)
    told = "no position limit for any joint, and no acceleration limit for any joint"
    assert out.splitlines()[1] == f"six_axis: warning: {told}; {WHY}"
    assert (out.count("warning"), err) == (1, "")


def test_the_demonstration_leaves_nothing_open() -> None:
    findings = check_motions(load_settings(CONFIG / "demo.yaml"))
    assert [(finding.problems, finding.warnings) for finding in findings] == [((), ())] * len(findings)
