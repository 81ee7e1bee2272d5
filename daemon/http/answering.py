"""Answers each request in one form, whatever goes wrong before, in and after those that serve it.

aiohttp answers on its own where a head is malformed, where an `Expect` is not known, and where no handler
serves a path; and it fails over bytes in a head that are no ASCII, as it takes them for text.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from aiohttp import hdrs, web

from motiond.text import shortened

from .routes.exchange import Refused
from .security.connections import Connection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from multidict import CIMultiDictProxy

    Serve = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

log = logging.getLogger(__name__)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self' data: blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Server": "motiond",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""What each answer has for browsers."""
LONGEST_REASON, LONGEST_PATH = 100, 200


class RequestHandler(Connection):
    """A connection that refuses a malformed head in the same form as all else is refused in."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what cannot be served; a malformed head does not show for which path it was."""
        response = super().handle_error(request, status, exc, message)
        if 400 <= status < 500:
            reason = shortened((message or "").partition("\n")[0].rstrip(":."), LONGEST_REASON)
            problem = f"the request's head is malformed; {reason}; correct it"
            response = Refused(status, "INVALID_REQUEST", problem).response()
        else:  # after it was served: its answer could not be written
            response = _failed(request, exc)
        response.headers.update(HEADERS)
        response.force_close()
        return response


def in_one_form(serve: Serve) -> Serve:
    """Return what serves a request whole and answers every failure in the same form."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await serve(request)
        except web.HTTPException as error:
            response = _not_served(request, error)
        except ConnectionError:
            raise  # the client has gone
        except Exception as error:  # noqa: BLE001 - logged, unless the head explains it
            response = _failed(request, error)
        response.headers.update(HEADERS)
        return response

    return answer


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Add what a browser has to refuse."""
    response.headers.update(HEADERS)


def _failed(request: web.BaseRequest, error: BaseException | None) -> web.Response:
    """Return what is wrong with a head that is no text, where that made it fail; else that motiond did."""
    path = request.path[:LONGEST_PATH]
    if isinstance(error, ValueError) and (name := _name_of_no_text(request.headers)) is not None:
        reason = "what stands there is written in ASCII"
        problem = f"{path}: header {name} is no text; {reason}; correct it"
        return Refused(400, "INVALID_REQUEST", problem).response()
    log.error("http: %s %s failed", request.method, request.path, exc_info=error)
    return Refused(500, "INTERNAL", f"{path}: failed inside motiond; the log says more").response()


def _name_of_no_text(headers: CIMultiDictProxy[str]) -> str | None:
    """Return the name of the first header whose value is no ASCII; None where there is none."""
    return next((name for name, value in headers.items() if not value.isascii()), None)


def _not_served(request: web.BaseRequest, error: web.HTTPException) -> web.Response:
    """Return that there is no such path, or not for this method, in the same form as other refusals."""
    what = "no such path" if error.status == 404 else error.reason.lower()
    message = f"{request.path[:LONGEST_PATH]}: {what}; see /api/openapi.json"
    response = Refused(error.status, "INVALID_REQUEST", message).response()
    if allowed := error.headers.get(hdrs.ALLOW):
        response.headers[hdrs.ALLOW] = allowed
    return response
