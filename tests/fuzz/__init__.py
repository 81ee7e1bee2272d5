"""Fuzzing of the readers, and of the embedded broker.

- `readers`: what must hold for any file, and the files to begin with
- `broker`: what must hold for any bytes that a client sends
- `edits`: ways to break a text file
- `fuzz`: the command line, which runs atheris
"""
