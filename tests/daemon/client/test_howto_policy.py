"""The programs of docs/howto/policy.md, each run as a user runs it, beside a daemon in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.drivers.sim.command_log import read_trace
from tests.daemon.cli.program import Program, daemon_of
from tests.daemon.rig import Rig
from tests.docs.blocks import blocks_of

if TYPE_CHECKING:
    from tests.docs.blocks import Block

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "policy.md"
PROGRAMS = {block.told("file")[0]: block for block in blocks_of(PAGE) if block.language == "python"}

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("programs")]


def test_the_page_has_a_policy_of_targets_and_one_of_chunks() -> None:
    assert list(PROGRAMS) == ["policy.py", "chunks.py"]
    assert len([line for line in PROGRAMS["policy.py"].text.splitlines() if line]) <= 20


@pytest.mark.parametrize("block", PROGRAMS.values(), ids=PROGRAMS)
async def test_a_policy_drives_the_arm_to_its_goal(block: Block, tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.daemon["mqtt"] = {"telemetry_hz": 50}
    rig.robot["lease"] = {"required": True}
    async with daemon_of(rig) as running:

        def program(_: list[str]) -> int:
            exec(compile(block.text, block.where, "exec"), {})  # noqa: S102 - the page's own
            return 0

        ended = await Program(run=program).end()
        results = (await running.ask("history"))["results"]
    assert ended == (0, "SUCCESSFUL\n", "")
    (result,) = results
    facts = result["details"]["follow"]
    assert (facts["clipped"], facts["dropped"], facts["refused"]) == (0, 0, 0)
    assert facts["targets"] == (250 if block.told("file") == ["policy.py"] else 20)
    assert read_trace(tmp_path / "trace.npy")["position"][-1] == pytest.approx([0.3, 0.3], abs=0.02)
