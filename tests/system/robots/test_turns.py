"""A table that turns without end by its description, on simulated actuators, in a daemon of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.drivers.sim.command_log import read_trace
from tests.daemon.programs import background, motiond
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, write_seq
from tests.ports import free_port
from tests.waiting import lines_until

if TYPE_CHECKING:
    from pathlib import Path

TURN = 2.0 * math.pi
URDF = """\
<robot name="table">
  <link name="base"/><link name="arm"/><link name="plate"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="3" effort="10"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="arm"/><child link="plate"/><axis xyz="0 0 1"/>
    <limit velocity="9" effort="10"/>
  </joint>
</robot>
"""


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    (tmp_path / "table.urdf").write_text(URDF)
    rig.robot |= {"model": "table.urdf", "joints": {}}
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    at = np.arange(RATE_HZ) / RATE_HZ
    rows = np.column_stack([0.2 * np.sin(TURN * at), TURN * at + 0.2 * np.cos(TURN * at)])
    write_seq(tmp_path / "motions" / "round.seq", rows, JOINTS, RATE_HZ)
    return rig


def test_it_loops_five_turns_and_a_posture_afterwards_is_on_the_turn_where_it_is(rig: Rig) -> None:
    with background("run", "-c", rig.config) as process:
        lines_until(process.stderr, "arm: online")
        played = motiond("play", "arm", "round", "--loop", "5", "-c", rig.config)
        assert (played.returncode, played.stderr) == (0, "")
        went = motiond("goto", "arm", "elbow=0", "--wait", "-c", rig.config)
        assert went.returncode == 0, went.stderr
    sent = read_trace(rig.folder / "trace.npy")["position"]
    steps, farthest = np.diff(sent, axis=0), int(sent[:, 1].argmax())
    assert sent[farthest, 1] == pytest.approx(5 * TURN + 0.2, abs=0.1)
    assert (steps[:farthest, 1] >= 0.0).all()
    assert (np.abs(steps) * RATE_HZ <= [3.0, 9.0]).all()
    assert sent[-1, 1] == pytest.approx(5 * TURN)


def test_a_check_says_which_joints_turn_without_end_and_asks_for_no_limits_there(rig: Rig) -> None:
    checked = motiond("check", "-c", rig.config, "round")
    assert checked.returncode == 0
    assert "arm: turning without end: elbow\n" in checked.stderr
    assert "no position limit" not in checked.stdout
