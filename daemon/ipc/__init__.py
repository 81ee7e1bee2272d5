"""What crosses the border between the daemon and a stream process."""
