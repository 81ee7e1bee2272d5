from __future__ import annotations

import pytest

from tests.contract.driver_contract import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()
