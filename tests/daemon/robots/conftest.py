"""A robot with its real stream process, for the tests of robots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)
