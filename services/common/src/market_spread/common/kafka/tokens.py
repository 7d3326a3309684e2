"""Tokens of an OAUTHBEARER login, which an endpoint gives for a client's id and secret (RFC 6749, section 4.4)."""

import base64
import ssl
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from market_spread.common.clock import SystemClock
from market_spread.common.documents import json_object
from market_spread.common.errors import BrokerAwayError, MarketSpreadError, UsageError

_TIMEOUT_S, _BYTES_MAX, _USED_SHARE = 5, 1 << 20, 0.8
_AWAY: type[MarketSpreadError] = BrokerAwayError


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """One client's tokens, each used until most of its time is over. For one thread, that of the client."""

    def __init__(self, endpoint: str, client_id: str, secret: str, scope: str | None, ca_file: Path | None) -> None:
        """Asks for the first token, so that a wrong secret is told before a broker is.

        ca_file: as of KafkaSecurity. UsageError if the endpoint gives no token, BrokerAwayError if it does not answer.
        """
        self._endpoint, self._ca_file, self._clock = endpoint, ca_file, SystemClock()
        self._body = urlencode({"grant_type": "client_credentials"} | ({"scope": scope} if scope else {}))
        login = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
        self._headers = {"Authorization": f"Basic {login}", "Content-Type": "application/x-www-form-urlencoded"}
        self._token, self._renew_at_ns = self._asked()

    def token(self) -> str:
        """A token that still holds; blocks for 5 s at most. KafkaConnectionError, which is tried again, without one."""
        if self._clock.monotonic_ns() >= self._renew_at_ns:
            try:
                self._token, self._renew_at_ns = self._asked()
            except MarketSpreadError as error:
                raise KafkaConnectionError(str(error)) from error
        return self._token

    def _asked(self) -> tuple[str, int]:
        """A new token, and when to ask for the next: each time, if it is not said how long it holds."""
        asked_ns, at, kind = self._clock.monotonic_ns(), urlsplit(self._endpoint), _AWAY
        try:
            tls: Any = {"context": ssl.create_default_context(cafile=self._ca_file)} if at.scheme == "https" else {}
            # It follows no redirection: the secret is for this endpoint alone.
            with closing((HTTPSConnection if tls else HTTPConnection)(at.netloc, timeout=_TIMEOUT_S, **tls)) as asked:
                asked.request("POST", at._replace(scheme="", netloc="").geturl() or "/", self._body, self._headers)
                answer = asked.getresponse()
                text = answer.read(_BYTES_MAX)
            kind = _AWAY if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR else UsageError
            if answer.status != HTTPStatus.OK:
                raise ValueError(f"HTTP {answer.status} {text[:200].decode(errors='replace')!r}")
            told = json_object(text)
            return str(told["access_token"]), asked_ns + round(told.get("expires_in", 0) * _USED_SHARE * 1e9)
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
            what = f"kafka_token_endpoint={self._endpoint!r} gives no token ({error})"
            raise kind(f"{what}; correct it, the client's id or its secret") from error
