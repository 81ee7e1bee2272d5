"""A robot whose recordings lie beside its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.robot["recording"] = {"folder": "recordings"}
    return rig
