"""The subcommands that ask a daemon, a fleet or a broker.

- `play`, `playback`: those that set a robot going, and the options of all that play motions
- `robots`: the others that ask about one robot or all; `log_level`: the one about a daemon as a whole
- `fleet`: those for groups; `fleet_view`, `fleet_table`: those that show all robots at a broker
- `forget`: the one for a robot that is gone
- `broker`: how these find the broker; `request`: how they ask; `stopping`: how they stop a robot
"""
