"""Reads the ring: samples, timing, traces."""
