"""The broker inside the daemon: MQTT 3.1.1 (OASIS Standard, 29 October 2014) over TCP.

- `server`: listens, and ends with its context
- `connection`: bytes in and out, in turns that hold up nobody; how many connections there may be
- `client`: what a client may send, and what it is answered
- `router`: who receives what: sessions, subscriptions, retained messages
- `session`: what is kept of one client, and its messages in flight
- `outbox`: what waits for one client, fairly by publisher
- `matching`: topics, filters, and what matches
- `packets`: bytes to packets and back
- `login`: who may connect
- `limits`: how much of everything is kept
"""

from .limits import Limits
from .login import Login, login_of
from .server import BrokerError, EmbeddedBroker

__all__ = ["BrokerError", "EmbeddedBroker", "Limits", "Login", "login_of"]
