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
STEADY = "processors keep their speed, so that each tick takes as long as the one before"
SLOWING = "processors slow down between ticks, and the work of a tick begins slowly"


@pytest.mark.parametrize(
    ("files", "is_realtime"),
    [
        ({"sys/kernel/realtime": "1\n"}, True),
        ({"proc/sys/kernel/version": "#1 SMP PREEMPT_RT Debian 6.1.76-1 (2024-02-01)\n"}, True),
        ({}, False),
        ({"sys/kernel/realtime": "0\n"}, False),
        ({"proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC\n"}, False),
    ],
)
def test_a_kernel_that_is_not_for_real_time_is_warned_of_with_what_to_install(
    tmp_path: Path, files: dict[str, str], *, is_realtime: bool
) -> None:
    means = "drivers and interrupts of the kernel give way to the real-time loop"
    hint = None
    if not is_realtime:
        means = "drivers and interrupts of the kernel may hold the real-time loop up, mostly under load"
        hint = "where the wake-ups below are late, install a kernel with PREEMPT_RT (linux-image-rt-amd64)"
    assert check_kernel(machine(tmp_path, RELEASE | files)) == Check(
        check="kernel",
        verdict=Verdict.OK if is_realtime else Verdict.WARNING,
        found=f"Linux 6.1.0-18-amd64 {'with' if is_realtime else 'without'} PREEMPT_RT",
        means=means,
        hint=hint,
        figures={"release": "6.1.0-18-amd64"},
    )


def test_of_a_kernel_that_cannot_be_read_nothing_is_said(tmp_path: Path) -> None:
    assert check_kernel(machine(tmp_path)) == Check(
        check="kernel",
        verdict=Verdict.NOT_APPLICABLE,
        found=f"{tmp_path}/proc/sys/kernel/osrelease cannot be read",
        means="nothing is known of the kernel; the measured wake-ups say what it is worth",
    )


@pytest.mark.parametrize(
    ("governors", "expected"),
    [
        (["performance"] * 4, ("ok", "performance on 4 of 4", STEADY, None)),
        (
            ["performance", "schedutil"],
            (
                "warning",
                "performance on 1 of 2, schedutil on 1 of 2",
                SLOWING,
                "cpupower frequency-set -g performance",
            ),
        ),
        (
            [],
            (
                "not applicable",
                "the kernel sets no processor's speed",
                "the firmware does, or the host of this virtual machine; look there if wake-ups are late",
                None,
            ),
        ),
    ],
)
def test_one_processor_that_slows_down_is_enough_for_a_warning(
    tmp_path: Path, governors: list[str], expected: tuple[str | None, ...]
) -> None:
    files = {GOVERNOR.format(core): f"{governor}\n" for core, governor in enumerate(governors)}
    check = check_governor(machine(tmp_path, files))
    assert (check.verdict, check.found, check.means, check.hint) == expected
