from __future__ import annotations

import pytest

from motiond.drivers.testing.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()
