from __future__ import annotations

import pytest

from motiond.drivers.testing.rig import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()
