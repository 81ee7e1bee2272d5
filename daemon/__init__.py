"""The running program: plans motions, streams them, and is watched and commanded over MQTT."""
