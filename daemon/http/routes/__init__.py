"""What is served by path."""
