"""Puts the daemon together and serves.

- `daemon`: everything that runs, until it is told to end
- `reload`: takes changed motions, certificates and tokens, and names what needs a restart
- `control_socket`: takes requests that concern the daemon as a whole
- `descriptors`: how many files may be open
- `logs`: the robots' reports in the log
- `systemd`, `status_text`: what systemd is told; what goes on, in one line
- `log_level`: from which level on the daemon logs
"""
