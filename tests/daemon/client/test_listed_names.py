"""Names that somebody may type."""

from __future__ import annotations

from motiond.daemon.client.reload import Reloaded
from motiond.text import listed


def test_each_name_is_told_whole_and_of_many_the_first_twenty() -> None:
    names = [f"{number:02}" + "n" * 200 for number in range(1200)]
    assert listed(names[:2], longest=None) == f"{names[0]}, {names[1]}"
    assert listed(names, more=30, longest=None) == f"{', '.join(names[:20])} and 1,210 more"


def test_a_reload_tells_motions_by_their_whole_names() -> None:
    name = "n" * 200
    assert Reloaded("arm", [{"name": name, "ok": True}], 2).summary() == f"plays {name} and 2 more"
