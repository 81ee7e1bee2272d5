"""YAML, read safely and with the line of everything.

- `tree`: a document as a tree, bounded for any input
- `errors`: what libyaml's errors mean to who wrote the file
"""
