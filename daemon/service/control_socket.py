"""Takes requests that concern the daemon as a whole, from programs of this machine.

Root may send them, the daemon's own user, and the owner of the configuration.

They come over a socket and not over MQTT: a configuration that names another broker is to be read as well,
and whoever may move a robot need not be one who may change what it is. Stops are taken here as well: whoever
sends one may find no broker.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from motiond.text import listed, nearest, shortened

from ..api import RawRequest
from ..ipc.control import LONGEST_REQUEST, Refused, address_of
from ..ipc.listener import listen_unix
from ..ipc.peers import believed_users, holder_of, named_user, peer_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from ..api import Dispatcher

    Act = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]

log = logging.getLogger(__name__)

MOST_CLIENTS = 8
ASK_WITHIN_S = 5.0
TRY_AGAIN_S = 1.0
SERVED = "`motiond reload`, `motiond log-level` and stops of this machine"


class ControlSocket:
    """Serves the requests to one daemon.

    - `config`: the daemon's configuration, by which programs find it
    - `acts`: what is done for each verb; it gets the other keys of the request, and raises `Refused`
    """

    def __init__(self, config: Path, acts: Mapping[str, Act]) -> None:
        self._config = config
        self._acts = acts
        self._served: Counter[bool] = Counter()

    async def run(self) -> NoReturn:
        """Serve until cancelled; where another daemon of this configuration still does, try again."""
        told = ""
        while True:
            try:
                listener = await listen_unix(address_of(self._config), self._protocol, name="control")
            except OSError as error:
                reason = self._why_unserved(error)
                if reason != told:
                    log.warning("%s: %s are not served; %s; tried again", self._config, SERVED, reason)
                told = reason
                await asyncio.sleep(TRY_AGAIN_S)
                continue
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                listener.close()

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(LONGEST_REQUEST), self._serve)

    def _why_unserved(self, error: OSError) -> str:
        """Return why the socket cannot be bound, with who has bound it."""
        holder = holder_of(address_of(self._config)) if error.errno == errno.EADDRINUSE else None
        if holder is None:
            return os.strerror(error.errno or 0)
        hint = "end it" if holder.user in believed_users(self._config) else "it is no daemon of yours; end it"
        return f"{holder} has bound the socket; {hint}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request; nothing that is asked here ends the daemon."""
        connection: socket.socket = writer.get_extra_info("socket")
        user = peer_of(connection).user
        may_ask = user in believed_users(self._config)
        self._served[may_ask] += 1
        try:
            if self._served[may_ask] <= MOST_CLIENTS or may_ask:
                writer.write(orjson.dumps(await self._answer(reader, user, may_ask=may_ask)) + b"\n")
                async with asyncio.timeout(ASK_WITHIN_S):
                    await writer.drain()
        except (ConnectionError, TimeoutError):
            if may_ask:  # others may come and go as often as they like
                log.info("control: whoever asked has not waited for the answer")
        except Exception:
            log.exception("control: failed inside motiond")
        finally:
            self._served[may_ask] -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, user: int, *, may_ask: bool) -> dict[str, Any]:
        try:
            request = await _read(reader)
            if not may_ask:
                problem = f"user {named_user(user)} may not ask"
                reason = "root may, the user that the daemon runs as, and the owner of its configuration"
                return _refused(f"control: {problem}; {reason}; use sudo")
            if self._served[True] > MOST_CLIENTS:
                return _refused(f"control: {MOST_CLIENTS} requests are being served; wait for their answers")
            return {"status": "ok", "data": await self._act(request)}
        except Refused as error:
            return _refused(str(error))

    async def _act(self, request: dict[str, Any]) -> dict[str, Any]:
        verb = str(request.pop("verb", ""))
        if verb not in self._acts:
            problem, reason = f"control: no verb '{shortened(verb, 60)}'", f"there are {listed(self._acts)}"
            hint = nearest(verb, self._acts)
            raise Refused("; ".join(part for part in (problem, reason, hint) if part))
        return await self._acts[verb](request)


async def serve_stop(dispatcher: Dispatcher, verb: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Stop the request's `robot`, as a request over MQTT does, and return the data of the answer.

    Raises Refused if the robot does not stop, or there is none of that name.
    """
    raw = RawRequest(str(request.get("robot", "")), verb, b"", caller="control")
    answer = orjson.loads(await dispatcher.answer(raw))
    if answer["status"] != "ok":
        raise Refused(answer["error"])
    data: dict[str, Any] = answer["data"]
    return data


def _refused(message: str) -> dict[str, Any]:
    return {"status": "error", "error": message}


async def _read(reader: asyncio.StreamReader) -> dict[str, Any]:
    try:
        async with asyncio.timeout(ASK_WITHIN_S):
            request = orjson.loads(await reader.readline())
    except (TimeoutError, ValueError) as error:  # too long a line is a ValueError as well
        problem, hint = "no line of JSON", f"send one of at most {LONGEST_REQUEST} bytes"
        raise Refused(f"control: {problem}; {str(error) or 'none came'}; {hint}") from error
    if not isinstance(request, dict):
        raise Refused("control: the request is no JSON object; put keys and values in { }")
    return request
