"""Names in requests that clients need before they know what any request holds, which takes long to load."""

from __future__ import annotations

FLEET = "fleet"
"""Stands where a robot's name does in requests to all robots that they name."""
STOPS = ("stop", "estop")
"""The verbs that stop a robot: those of `requests.VERBS` that say so."""
