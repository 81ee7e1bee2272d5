"""`python -m motiond.daemon.cli`: the command line."""

from .main import main

main()
