"""The MQTT transport.

- `topics`: how topics are spelled
- `connection`: clients for the configured broker
- `bridge`: carries requests in and reports out
- `broker`: the embedded broker
"""
