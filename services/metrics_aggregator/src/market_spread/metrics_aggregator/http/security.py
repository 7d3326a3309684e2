"""What holds for every answer of the web side: it reads only, says so to browsers, and is for our own pages."""

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from ipaddress import ip_address

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}  # fmt: skip
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Hosts:
    """Which hosts a request may name.

    Bound to loopback, only those; bound to other addresses, any, or if some names are allowed, these and addresses: no
    one can let an address point elsewhere.
    """

    def __init__(self, bound_to: str, allowed: Iterable[str] = ()) -> None:
        self._is_loopback = bound_to.startswith("127.") or bound_to.strip("[]") in ("localhost", "::1")
        self.names = (*_LOOPBACK, *(name.lower() for name in allowed))
        self._is_open = not self._is_loopback and len(self.names) == len(_LOOPBACK)

    def accept(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        if self._is_open:
            return True
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(hosts) != 1:
            return False
        name = re.sub(r":[0-9]+$", "", hosts[0]).lower()
        return name in self.names or (not self._is_loopback and _is_address(name))


def guarded(app: ASGIApp, hosts: Hosts) -> ASGIApp:
    """The application behind a guard: GET and HEAD alone, with the security headers.

    A request must name a host that is ours: else a page of another origin, whose name its owner lets point here, could
    read what is served. Loopback's names always are ours.
    """

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await (_refusal(scope, hosts) or app)(scope, receive, partial(_send_with_headers, send))

    return guard


def _refusal(scope: Scope, hosts: Hosts) -> ASGIApp | None:
    if scope["method"] not in ("GET", "HEAD"):
        return JSONResponse({"error": f"{scope['path']} answers GET only"}, 405, headers={"allow": "GET, HEAD"})
    if not hosts.accept(scope["headers"]):
        names = ", ".join(hosts.names)
        return JSONResponse({"error": f"the request names another host; open the page as one of {names}"}, 403)
    return None


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(name.removeprefix("[").removesuffix("]")))
    return False


async def _send_with_headers(send: Send, message: Message) -> None:
    if message["type"] == "http.response.start":
        headers = MutableHeaders(scope=message)
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
    await send(message)
