"""What crosses the border between the daemon and a stream process.

- `messages`: commands and notices
- `channel`: the socket pair that carries them
- `forks`: requests for stream processes, and what becomes of these
- `ring`: the records of the ticks, in shared memory
- `states`: the states of a robot, and how a goal may end
"""
