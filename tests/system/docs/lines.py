"""Follows a page: each of its shell lines does what the page says, or its source says why it is not run.

The lines of a page run one after the other in one shell, as a reader would type them, with the robots and the
broker that they start, in a network of their own: no line can reach a real broker or robot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.docs.bases import whole
from tests.docs.blocks import CHECKOUT, Block, Command, blocks_of, pages_with
from tests.system.docs.shell import told_as_shown

if TYPE_CHECKING:
    from tests.system.docs.shell import Ran, Shell

TRIES = 5
TOO_BUSY = (
    *("DEADLINE_MISSED", "no target came for", "nothing was measured for"),
    *("not seen playing", "no robot plays"),
)
LOOKS = "motiond scan"
"""Begins a command that changes nothing, and may miss a servo whose emulator does not answer in time."""
ENDED_BEFORE = 127  # what bash says of one that was waited for


def runs_something(block: Block) -> bool:
    return any(block.reason_not_to_run(command) is None for command in block.commands())


PAGES_THAT_RUN = pages_with(runs_something)
FIRST_STEPS = [page for page in PAGES_THAT_RUN if page in {"README.md", "docs/tutorial.md"}]
HOWTOS = [page for page in PAGES_THAT_RUN if page.startswith("docs/howto/")]
OTHER_PAGES = [page for page in PAGES_THAT_RUN if page not in {*FIRST_STEPS, *HOWTOS}]


def shows(block: Block, command: Command, ran: Ran) -> bool:
    return told_as_shown(command.shown, ran.output, roughly=bool(block.told("roughly")))


def run_in_time(shell: Shell, block: Block, command: Command) -> Ran:
    """Run a command, once more where the machine had too much to do for a robot or a servo to be on time."""
    ran = shell.run(command.line, command.shown)
    for _ in range(TRIES):
        misses = command.shown and command.line.startswith(LOOKS) and not shows(block, command, ran)
        if not (misses or any(text in ran.output for text in TOO_BUSY)):
            break
        ran = shell.run(command.line, command.shown)
    return ran


def run(shell: Shell, block: Block, command: Command) -> None:
    ran = run_in_time(shell, block, command)
    asked = f"{block.where}: {command.line}"
    if not command.shown:
        is_well = ran.code == 0 and '"status":"error"' not in ran.output  # curl takes a refusal for a page
        assert is_well, f"{asked}: exit code {ran.code}; it wrote:\n{ran.output}"
    else:
        assert shows(block, command, ran), (
            f"{asked}: the page shows\n{command.shown}\nand it wrote\n{ran.output}"
        )


def follow(page: str, shell: Shell) -> None:
    """Run all lines of a page, and hold what they write against what it shows."""
    for block in blocks_of(CHECKOUT / page):
        for lines in block.told("run first"):
            for line in lines.splitlines():
                run(shell, block, Command(line.strip(), ""))
        for name in block.told("file"):
            shell.write(name, whole(block))
        for command in block.commands():
            if block.reason_not_to_run(command) is None:
                run(shell, block, command)
    ended = shell.end()
    assert {
        line: code
        for line, code in ended.items()
        if line.startswith("motiond") and code not in {0, ENDED_BEFORE}
    } == {}
