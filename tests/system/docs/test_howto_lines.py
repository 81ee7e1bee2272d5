"""Every shell line of a how-to does what the page says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.docs.lines import HOWTOS, follow

if TYPE_CHECKING:
    from tests.system.docs.shell import Shell


@pytest.mark.parametrize("page", HOWTOS)
def test_the_lines_of_a_page_do_what_it_says(page: str, shell: Shell) -> None:
    follow(page, shell)
