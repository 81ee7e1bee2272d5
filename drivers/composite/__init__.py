"""Several drivers as one robot's."""
