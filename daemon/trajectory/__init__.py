"""Rows of setpoints, passes over them, and the clock that moves along."""
