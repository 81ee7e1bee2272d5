"""The shell that runs the lines of pages tells what went wrong, and reaches nothing of this machine's."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.docs.blocks import CHECKOUT, Block, Command, Mark
from tests.system.docs.lines import run
from tests.system.docs.shell import Shell, patient, told_as_shown

if TYPE_CHECKING:
    from pathlib import Path

TABLE = " robot   motion\n ──────────────\n arm     wave 2"


def block(language: str, *marks: Mark) -> Block:
    return Block("page.md", 7, language, "", marks)


def refusal_of(shell: Shell, line: str, shown: str = "", *marks: Mark) -> str:
    with pytest.raises(AssertionError) as refused:
        run(shell, block("console", *marks), Command(line, shown))
    lines = str(refused.value).split("\nassert")[0].splitlines()
    return "\n".join(line.strip() for line in lines).strip()


@pytest.mark.parametrize(
    ("told", "exactly", "roughly"),
    [
        ("\n robot   motion \n ──────────────\n arm     wave 2   \n", True, True),
        (" robot   motion\n ─────────────────\n arm     wave 20.5", False, True),
        (" robot   motion\n ──────────────\n arm     nod 2", False, False),
        (" robot   motion\n ──────────────", False, False),
        (TABLE + "\n left    wave 2", False, False),
    ],
)
def test_an_output_is_held_to_what_the_page_shows(told: str, *, exactly: bool, roughly: bool) -> None:
    assert told_as_shown(TABLE, told, roughly=False) is exactly
    assert told_as_shown(TABLE, told, roughly=True) is roughly


def test_a_configuration_of_a_page_gets_patience_but_keeps_what_it_says() -> None:
    text = "robots: {arm: {driver: {type: dynamixel, command_lifetime_s: 0.1}, on_late: skip}}"
    robot = yaml.safe_load(patient(text))["robots"]["arm"]
    assert robot["on_late"] == "skip"
    assert robot["max_lateness_s"] == 10
    assert robot["driver"] == {"type": "dynamixel", "command_lifetime_s": 0.1, "answer_timeout_s": 0.5}


def test_a_line_that_does_other_than_the_page_says_fails_with_all_that_it_wrote(
    shell: Shell, tmp_path: Path
) -> None:
    assert refusal_of(shell, "echo no; false") == "page.md:7: echo no; false: exit code 1; it wrote:\nno"
    differs = "page.md:7: echo 2: the page shows\n1\n\nand it wrote\n2"
    assert refusal_of(shell, "echo 2", "1\n") == differs
    refused = """echo '{"status":"error"}'"""
    assert refusal_of(shell, refused).startswith(f"page.md:7: {refused}: exit code 0; it wrote:")
    run(shell, block("sh"), Command("mkdir deeper; cd deeper; export WORD=kept", ""))
    run(shell, block("console"), Command("echo $WORD > file; basename $PWD", "deeper\n"))
    assert (tmp_path / "here" / "deeper" / "file").read_text() == "kept\n"


def test_lines_reach_no_broker_of_this_machine_and_write_nothing_into_the_checkout(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        line = f"mosquitto_pub -p {broker.getsockname()[1]} -t motiond/arm/request/play -m '{{}}'"
        assert shell.run(line).code != 0
        broker.setblocking(False)
        with pytest.raises(BlockingIOError):
            broker.accept()
    assert "Read-only file system" in shell.run(f"touch {CHECKOUT}/written").output
    assert not (CHECKOUT / "written").exists()


def test_a_request_that_is_published_has_to_be_granted(shell: Shell) -> None:
    shell.run("mosquitto -p 1883 &")
    for status, code in {"error": 1, "ok": 0}.items():
        answer = f"""{{"status":"{status}"}}"""
        shell.run(f"mosquitto_pub -r -t motiond/arm/response/play -m '{answer}'")
        asked = shell.run("mosquitto_pub -t motiond/arm/request/play -m '{}'")
        assert (asked.code, asked.output) == (code, f"{answer}\n")
