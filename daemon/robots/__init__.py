"""The robots: their goals, and the life of their stream processes."""
