"""Behaviour of the interpreter once it serves, and before."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from motiond.daemon.cli import completion
from motiond.daemon.service.interpreter import few_passes, prefer_latency
from tests.daemon.programs import run_here

if TYPE_CHECKING:
    import pytest


def test_threads_take_turns_often_and_full_passes_leave_out_what_is_loaded() -> None:
    before, frozen = sys.getswitchinterval(), gc.get_freeze_count()
    try:
        with few_passes():
            prefer_latency()
            assert gc.get_threshold()[0] == 700
        assert sys.getswitchinterval() < 0.001
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < 1_000
    finally:
        gc.unfreeze()
        if frozen:
            gc.freeze()
        sys.setswitchinterval(before)


def test_a_program_is_loaded_with_few_passes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(completion, "serve_scripts", lambda: seen.append(gc.get_threshold()[0]))
    before = gc.get_threshold()
    assert run_here(capsys, "config", "schema")[0] == 0
    assert seen == [200_000]
    assert gc.get_threshold() == before
