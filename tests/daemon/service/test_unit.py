"""What the unit file leaves to the daemon, and what it keeps from it."""

from __future__ import annotations

from pathlib import Path

SYSTEMD = Path(__file__).parents[3] / "systemd"


def test_the_unit_lets_the_daemon_read_the_clock_and_not_set_it() -> None:
    unit = (SYSTEMD / "motiond.service").read_text()
    options = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and line[0] != "#")
    assert options["SystemCallFilter"] == "@system-service adjtimex clock_adjtime clock_adjtime64"
    assert "ProtectClock" not in options  # which refuses adjtimex whatever it is asked for
    assert options["CapabilityBoundingSet"] == ""


def test_the_unit_leaves_memory_to_the_machine_and_goes_on_without_a_process_that_took_too_much() -> None:
    unit = (SYSTEMD / "motiond.service").read_text()
    options = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and line[0] != "#")
    page = (SYSTEMD.parent / "docs" / "service.md").read_text()
    for option, value in (("MemoryMax", "75%"), ("MemorySwapMax", "0"), ("OOMPolicy", "continue")):
        assert options[option] == value
        assert f"`{option}={value}`" in page
