"""The daemon at its broker: requests in, reports out.

- `bridge`: carries requests in and reports out, over two connections
- `main_session`: the one for reports and stops
- `requests_session`: the one for all other requests
- `heartbeat`: whether what the daemon publishes comes back to it
- `stops`: served as they arrive, and which requests they have overtaken
- `responder`: serves a request and sends its answer
- `reports_out`: publishes reports
- `fitting`: shortens what is too long
- `published`: what was published, and whether it comes back or is overwritten
- `results`: results that could not be published yet
- `home_assistant`: MQTT discovery of the robots for Home Assistant
- `claims`: who a daemon is, and which daemon has which robot's name
"""

from .bridge import MqttBridge
from .heartbeat import beat_s
from .home_assistant import discovery_topic
from .main_session import decode
from .reports_out import qos_of

__all__ = [
    "MqttBridge",
    "beat_s",
    "decode",
    "discovery_topic",
    "qos_of",
]
