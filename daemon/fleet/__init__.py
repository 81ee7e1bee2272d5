"""Groups of robots, on one daemon or many: all of a group start at one appointed time, or none does.

The coordinator, which may die at any moment:

- `conversation`: one connection on which many robots are asked at once
- `roster`: which robots and groups a broker knows, and who of them is there
- `leases`: control of the robots, for as long as the coordinator needs it
- `coordinator`: prepares all, commits or lets go
- `appointment`: the time of the first row
- `watch`: follows each member to its end
- `gathering`: commands to a whole group, and the gathered answers
- `playing`: a start from the command line
- `overview`: all robots that a broker knows
- `desk`: the same for the HTTP interface

The daemon of a member:

- `listener`: its connection for starts; hears commits, and what members tell
- `heard`: what was heard of the robots of a start
- `group_start`: one start in this daemon, with its two barriers

A page of all robots:

- `uplink`: one connection to the broker, made anew whenever it breaks
- `remote_reports`: what robots report, handed on as if they were here
- `remote_robots`: passes requests on, and answers back
- `remote_files`: says where files of motions are to be asked for
- `site`: these together
- `serving`: HTTP before them
"""
