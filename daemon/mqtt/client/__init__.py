"""Connections to MQTT brokers.

- `address`: where the configured broker is, and how to log in there
- `connection`: a connection to it; `asking`: one for a program that asks daemons
- `dialling`: what an attempt to connect meets, and TLS
- `packet_limit`: how long a packet may be, by what the broker states or does
- `certificates`: which of them end soon
- `refusals`: topics on which the broker takes nothing, reported together
- `connection_log`: a connection made, lost and made again, each logged once
- `reasons`: why there is no connection, in words
- `link`: keeps a connection
- `brokers`: which of several brokers is used, and when each is tried again
- `subscriptions`: subscribes, and reports what the broker refuses
"""

from .address import address_of, speaks_5
from .asking import at_broker
from .brokers import EXACTLY_ONCE, Broker, Brokers, MovedOn
from .certificates import CertificateWatch, files_of
from .connection import MqttConnection
from .connection_log import ConnectionLog
from .link import BackOff, Link, heed_cancellation
from .packet_limit import CUT_TO, RAISE_IT, PacketTooLong
from .reasons import NO_RETAINED_WILL, ConnectionUseless, NotConnected, reason_of
from .refusals import REFUSED
from .subscriptions import granted_qos, subscribe, try_to_subscribe

__all__ = [
    "CUT_TO",
    "EXACTLY_ONCE",
    "NO_RETAINED_WILL",
    "RAISE_IT",
    "REFUSED",
    "BackOff",
    "Broker",
    "Brokers",
    "CertificateWatch",
    "ConnectionLog",
    "ConnectionUseless",
    "Link",
    "MovedOn",
    "MqttConnection",
    "NotConnected",
    "PacketTooLong",
    "address_of",
    "at_broker",
    "files_of",
    "granted_qos",
    "heed_cancellation",
    "reason_of",
    "speaks_5",
    "subscribe",
    "try_to_subscribe",
]
