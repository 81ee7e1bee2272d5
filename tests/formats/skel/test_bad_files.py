"""Bad SKEL files are refused with every problem, and oddities warn."""

from __future__ import annotations

from pathlib import Path

import pytest

from motiond.formats import FormatError, skel
from motiond.formats.io.source import Source
from tests.tables import table


def refusal(data: bytes | str) -> str:
    with pytest.raises(FormatError) as caught:
        skel.load(data.encode() if isinstance(data, str) else data, Source(Path("s.skel")))
    return str(caught.value)


def robot(inside: str) -> str:
    """Return a skeleton with bodies a and b, a welded to the world; the text given is on line 4."""
    return f"""<skel version="1.0"><world name="w"><skeleton name="s">
        <body name="a"/><body name="b"/>
        <joint type="weld" name="fixed"><parent>world</parent><child>a</child></joint>
        {inside}
        </skeleton></world></skel>"""


@table("data, message")
def test_a_file_that_is_no_skel_is_refused(data: bytes, message: str) -> None:
    assert refusal(data) == message


@table("inside, message")
def test_what_a_skeleton_may_not_say_is_refused(inside: str, message: str) -> None:
    assert refusal(robot(inside)) == "\n".join(f"s.skel:4: {line}" for line in message.splitlines())
