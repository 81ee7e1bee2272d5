"""Asks a daemon, over MQTT."""
