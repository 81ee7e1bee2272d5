"""The implementation of the pytest plugin, which runs motiond as a program and imports nothing of it."""
