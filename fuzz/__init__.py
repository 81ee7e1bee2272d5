"""Fuzzing of the readers, of configurations, of the embedded broker, and of a daemon by requests.

- `readers`: what must hold for any file, and the files to begin with
- `config`: what must hold for any configuration
- `broker`: what must hold for any bytes that a client sends
- `edits`: ways to break a text file
- `fuzz`: the command line, which runs atheris
- `hostile`: requests that somebody hostile could send
- `requests`: sends them to a daemon whose robots hold, and judges what came of it
"""
