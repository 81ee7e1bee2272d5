"""Behaviour of the interpreter once it serves."""

from __future__ import annotations

import gc
import sys

from motiond.daemon.service.interpreter import prefer_latency


def test_threads_take_turns_often_and_full_passes_leave_out_what_is_loaded() -> None:
    before = sys.getswitchinterval()
    try:
        prefer_latency()
        assert sys.getswitchinterval() < 0.001
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < 1_000
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)
