"""The page and the HTTP interface for all robots at a broker, in a program that has none of its own."""

from .gateway import Gateway
from .server import FleetServer, ended_by_signals

__all__ = ["FleetServer", "Gateway", "ended_by_signals"]
