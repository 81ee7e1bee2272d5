"""What it costs to look for collisions while a robot of 30 joints follows targets at 500 Hz.

Beside a tick that looks stands one that does not, and beside the missed deadlines cyclictest's. The robot is
a humanoid that swings all its joints about where it stands upright.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from pathlib import Path
from typing import Any

from bench import cyclictest
from bench.follow_setpoints import RATE_HZ, SECONDS, TARGETS_HZ, follow_us, print_punctuality, print_us
from bench.many_robots import Layout
from motiond.daemon.config.robot import RobotSettings
from motiond.daemon.joints import build_joint_map
from motiond.daemon.planning import collision_of, make_checks
from tests.daemon.physics.robots import humanoid

WITH: dict[str, dict[str, Any]] = {"without collisions": {}, "with collisions": {"collision": {}}}


def main(seconds: float = SECONDS) -> None:
    """Print both."""
    with tempfile.TemporaryDirectory() as folder:
        model = humanoid(Path(folder))
        file = Path(folder) / "humanoid.skel"
        settings = RobotSettings.model_validate({"model": file, "driver": {"type": "sim"}, "collision": {}})
        joint_map = build_joint_map("robot", model, {})
        collision, joints = collision_of(make_checks(settings, model, joint_map)), len(joint_map.joints)
        print(f"a tick in µs, on virtual time; targets at {TARGETS_HZ} Hz of {RATE_HZ}")
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            for name, looked_at in (("follows", None), ("follows and looks", collision)):
                print_us(name, joints, pool.apply(follow_us, (joints, "targets", 0, 0.0, looked_at)))
        if cyclictest.is_there():
            for name, options in WITH.items():
                print(name)
                print_punctuality(seconds, Layout(("arm",), joints, {}, model=file, options=options))


if __name__ == "__main__":
    main()
