"""MQTT: connections to brokers, and what goes over them.

- `topics`: how topics are spelled
- `client`: connections to brokers
- `bridge`: requests in, reports out
- `forget`: clears what a broker keeps of a robot that is gone
- `asyncapi`: all topics and messages as a document
"""
