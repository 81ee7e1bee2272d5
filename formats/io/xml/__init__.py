"""XML, read safely and with the line of everything.

- `tree`: safe parsing
- `file`: files that include each other, and the bounds on them together
- `element`: one element, by attribute, text and child; `values`: its numbers and vectors; `poses`
- `slips`: what XML forbids and other readers let pass, fixed with a warning
- `errors`: what to do about each error
"""
