"""Fuzzing of the readers.

- `readers`: what must hold for any file, and the files to begin with
- `edits`: ways to break a text file
- `fuzz`: the command line, which runs atheris
"""
