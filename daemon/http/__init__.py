"""The page and the HTTP interface: the same requests and reports as over MQTT, without a broker.

- `server`: listens, and keeps trying where it cannot
- `endpoint`: serves the application at an address
- `application`: which path leads where
- `answering`: answers each request in one form, whatever goes wrong
- `openapi`, `typescript`: all of it as documents
- `served`: what a server serves, and within which bounds
- `security`: who is let in, how many, and with which certificate
- `routes`: robots, groups, motions, models, and the page's own files
- `live`: reports and requests over WebSockets
- `metrics`: what Prometheus scrapes
"""

from .served import Bounds, HttpError, Served
from .server import HttpServer

__all__ = ["Bounds", "HttpError", "HttpServer", "Served"]
