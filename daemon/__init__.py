"""The running program: plans motions, streams them, and is watched and commanded over MQTT and HTTP.

From the top floor to the ground; each imports only from those below it:

- `cli`: the command line and the demonstration
- `service`: puts the daemon together and serves; `tools`: what needs no daemon; `doctor`: looks at
  the machine
- `fleet`: robots of many daemons, started together
- `robots`: goals and the life of stream processes; `client`: asks a daemon
- `mqtt`, `http`: the transports; `broker`: the embedded MQTT broker; `planning`: checked setpoints;
  `telemetry`: reads the ring; `stream`: the real-time process
- `api`: requests and reports; `ipc`: what crosses the process border; `joints`
- `trajectory`: rows, passes and the clock over them; `config`: the configuration; `log`: lines on stderr

Apart stands `testing`, the pytest plugin.
"""
