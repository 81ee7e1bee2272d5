"""The command line, and the demonstration."""
