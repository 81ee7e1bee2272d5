"""Groups of robots, on one daemon or many, that start together.

- `coordinator`: starts a group, and sends commands to all of it
- `member`: takes part in starts, for the robots of one daemon
- `brokers`: at which of several brokers robots are, and stops at all of them
- `gateway`: the page and HTTP for all robots at a broker
"""
