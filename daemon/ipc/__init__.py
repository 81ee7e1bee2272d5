"""What crosses the border between processes of one machine: the daemon, its stream processes, its clients.

- `messages`: commands and notices
- `channel`: the socket pair that carries them
- `forks`: requests for stream processes, and what becomes of these
- `stream_forks`: starts the process that forks them
- `ring`: the records of the ticks, in shared memory
- `listener`: takes connections
- `states`: the states of a robot, and how a goal may end
"""
