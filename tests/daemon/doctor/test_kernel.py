"""What is said of the kernel and of the speed of processors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.daemon.doctor.punctuality import check_governor, check_kernel
from motiond.daemon.doctor.report import Check, Verdict
from tests.daemon.doctor.machines import machine

if TYPE_CHECKING:
    from pathlib import Path

RELEASE = {"proc/sys/kernel/osrelease": "6.1.0-18-amd64\n"}
GOVERNOR = "sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"


@pytest.mark.parametrize(
    "told",
    [
        {"sys/kernel/realtime": "1\n"},
        {"proc/sys/kernel/version": "#1 SMP PREEMPT_RT Debian 6.1.76-1 (2024-02-01)\n"},
    ],
)
def test_a_kernel_for_real_time_is_ok(tmp_path: Path, told: dict[str, str]) -> None:
    assert check_kernel(machine(tmp_path, RELEASE | told)) == Check(
        check="kernel",
        verdict=Verdict.OK,
        found="Linux 6.1.0-18-amd64 with PREEMPT_RT",
        means="drivers and interrupts of the kernel give way to the real-time loop",
        figures={"release": "6.1.0-18-amd64"},
    )


@pytest.mark.parametrize(
    "told", [{}, {"sys/kernel/realtime": "0\n"}, {"proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC\n"}]
)
def test_another_kernel_is_warned_of_with_what_to_install(tmp_path: Path, told: dict[str, str]) -> None:
    assert check_kernel(machine(tmp_path, RELEASE | told)) == Check(
        check="kernel",
        verdict=Verdict.WARNING,
        found="Linux 6.1.0-18-amd64 without PREEMPT_RT",
        means="drivers and interrupts of the kernel may hold the real-time loop up, mostly under load",
        hint="where the wake-ups below are late, install a kernel with PREEMPT_RT (linux-image-rt-amd64)",
        figures={"release": "6.1.0-18-amd64"},
    )


def test_of_a_kernel_that_tells_nothing_nothing_is_said(tmp_path: Path) -> None:
    assert check_kernel(machine(tmp_path)) == Check(
        check="kernel",
        verdict=Verdict.NOT_APPLICABLE,
        found=f"{tmp_path}/proc/sys/kernel/osrelease cannot be read",
        means="nothing is known of the kernel; the measured wake-ups say what it is worth",
    )


def test_processors_that_keep_their_speed_are_ok(tmp_path: Path) -> None:
    found = check_governor(machine(tmp_path, {GOVERNOR.format(core): "performance\n" for core in range(4)}))
    assert (found.verdict, found.found, found.hint) == ("ok", "performance on 4 of 4", None)


def test_one_processor_that_slows_down_is_enough_for_a_warning(tmp_path: Path) -> None:
    files = {GOVERNOR.format(0): "performance\n", GOVERNOR.format(1): "schedutil\n"}
    assert check_governor(machine(tmp_path, files)) == Check(
        check="governor",
        verdict=Verdict.WARNING,
        found="performance on 1 of 2, schedutil on 1 of 2",
        means="processors slow down between ticks, and the work of a tick begins slowly",
        hint="cpupower frequency-set -g performance",
    )


def test_a_machine_whose_processors_the_kernel_does_not_steer_is_left_alone(tmp_path: Path) -> None:
    found = check_governor(machine(tmp_path))
    assert (found.verdict, found.found) == ("not applicable", "the kernel sets no processor's speed")
