"""Turns motion files into checked setpoints, before anything moves."""
