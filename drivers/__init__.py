"""Actuators behind one contract: simulated ones, HEBI modules, and whatever others register."""
