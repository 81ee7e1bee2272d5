"""Benchmarks: each prints its figures beside a yardstick that was measured in the same run."""
