"""Every block of code on a page is run or checked by a test, or the page's source says why it is not."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import orjson
import pytest
from lxml import etree

from tests.docs.blocks import CHECKOUT, PAGES, STAYS, BadMark, Block, blocks_of, unfenced, without_comment
from tests.docs.readme import MARKS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

README = CHECKOUT / "README.md"
BLOCKS = [block for page in PAGES for block in blocks_of(page)]
READERS: dict[str, Callable[[str], object]] = {
    "python": partial(compile, filename="page", mode="exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT),
    "json": orjson.loads,
    "toml": tomllib.loads,
    "xml": etree.fromstring,
}
RUN, CHECKED = {"sh", "console"}, {"yaml"}
LOOKED_AT = {"text", "ini", "js", "pycon", "mermaid"}  # output, and what other tests of the page read
ANY = RUN | CHECKED | LOOKED_AT | READERS.keys()
MARKED = {
    "run first": ANY,
    "not run": RUN,
    "on virtual time": {"sh"},
    "roughly": {"console"},
    "file": ANY - RUN,
    "base": CHECKED,
    "not a configuration": CHECKED,
}
# How many commands of each page no test runs: who marks one more says so here as well.
NOT_RUN = {
    "README.md": 6,
    "docs/benchmarks.md": 2,
    "docs/cli.md": 9,
    "docs/doctor.md": 3,
    "docs/fleet.md": 1,
    "docs/formats/ros.md": 1,
    "docs/history.md": 1,
    "docs/howto/teach.md": 1,
    "docs/howto/hebi-arm.md": 5,
    "docs/howto/policy.md": 2,
    "docs/howto/so101.md": 1,
    "docs/init.md": 2,
    "docs/install.md": 7,
    "docs/security.md": 15,
    "docs/service.md": 14,
    "docs/teaching.md": 1,
    "docs/testing-your-robot.md": 1,
    "docs/tutorial.md": 4,
    "docs/writing-a-driver.md": 4,
}


def page_of(text: str, folder: Path) -> Path:
    """Write a page into a folder that stands in for the checkout's."""
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_no_code_is_only_indented(page: Path) -> None:
    assert unfenced(page) == [], "put ```sh, ```console, ```yaml or ```text around it"


def test_every_block_says_what_it_is() -> None:
    unknown = {block.where: block.language for block in BLOCKS if block.language not in ANY}
    assert unknown == {}, f"the languages that tests know are {', '.join(sorted(ANY))}"


@pytest.mark.parametrize("language", READERS)
def test_blocks_are_in_the_language_that_they_say(language: str) -> None:
    read = [READERS[language](block.text) for block in BLOCKS if block.language == language]
    assert read


def test_what_is_not_run_says_why_and_is_counted() -> None:
    reasons = [
        (block.page, f"{block.where}: {command.line}\n    {reason}")
        for block in BLOCKS
        for command in block.commands()
        if (reason := block.reason_not_to_run(command)) is not None and not block.told("on virtual time")
    ]
    told = "\n".join(text for _, text in reasons)
    assert Counter(page for page, _ in reasons) == NOT_RUN, f"these {len(reasons)} are not run:\n{told}"


def test_a_command_that_stays_is_the_last_of_its_block() -> None:
    """Whoever pastes the block would wait for it, and wonder what became of the others."""
    stay = [
        f"{block.where}: {command.line}"
        for block in BLOCKS
        for command in block.commands()[:-1]
        if any(re.match(pattern, command.line) for pattern in STAYS)
        and not without_comment(command.line).endswith("&")
    ]
    assert stay == []


def test_an_environment_is_made_in_no_clone() -> None:
    """A clone without another name is called as its repository, and many stand in a home."""
    lines = [command.line for block in BLOCKS for command in block.commands()]
    folders = {made[1] for line in lines if (made := re.search(r"-m venv (\S+)", line))}
    assert folders == {"~/motiond-env", "/opt/motiond"}


def test_marks_fit_their_blocks() -> None:
    wrong = [
        f"{block.where}: {mark.kind}"
        for block in BLOCKS
        for mark in block.marks
        if block.language not in MARKED[mark.kind]
        or (mark.command and not any(one.line.startswith(mark.command) for one in block.commands()))
    ]
    assert wrong == []


def test_the_readme_has_no_comments_and_each_of_its_marks_a_block() -> None:
    assert "<!--" not in README.read_text(encoding="utf-8")
    assert {block.text.partition("\n")[0] for block in blocks_of(README)} >= MARKS.keys()


# -- how blocks are found -----------------------------------------------------------------------------------


def block_in(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Block:
    monkeypatch.setattr("tests.docs.blocks.CHECKOUT", folder)
    (block,) = blocks_of(page_of(text, folder))
    return block


def test_the_marks_of_a_block_are_the_comments_right_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "<!-- not run: of something else -->\nProse.\n\n<!-- run first: a\nb -->\n"
        "<!-- not run `make bench`: it takes a minute -->\n```sh\nmake bench\nmake \\\n  help\n```\n"
    )
    block = block_in(text, tmp_path, monkeypatch)
    assert block.where == "page.md:7"
    assert block.told("run first") == ["a\nb"]
    first, second = block.commands()
    assert (first.line, second.line) == ("make bench", "make   help")
    assert block.reason_not_to_run(first) == "it takes a minute"
    assert block.reason_not_to_run(second) is None


def test_a_console_has_commands_with_their_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = block_in("```console\n$ one\nsays this\n$ two\n```\n", tmp_path, monkeypatch)
    assert [(one.line, one.shown) for one in block.commands()] == [("one", "says this\n"), ("two", "")]


def test_a_comment_that_no_test_knows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadMark) as refused:
        block_in("<!-- never run: it is dear -->\n```sh\nls\n```\n", tmp_path, monkeypatch)
    assert str(refused.value) == (
        "page.md:2: comment 'never run: it is dear' is none of run first, not run, "
        "on virtual time, roughly, file, base, not a configuration; correct it, or move it away"
    )


def test_indented_code_is_found(tmp_path: Path) -> None:
    text = "Prose.\n\n    motiond run\n\n- item\n\n    ```sh\n    ls\n    ```\n"
    assert unfenced(page_of(text, tmp_path)) == [3]
