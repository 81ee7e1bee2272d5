"""The contract of drivers as a suite of tests, for authors of drivers.

Every public name is imported on first use, as the suite needs pytest and numpy.

contract      the tests
rig           what the tests need for one back end
clock         a clock that only tests move
suite         the tests for the driver that the command line names
command_line  the rig for that driver
plugin        the options of pytest, and the suite among its tests
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clock import Clock
    from .contract import DriverContract
    from .rig import ACTUATORS, LIFETIME_S, TICK_S, RealTimeRig, Rig

__all__ = ["ACTUATORS", "LIFETIME_S", "TICK_S", "Clock", "DriverContract", "RealTimeRig", "Rig"]
_HOMES = ("clock", "rig", "contract")


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    homes = (import_module(f"{__name__}.{home}") for home in _HOMES)
    value = globals()[name] = next(getattr(home, name) for home in homes if hasattr(home, name))
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
