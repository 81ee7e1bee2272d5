"""Robot descriptions and motion files, read into neutral types."""
