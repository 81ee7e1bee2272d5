"""The robots: their goals, and the life of their stream processes.

- `registry`: all robots of a daemon
- `member`: one of them, with all that serves it
- `assembly`, `parts`: makes robots of a configuration; what each is made of
- `handlers`: which requests a robot takes, and what it answers
- `robot`: one robot: its life, what it is told to do, what it reports
- `stream_listener`: what follows from what its stream process does
- `goal_runner`, `goal_queue`: what plays and what waits
- `goal`, `goal_planner`: a goal, and what the stream process needs for it
- `appointments`: whether the machine's clock is good enough for an appointed start
- `control`: who commands a robot, and what follows when control is lost
- `reservation`: whether it is reserved for a start of its group
- `inactivity`: lets a robot that nobody uses rest
- `held_start`: that start, how far it is, and what hinders it
- `readiness`: what a robot's state forbids
- `recovery`: back from an emergency stop, a fault or a loss; whether a stop was obeyed
- `motion_loader`: reads the motions beside everything else
- `learned_limits`: the limits that actuators report, and motions checked again
- `motion_watch`: has them read when files change; `unwatched`: why it cannot
- `uploads`: the folder for motions of clients
- `shared_tracks`: motions in shared memory
- `status`: what the stream process has told last
- `payloads`, `telemetry_reporter`, `reservation_reporter`, `numbering`: what is reported
- `shutdown`: what a robot does when the daemon ends
- `stream_supervisor`, `stream_process`: keeps a stream process alive; one run of it
- `stream_forks`: starts the process that forks them
"""
