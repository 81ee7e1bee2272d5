"""The kernel, and how fast it runs its processors."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .machine import line_in
from .report import Check, Verdict

if TYPE_CHECKING:
    from .machine import Machine

STEADY = "performance"


def check_kernel(machine: Machine) -> Check:
    """Say which kernel runs, and whether it is one for real time."""
    release = line_in(machine.proc / "sys/kernel/osrelease")
    build = line_in(machine.proc / "sys/kernel/version") or ""
    if release is None:
        return Check(
            check="kernel",
            verdict=Verdict.NOT_APPLICABLE,
            found=f"{machine.proc}/sys/kernel/osrelease cannot be read",
            means="nothing is known of the kernel; the measured wake-ups say what it is worth",
        )
    is_realtime = line_in(machine.sys / "kernel/realtime") == "1" or "PREEMPT_RT" in build
    if is_realtime:
        return Check(
            check="kernel",
            verdict=Verdict.OK,
            found=f"Linux {release} with PREEMPT_RT",
            means="drivers and interrupts of the kernel give way to the real-time loop",
            figures={"release": release},
        )
    return Check(
        check="kernel",
        verdict=Verdict.WARNING,
        found=f"Linux {release} without PREEMPT_RT",
        means="drivers and interrupts of the kernel may hold the real-time loop up, mostly under load",
        hint="where the wake-ups below are late, install a kernel with PREEMPT_RT (linux-image-rt-amd64)",
        figures={"release": release},
    )


def check_governor(machine: Machine) -> Check:
    """Say whether processors keep their speed."""
    files = machine.sys.glob("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    governors = Counter(governor for file in files if (governor := line_in(file)))
    if not governors:
        return Check(
            check="governor",
            verdict=Verdict.NOT_APPLICABLE,
            found="the kernel sets no processor's speed",
            means="the firmware does, or the host of this virtual machine; look there if wake-ups are late",
        )
    found = ", ".join(
        f"{name} on {count} of {governors.total()}" for name, count in sorted(governors.items())
    )
    if set(governors) == {STEADY}:
        return Check(
            check="governor",
            verdict=Verdict.OK,
            found=found,
            means="processors keep their speed, so that each tick takes as long as the one before",
        )
    return Check(
        check="governor",
        verdict=Verdict.WARNING,
        found=found,
        means="processors slow down between ticks, and the work of a tick begins slowly",
        hint=f"cpupower frequency-set -g {STEADY}",
    )
