"""Lines of pages that would take long in a shell, on virtual time: on the example, its hand a gripper."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.daemon.cli.program import Daemon, running
from tests.daemon.rig import RATE_HZ, sweep, write_seq
from tests.docs.blocks import CHECKOUT, Block, blocks_of, pages_with

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ENDLESS = "forever"
GRIPPER = "wrist3"
GOAL_ID = "4c1f6d2d1f624b7c9d1e5f0a2b3c4d5e"
"""The id that pages show of the goal that plays."""


def is_for_here(block: Block) -> bool:
    return bool(block.told("on virtual time"))


@pytest.fixture
async def example(tmp_path: Path, programs: None) -> AsyncIterator[Daemon]:
    """Run the daemon of the example, without a page."""
    del programs
    shutil.copytree(CHECKOUT / "config", tmp_path / "config")
    config = tmp_path / "config" / "demo.yaml"
    settings = yaml.safe_load(config.read_text()) | {"http": None}
    config.write_text(yaml.safe_dump(settings))
    give_a_gripper(tmp_path / "config" / "motions")
    async with running(config) as daemon:
        yield daemon


def give_a_gripper(motions: Path) -> None:
    """Let one motion drive the last joint alone, and the others only what it leaves."""
    wave = motions / "wave.seq"
    without_the_last = re.sub(r", \S+ \]$", " ]", wave.read_text(), flags=re.MULTILINE)
    wave.write_text(without_the_last.replace("num_parts: 6", "num_parts: 5"))
    write_seq(motions / "gripper_close.seq", sweep(1.0, joints=1), (GRIPPER,), RATE_HZ)
    write_seq(motions / "idle.seq", sweep(4.0, joints=1), ("shoulder",), RATE_HZ)


@pytest.mark.parametrize("page", pages_with(is_for_here))
async def test_each_line_of_a_page_is_accepted_and_ends_well(page: str, example: Daemon) -> None:
    for block in filter(is_for_here, blocks_of(CHECKOUT / page)):
        first = [line for lines in block.told("run first") for line in lines.splitlines()]
        for line in (*first, *(command.line for command in block.commands())):
            if GOAL_ID in line:
                playing = (await example.ask("status"))["goal_id"]
                line = line.replace(GOAL_ID, playing)  # noqa: PLW2901 - as a reader does
            await run(example, line)
        await example.cli("stop", "arm")
        await example.until("idle")


async def run(example: Daemon, line: str) -> None:
    """Run a line to its end; what plays without end is stopped."""
    program, *arguments = shlex.split(line)
    if program == "mosquitto_pub":
        _, topic, _, payload = arguments
        assert (topic.partition("/request/")[0], arguments[::2]) == ("motiond/arm", ["-t", "-m"])
        await example.ask(topic.partition("/request/")[2], **json.loads(payload))
        return
    assert program == "motiond", line
    started = example.start(*arguments)
    is_stopped = ENDLESS in arguments and "--no-wait" not in arguments
    if is_stopped:
        await example.until("playing")
        assert (await example.cli("stop", "arm")).code == 0
    ended = await started.end()
    is_well = "CANCELED" in ended.err if is_stopped else ended.code == 0
    assert is_well, f"{line}: exit code {ended.code}; it wrote:\n{ended.out}{ended.err}"
