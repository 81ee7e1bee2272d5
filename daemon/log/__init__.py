"""What the processes of motiond write to stderr.

- `lines`: log records as lines that nothing quoted in them can forge
"""
