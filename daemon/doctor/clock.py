"""Whether the machine's clock is synchronised, on which appointed starts depend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .report import Check, Verdict

if TYPE_CHECKING:
    from ..clock import ClockMonitor, ClockState

HINT = "run chronyd, and check with `chronyc tracking` that it follows somebody"
APPOINTED = "starts at an appointed time (`start_at`, groups)"


async def check_clock(monitor: ClockMonitor) -> Check:
    """Report how good the clock is, beside what the configuration allows (`max_clock_error_s`)."""
    await monitor.ask()
    state, allowed_s = monitor.state, monitor.max_error_s
    figures: dict[str, float | str | None] = {
        "estimated_error_s": state.estimated_error_s,
        "max_error_s": state.max_error_s,
        "allowed_error_s": allowed_s,
    }
    verdict, hint = Verdict.OK, None
    found = f"synchronised by {state.source}; {_error_of(state)}"
    means = f"{APPOINTED} are as exact as that"
    error_s = state.estimated_error_s
    if not state.synchronised:
        verdict, found, hint = Verdict.WARNING, "not synchronised", HINT
        means = f"{APPOINTED} come as much too early or late as the clock is wrong"
        if allowed_s is not None:
            verdict, means = Verdict.FAILURE, f"{APPOINTED} are refused, as max_clock_error_s is set"
    elif allowed_s is not None and (error_s is None or error_s > allowed_s):
        verdict = Verdict.FAILURE
        means = f"{APPOINTED} are refused: max_clock_error_s wants it within {1e3 * allowed_s:g} ms"
        hint = "let chrony keep its time, which estimates the error, or raise max_clock_error_s"
    return Check(check="clock", verdict=verdict, found=found, means=means, hint=hint, figures=figures)


def _error_of(state: ClockState) -> str:
    error_s, most_s = state.estimated_error_s, state.max_error_s
    probably = "nobody estimates its error" if error_s is None else f"off by about {1e3 * error_s:.3g} ms"
    return probably if most_s is None else f"{probably}, {1e3 * most_s:.3g} ms at most"
