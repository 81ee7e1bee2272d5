from __future__ import annotations

import pytest

from tests.contract.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()
