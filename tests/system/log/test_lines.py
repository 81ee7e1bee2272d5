"""The log of a daemon that runs, and of its stream processes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.daemon.programs import background, streams_of
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually, still_running

if TYPE_CHECKING:
    from pathlib import Path

TIME = r"[0-9-]{10} [0-9:]{8},[0-9]{3}"


def test_lines_of_a_stream_process_have_the_form_of_the_daemons(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    log = tmp_path / "log"
    with log.open("w") as stream, background("run", "-c", rig.config, stderr=stream) as daemon:
        eventually("the robot is on line", log.read_text, lambda text: "arm: online" in text)
        streams = streams_of(daemon)
        daemon.kill()
        daemon.wait(PATIENCE_S)
        left = still_running(streams)
    assert (len(streams), left) == (1, [])
    lines = log.read_text().splitlines()
    assert [
        line for line in lines if not re.match(rf"{TIME} (INFO   |WARNING) arm: |{TIME} INFO    mqtt", line)
    ] == [], lines
    assert re.fullmatch(f"{TIME} WARNING arm: the daemon has gone; stopping softly, then ending", lines[-1])
