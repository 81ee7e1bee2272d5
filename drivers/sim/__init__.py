"""Simulated actuators that move, and fail, as real ones do."""
