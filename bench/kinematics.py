"""Forward kinematics of many postures at once beside a loop over single ones.

python -m bench.kinematics
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from bench.load_robot import skel_chain as chain
from motiond.formats import Source, skel

if TYPE_CHECKING:
    from motiond.formats import RobotModel

GOAL = 20
JOINTS, POSTURES, IN_LOOP, TIMES = 40, 10_000, 200, 5


def robot(type_: str) -> RobotModel:
    axis = "<axis><xyz>1 0 0</xyz></axis>"
    text = chain(JOINTS)
    if type_ == "revolute":
        text = text.replace('type="ball"', 'type="revolute"').replace(
            "<init_pos>0.1 0.2 0.3</init_pos>", axis
        )
    (model,) = skel.load(text.encode(), Source(Path("chain.skel")))
    return model


def compare(type_: str) -> None:
    model = robot(type_)
    postures = np.random.default_rng(1).uniform(-1, 1, (POSTURES, model.dof))
    model.forward_kinematics(postures[0])
    at_once_s, one_by_one_s = [], []
    for _ in range(TIMES):
        start = time.perf_counter()
        together = model.forward_kinematics(postures)
        at_once_s.append(time.perf_counter() - start)
        start = time.perf_counter()
        alone = [model.forward_kinematics(posture) for posture in postures[:IN_LOOP]]
        # The loop's time is proportional to its length; the rest of it is not waited for.
        one_by_one_s.append((time.perf_counter() - start) * POSTURES / IN_LOOP)
    at_once, one_by_one = median(at_once_s), median(one_by_one_s)
    last = f"link {JOINTS - 1}"
    np.testing.assert_allclose(together[last][:IN_LOOP], [one[last] for one in alone], atol=1e-12)
    faster = one_by_one / at_once
    print(f"forward kinematics of {JOINTS} {type_} joints, {POSTURES} postures, median of {TIMES} in turn")
    print(f"  at once           {at_once:>10.3f} s")
    print(f"  loop              {one_by_one:>10.3f} s (from {IN_LOOP})")
    print(f"  {faster:.0f} times faster; goal at least {GOAL}: {'met' if faster >= GOAL else 'MISSED'}")


def main() -> None:
    compare("revolute")
    compare("ball")


if __name__ == "__main__":
    main()
