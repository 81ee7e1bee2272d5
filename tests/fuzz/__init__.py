"""Fuzzing of the readers: what must hold whatever a file contains, files to begin with, and atheris."""
