"""What the processes of motiond write to stderr.

- `journal`: log records as entries of systemd's journal
- `lines`: log records as lines that nothing quoted in them can forge
- `rate_limited`: the log of refusals, which no client can flood
- `terminal`: whether there is somebody who may close it
"""
