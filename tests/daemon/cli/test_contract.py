"""Programs in the test's process behave as real ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.daemon.cli import contract

if TYPE_CHECKING:
    from tests.daemon.cli.contract import Step
    from tests.daemon.cli.program import Daemon

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("holds", contract.STEPS, ids=lambda step: step.__name__)
async def test_programs_in_one_process_behave_as_real_ones(daemon: Daemon, holds: Step) -> None:
    await holds(daemon)
