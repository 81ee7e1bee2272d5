"""Puts the daemon together and serves.

- `daemon`: everything that runs, until it is asked to end
- `reload`: takes changed motions, certificates and tokens, and names what needs a restart
- `control_socket`: takes requests that concern the daemon as a whole
- `descriptors`: how many files may be open
- `logs`: the robots' reports in the log
- `systemd`, `status_text`: notifications to systemd; the state in one line
- `log_level`: from which level on the daemon logs
"""
