"""What is said of the room on disks, and of what is installed."""

from __future__ import annotations

import platform
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.config.settings import Settings
from motiond.daemon.doctor.disk import check_disk
from motiond.daemon.doctor.machine import Machine, Room
from motiond.daemon.doctor.report import Check, Verdict
from motiond.daemon.doctor.versions import check_versions, installed
from tests.daemon.doctor.machines import machine

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = {"lower": -1.0, "upper": 1.0, "velocity": 1.0}


def test_file_systems_are_told_once_with_all_that_is_kept_there(tmp_path: Path) -> None:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    motions = [{"folder": uploads, "upload": True}, {"folder": tmp_path / "others"}]
    robot = {
        "driver": {"type": "sim"},
        "joints": {"base": {"limits": LIMITS}},
        "motions": motions,
        "recording": {"folder": tmp_path / "recordings"},
    }
    settings = Settings.model_validate({"robots": {"arm": robot}})
    state, recordings = tmp_path / "state" / "motiond", tmp_path / "recordings"
    assert check_disk(settings, machine(tmp_path)) == [
        Check(
            check="disk",
            subject=f"{state} (state), {uploads} (uploads of arm), {recordings} (recordings of arm)",
            verdict=Verdict.OK,
            found="50.0 GB free",
            means="there is room for results and uploads",
            figures={"free_bytes": 50_000_000_000, "free_files": 1_000_000},
        )
    ]


@pytest.mark.parametrize("name", ["state", "q" * 300])
def test_a_folder_that_is_not_there_or_may_not_be_looked_at_counts_by_the_one_that_it_is_in(
    tmp_path: Path, name: str
) -> None:
    """The system refuses to look at a name that is too long, as it does in a closed folder."""
    asked: list[Path] = []

    def room_at(path: Path) -> Room:
        asked.append(path)
        return Room(1, 10**12, None)

    check_disk(None, replace(machine(tmp_path), room_at=room_at, folders=lambda: {"state": tmp_path / name}))
    assert asked == [tmp_path]


@pytest.mark.parametrize(
    ("room", "verdict", "found", "means"),
    [
        (
            Room(1, 900_000_000, None),
            "warning",
            "0.9 GB free",
            "there is soon no room for results and uploads",
        ),
        (
            Room(1, 49_000_000, 10_000),
            "failure",
            "0.0 GB free",
            "results are lost where the broker is away, and uploads are refused",
        ),
        (
            Room(1, 90_000_000_000, 12),
            "failure",
            "90.0 GB free, room for 12 more files",
            "results are lost where the broker is away, and uploads are refused",
        ),
    ],
)
def test_little_room_is_told_before_it_is_none(
    tmp_path: Path, room: Room, verdict: str, found: str, means: str
) -> None:
    (told,) = check_disk(None, replace(machine(tmp_path), room_at=lambda _: room))
    assert (told.verdict, told.found, told.means) == (verdict, found, means)
    assert told.hint == "remove what is not needed there, or make the disk larger"


def test_what_is_installed_is_named() -> None:
    found = check_versions(lambda name: "0.2.0" if name == "motiond" else installed(name))
    assert (found.verdict, found.hint) == ("ok", None)
    assert f"motiond 0.2.0, python {platform.python_version()}, " in found.found
    assert found.figures["ruckig"] == version("ruckig")


def test_what_is_missing_is_named_first() -> None:
    found = check_versions(lambda name: None if name in {"ruckig", "hebi-py"} else "1.0")
    assert found.verdict == "failure"
    assert found.found.startswith("missing: ruckig; there: motiond 1.0, python ")
    assert "hebi-py" not in found.figures
    assert (found.means, found.hint) == (
        "motiond fails where it needs them",
        "install motiond again, in the way that it was installed",
    )


@pytest.mark.usefixtures("nameless")
def test_a_user_without_a_home_has_no_folder_to_look_at() -> None:
    assert "state" not in Machine().folders()
