"""A process that is killed while it writes a recording leaves one that `repair` makes whole."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.ipc.ring import slices
from motiond.daemon.recording import repair
from tests.daemon.recording.recordings import JOINTS, read, records
from tests.waiting import lines_until, started

from .writing import BATCH, BATCHES_A_CUT

if TYPE_CHECKING:
    from pathlib import Path

MOMENTS = 3


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_all_that_was_cut_is_there_after_a_kill(tmp_path: Path, moment: int) -> None:
    path = tmp_path / "run.mcap"
    command = [sys.executable, "-m", "tests.system.recording.writing", path]
    with started(command, stdout=subprocess.PIPE, text=True) as process:
        lines_until(process.stdout, str((1 + moment) * BATCH * BATCHES_A_CUT + BATCH - 1))
        time.sleep(random.Random(moment).uniform(0.0, 0.3))
        process.kill()
        output, _ = process.communicate()
    cut = max([(1 + moment) * BATCH * BATCHES_A_CUT + BATCH - 1, *map(int, output.split())])
    assert [left.name for left in tmp_path.iterdir()] == ["run.mcap.part"]
    assert repair(path.with_name("run.mcap.part")) == path
    assert [left.name for left in tmp_path.iterdir()] == ["run.mcap"]
    found = read(path)
    ticks = len(found.numbers["/reference"])
    assert ticks >= cut
    assert found.numbers["/reference"] == found.numbers["/joint_states"] == [*range(ticks)]
    written = np.concatenate([records(BATCH, first=first) for first in range(0, ticks + BATCH, BATCH)])
    measured = np.array([message.position for message in found.messages["/joint_states"]])
    assert measured.tobytes() == written[:ticks, slices(len(JOINTS))["position"]].tobytes()
    assert found.metadata["motiond-end"]["ticks"] == str(ticks)
