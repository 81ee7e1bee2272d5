"""A first configuration: what is found, what is chosen, how it is written, and the check before it is.

- `hardware`: actuators that answer, without moving any
- `files`: robot descriptions and motions in a folder
- `choices`: what a configuration is made of
- `document`: the configuration as text, with comments
- `proof`: writes it once the daemon's own checks have passed it
"""
