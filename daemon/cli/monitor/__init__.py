"""`motiond monitor`, which shows one robot, with keys to stop it.

- `command`: the subcommand; `screen`: what it shows; `robot_view`: what is known of a robot
- `commander`: what keys ask for; `terminal`: keys; `sparkline`: numbers over time
"""

from .command import app

__all__ = ["app"]
