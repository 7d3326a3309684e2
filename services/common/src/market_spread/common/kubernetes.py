"""The API server of a Kubernetes, asked by a pod. Without a client library, whose import takes seconds and 90 MB."""

import json
import ssl
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from market_spread.common.config import foreign_environment
from market_spread.common.errors import UnavailableError, UsageError

# Where every pod finds its credentials.
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_SAID_CHARACTERS_MAX = 300


class RefusedError(UnavailableError):
    """The API server answered, with an error. status: that of HTTP."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"the API server answered {status}: {body.strip()[:_SAID_CHARACTERS_MAX]}")
        self.status = status


@dataclass(frozen=True, slots=True)
class ApiServer:
    """The API server at a URL. account: the folder with our token and the server's CA; None: neither is needed."""

    url: str
    account: Path | None = None
    timeout_s: float = 5.0

    @staticmethod
    def of_pod() -> "ApiServer":
        """The one of the cluster that this pod runs in. UsageError outside of one."""
        place = foreign_environment("KUBERNETES_SERVICE_")
        host, port = (place.get(f"KUBERNETES_SERVICE_{name}") for name in ("HOST", "PORT"))
        if not host or not port or not ACCOUNT.is_dir():
            raise UsageError("there is no Kubernetes here; leave MARKET_SPREAD_NODE_NAME unset")
        return ApiServer(f"https://{f'[{host}]' if ':' in host else host}:{port}", ACCOUNT)

    def call(self, method: str, path: str, body: Any = None, *, content_type: str = "application/json") -> Any:
        """The object in the answer. RefusedError if that is an error, UnavailableError if there is none."""
        headers = {"Accept": "application/json", "Content-Type": content_type}
        handlers: list[ProxyHandler | HTTPSHandler] = [ProxyHandler({})]
        data = None if body is None else json.dumps(body).encode()
        try:
            # Both files of the account change while we run.
            if self.account is not None:
                headers["Authorization"] = f"Bearer {(self.account / 'token').read_text('utf-8').strip()}"
                if self.url.startswith("https:"):
                    handlers.append(HTTPSHandler(context=ssl.create_default_context(cafile=self.account / "ca.crt")))
            request = Request(f"{self.url}{path}", data, headers, method=method)
            try:
                with build_opener(*handlers).open(request, timeout=self.timeout_s) as answer:
                    return json.load(answer)
            except HTTPError as error:
                raise RefusedError(error.code, error.read().decode(errors="replace")) from error
        except (OSError, HTTPException, ValueError) as error:
            raise UnavailableError(f"the API server does not answer: {error}") from error
