from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.drivers.base import ActuatorCommand, DriverError
from motiond.drivers.registry import make_driver
from motiond.drivers.sim.command_log import CommandLog, CommandLogError, read_trace
from tests.drivers.errors import message_of

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.drivers.testing.rig import Clock

ARM = ("base", "elbow")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "arm.npy"


def append(trace: CommandLog, time_s: float) -> None:
    command = ActuatorCommand(len(ARM))
    command.position[:] = [time_s, -time_s]
    command.velocity[:] = 0.5
    trace.append(time_s, command, enabled=True)


def test_holds_every_command_bit_for_bit(path: Path, clock: Clock) -> None:
    driver = make_driver("sim", {"trace": path}, ARM, clock)
    driver.open()
    command = ActuatorCommand(len(ARM))
    sent = np.random.default_rng(1).normal(size=(20, *command.values.shape))
    for tick, values in enumerate(sent):
        if tick == 5:
            driver.enable()
        command.values[:] = values
        driver.write(command)
        clock.now_s += 0.01
    driver.close()

    rows = np.load(path)
    assert rows.dtype.names == ("time", "position", "velocity", "effort", "enabled")
    np.testing.assert_array_equal(rows["position"], sent[:, 0])
    np.testing.assert_array_equal(rows["velocity"], sent[:, 1])
    np.testing.assert_array_equal(rows["effort"], sent[:, 2])
    np.testing.assert_array_equal(rows["enabled"], np.arange(20) >= 5)
    np.testing.assert_allclose(rows["time"], 1000 + 0.01 * np.arange(20))


def test_goes_on_after_the_rows_of_a_writer_that_was_cut_off(path: Path) -> None:
    trace = CommandLog(path, len(ARM))
    append(trace, 1.0)
    append(trace, 2.0)
    trace._file.close()
    os.truncate(path, path.stat().st_size - 3)
    np.testing.assert_array_equal(read_trace(path)["time"], [1])

    again = CommandLog(path, len(ARM))
    append(again, 3.0)
    again.close()
    again.close()
    np.testing.assert_array_equal(np.load(path)["position"], [[1, -1], [3, -3]])


def test_does_not_overwrite_what_is_no_trace(path: Path) -> None:
    path.write_bytes(b"frames: 12\n")
    assert message_of(CommandLogError, CommandLog, path, len(ARM)) == (
        f"{path}: is no trace; it does not begin as a .npy file; remove it or name another file"
    )
    assert path.read_bytes() == b"frames: 12\n"


def test_reports_that_the_disk_is_full(clock: Clock, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = make_driver("sim", {"trace": path}, ARM, clock)
    driver.open()

    def full(_file: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("motiond.drivers.sim.command_log.os.write", full)
    with pytest.raises(DriverError) as caught:
        driver.write(ActuatorCommand(len(ARM)))
    monkeypatch.undo()
    driver.close()
    assert str(caught.value) == (
        f"driver sim: {path} cannot be written; No space left on device; make room or do without `trace`"
    )
