"""Puts the daemon together and serves."""
