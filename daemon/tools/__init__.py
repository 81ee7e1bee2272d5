"""What needs no daemon.

- `check`: whether motions fit robots
- `dry_run`: a play on simulated actuators and virtual time
- `convert`: from one motion file to another
- `describe`, `describe_tables`: what is in a file, for programs and for people
- `plot`, `plot_fonts`: a motion as a picture, and fonts for the names in it
- `recordings`: what is in recordings, as tables, pictures and motion files
- `tables`: tables for a terminal
- `example`: the example that is installed, laid down to begin with
- `batch`: work on many files
"""
