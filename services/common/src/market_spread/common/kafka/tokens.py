"""Tokens of an OAUTHBEARER login, which an endpoint gives for a client's id and secret (RFC 6749, section 4.4)."""

import base64
import json
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from market_spread.common.clock import Clock, SystemClock
from market_spread.common.errors import UsageError

_CLOCK = SystemClock()
_TIMEOUT_S, _BYTES_MAX, _USED_SHARE = 5, 1 << 20, 0.8


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """One client's tokens, each used until most of its time is over. Thread-safe."""

    def __init__(
        self, endpoint: str, client_id: str, secret: str, scope: str | None, ca_file: Path | None, clock: Clock = _CLOCK
    ) -> None:
        """Asks for the first token, so that a wrong secret is told before a broker is. UsageError if there is none.

        ca_file: PEM certificates that the endpoint's is held to; None: the system's.
        """
        self._ca_file, self._clock, self._lock = ca_file, clock, threading.Lock()
        body = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        login = {"Authorization": f"Basic {base64.b64encode(f'{client_id}:{secret}'.encode()).decode()}"}
        self._request = urllib.request.Request(endpoint, urllib.parse.urlencode(body).encode(), login)
        self._token, self._renew_at_ns = self._asked()

    def token(self) -> str:
        """A token that still holds; blocks for 5 s at most. KafkaConnectionError, which is tried again, without one."""
        with self._lock:
            if self._clock.monotonic_ns() >= self._renew_at_ns:
                try:
                    self._token, self._renew_at_ns = self._asked()
                except UsageError as error:
                    raise KafkaConnectionError(str(error)) from error
            return self._token

    def _asked(self) -> tuple[str, int]:
        """A new token, and when to ask for the next."""
        asked_ns = self._clock.monotonic_ns()
        try:
            context = ssl.create_default_context(cafile=self._ca_file)
            with urllib.request.urlopen(self._request, timeout=_TIMEOUT_S, context=context) as response:
                told = json.loads(response.read(_BYTES_MAX))
            return str(told["access_token"]), asked_ns + round(float(told["expires_in"]) * _USED_SHARE * 1e9)
        except urllib.error.HTTPError as error:
            with error:
                reason = f"HTTP {error.code} {error.read(200).decode(errors='replace')!r}"
        except (OSError, ValueError, LookupError, TypeError) as error:
            reason = f"{type(error).__name__}: {error}"
        who, remedy = self._request.full_url, "correct the endpoint, the client's id or its secret"
        raise UsageError(f"kafka_token_endpoint={who!r} gives no token ({reason}); {remedy}")
