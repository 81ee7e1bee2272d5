"""Whether a start can be appointed by this machine's clock: by a `start_at`, or for a group of robots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...api import RequestError

if TYPE_CHECKING:
    from ...clock import ClockMonitor, ClockState

TIME_MEND = "let chrony keep its time, or raise max_clock_error_s"


def checked_clock(where: str, clock: ClockMonitor) -> ClockState:
    """Return the state of a clock that is good enough for an appointed time.

    - `where`: whose start it is, for the message

    Raises RequestError: CLOCK, if the configuration sets a limit and the clock is not synchronised, or its
    estimated error is beyond the limit or unknown.
    """
    state, most_s = clock.state, clock.max_error_s
    if most_s is None:
        return state
    error_s = state.estimated_error_s
    if not state.synchronised:
        problem = "this machine's clock is not synchronised"
    elif error_s is None:
        problem = "nobody estimates the error of this machine's clock"
    elif error_s > most_s:
        problem = f"this machine's clock is off by about {error_s:.3g} s"
    else:
        return state
    reason = f"an appointed time wants it within {most_s:g} s (max_clock_error_s)"
    raise RequestError(
        "CLOCK", where, problem, reason, TIME_MEND, clock=state.payload(), max_clock_error_s=most_s
    )
