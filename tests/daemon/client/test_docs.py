"""The examples of docs/client.md, run in their order beside a daemon in this process."""

from __future__ import annotations

import ast
import asyncio
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest

import motiond.client
from tests.daemon.cli.program import Program, daemon_of
from tests.daemon.rig import Rig

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "client.md"


def examples_of(page: Path) -> list[str]:
    return [block.partition("```")[0] for block in page.read_text().split("```python\n")[1:]]


EXAMPLES = examples_of(PAGE)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("programs")]


async def run(example: str, names: dict[str, Any]) -> None:
    code = compile(example, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if isawaitable(result := eval(code, names)):  # noqa: S307 - the page's own
        await result


async def test_the_page_has_twelve_examples_of_which_the_last_needs_threads() -> None:
    assert len(EXAMPLES) == 12
    assert "client.sync.connect" in EXAMPLES[-1]


async def test_the_first_example_is_a_program(tmp_path: Path) -> None:
    async with daemon_of(Rig(tmp_path)):

        def program(_: list[str]) -> int:
            exec(compile(EXAMPLES[0], str(PAGE), "exec"), {})  # noqa: S102 - the page's own
            return 0

        ended = await Program(run=program).end()
    assert ended == (0, "SUCCESSFUL\n", "")


async def test_the_other_examples_run_within_a_connection(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.robot["lease"] = {"required": True}
    rig.robot["motions"] = [{"folder": "motions", "upload": True}]
    async with (
        daemon_of(rig) as running,
        motiond.client.connect(config=running.config, holder="the page") as daemon,
    ):
        names: dict[str, Any] = {
            "asyncio": asyncio,
            "motiond": motiond,
            "daemon": daemon,
            "arm": daemon.robot("arm"),
        }
        for example in EXAMPLES[1:-1]:
            await run(example, names)
        assert (names["result"].code, names["states"][0]["state"]) == ("SUCCESSFUL", "idle")
        assert (names["refusal_code"], names["group_code"]) == ("UNKNOWN_MOTION", "UNKNOWN_GROUP")
        assert names["report"].robot == "arm"
        assert (names["pose"]["name"], names["draft"]["poses"]) == ("begin", 1)
        assert names["followed"].code == "SUCCESSFUL"
        assert names["followed"].details["follow"]["targets"] == 50  # with the lease that each needs
        assert (names["checked"]["motion"], names["checked"]["saved"]) == ("wave", False)


async def test_a_robot_follows_targets_and_chunks_as_its_page_shows(tmp_path: Path) -> None:
    program, chunks = examples_of(DOCS / "following.md")
    async with daemon_of(Rig(tmp_path)) as running:

        def run_program(_: list[str]) -> int:
            exec(compile(program, "following.md", "exec"), {})  # noqa: S102 - the page's own
            return 0

        assert await Program(run=run_program).end() == (0, "SUCCESSFUL\n", "")
        async with motiond.client.connect(config=running.config) as daemon:
            names: dict[str, Any] = {"asyncio": asyncio, "arm": daemon.robot("arm")}
            await run(chunks, names)
    assert names["chunked"].code == "SUCCESSFUL"
    assert names["chunked"].details["follow"]["targets"] == 2
