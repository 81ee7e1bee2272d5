"""Puts the daemon together and serves.

- `daemon`: everything that runs, until it is asked to end
- `reload`: takes changed motions, certificates and tokens, and names what needs a restart
- `control_socket`: takes requests that concern the daemon as a whole
- `logs`: the robots' reports in the log, and from which level on it is written
- `systemd`: messages to systemd; what goes on, in one line
"""

from .daemon import serve

__all__ = ["serve"]
