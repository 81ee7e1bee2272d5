"""A shell for the tests of pages, where the machine has what that takes."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.system.docs.shell import Shell, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAMS = ("mosquitto", "mosquitto_pub", "curl", "openssl")


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    places = os.environ["PATH"] + os.pathsep + "/usr/sbin"
    for program in PROGRAMS:
        if shutil.which(program, path=places) is None:
            pytest.skip(f"{program} is not installed")
    if (reason := refusal()) is not None:
        pytest.skip(reason)
    with Shell(tmp_path) as shell:
        yield shell
