"""Behaviour of the interpreter once it serves."""

from __future__ import annotations

import gc
import sys

from motiond.daemon.service.daemon import prefer_latency


def test_threads_take_turns_often_and_full_passes_leave_out_what_is_loaded() -> None:
    interval, threshold, frozen = sys.getswitchinterval(), gc.get_threshold(), gc.get_freeze_count()
    try:
        prefer_latency()
        assert gc.get_threshold()[0] == 700
        assert sys.getswitchinterval() < 0.001
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < 1_000
    finally:
        gc.unfreeze()
        if frozen:
            gc.freeze()
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
