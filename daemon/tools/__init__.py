"""What needs no daemon: check, dry run, convert, describe, plot."""
