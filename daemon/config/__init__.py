"""The configuration: one YAML file, checked whole."""
