"""The MQTT transport: topics, the connection, the bridge, and the embedded broker."""
