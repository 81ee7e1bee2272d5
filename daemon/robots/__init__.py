"""The robots: their goals, and the life of their stream processes.

- `registry`: all robots of a daemon
- `member`: one of them, with all that serves it
- `assembly`, `parts`: makes robots of a configuration; what each is made of
- `handlers`: which requests a robot takes, and what it answers
- `session`: what one robot does, and what follows; pure
- `robot`: the shell around its session: its life, what requests wait for, what it reports
- `stream_listener`: takes what its stream process reports to the session
- `goal`, `goal_planner`: a goal, and what the stream process needs for it
- `appointments`: whether the machine's clock is good enough for an appointed start
- `control`: who commands a robot, and what follows when control is lost
- `reservation`: whether it is reserved for a start of its group
- `inactivity`: lets a robot that nobody uses rest
- `held_start`: that start, how far it is, and what hinders it
- `motion_loader`: reads the motions beside everything else
- `learned_limits`: the limits that actuators report, and motions checked again
- `motion_watch`: has them read when files change; `unwatched`: why it cannot
- `uploads`: the folder for motions of clients
- `shared_tracks`: motions in shared memory
- `payloads`, `telemetry_reporter`, `reservation_reporter`, `numbering`: what is reported
- `stream_supervisor`, `stream_process`: keeps a stream process alive; one run of it
- `stream_forks`: starts the process that forks them
"""
