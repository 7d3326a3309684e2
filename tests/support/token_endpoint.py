"""A token endpoint over TLS: the protocol by oauthlib's server, the tokens signed by the openssl of the system."""

import base64
import json
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from oauthlib.oauth2 import BackendApplicationServer, RequestValidator

from tests.support.certificates import Authority

CLIENT = "spread"
SECRET = 'client;secret of "spread"'
SCOPE = "load-test"
AUDIENCE = "kafka"


class TokenEndpoint:
    """`start`, then `stop`. asked: each answer's HTTP status; lifetime_s, audience: of tokens from now on.

    instead: what it answers in place of what the protocol says: a status, headers and a body.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        shown = Authority.make(folder / "authority").issue(folder / "shown")
        self.ca_file = shown / "ca.crt"
        self.secret_file = folder / "secret"
        self.secret_file.write_text(SECRET + "\n")
        self.jwks_file = folder / "jwks.json"
        self.asked: list[int] = []
        self.lifetime_s, self.audience = 3600, AUDIENCE
        self.instead: tuple[int, dict[str, str], str] | None = None
        self._key = folder / "signing.key"
        self._openssl("genrsa", "-out", self._key, "2048")
        modulus = self._openssl("rsa", "-in", self._key, "-noout", "-modulus").decode().strip().partition("=")[2]
        key = {"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "e": "AQAB", "n": _text(bytes.fromhex(modulus))}
        self.jwks_file.write_text(json.dumps({"keys": [key]}))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(shown / "tls.crt", shown / "tls.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, name="token-endpoint", daemon=True)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.server_port}/oauth2/token"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def _token(self, request: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": "tests",
            "sub": request.client_id,
            "aud": self.audience,
            "iat": now,
            "exp": now + self.lifetime_s,
        }
        parts = ({"alg": "RS256", "typ": "JWT", "kid": "1"}, {**claims, "scope": " ".join(request.scopes)})
        signed = ".".join(_text(json.dumps(part).encode()) for part in parts)
        return f"{signed}.{_text(self._openssl('dgst', '-sha256', '-sign', self._key, given=signed.encode()))}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self
        server = BackendApplicationServer(
            _Clients(), token_generator=self._token, token_expires_in=lambda _: endpoint.lifetime_s
        )

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                headers, answer, status = server.create_token_response(
                    endpoint.url + self.path, "POST", body, dict(self.headers)
                )
                status, headers, answer = endpoint.instead or (status, headers, answer)
                endpoint.asked.append(status)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(answer))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.encode())

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _openssl(self, *words: str | Path, given: bytes = b"") -> bytes:
        command = ["openssl", *map(str, words)]
        return subprocess.run(command, input=given, check=True, capture_output=True, timeout=60).stdout


class _Clients(RequestValidator):  # type: ignore[misc]
    """The one client, by its id and secret."""

    def authenticate_client(self, request: Any, *_: Any, **__: Any) -> bool:
        kind, told = str(request.headers.get("Authorization", " ")).split(" ", 1)
        client, secret = f"{base64.b64decode(told).decode()}:".split(":", 1)
        request.client, request.client_id = SimpleNamespace(client_id=client), client
        return (kind, client, secret) == ("Basic", CLIENT, SECRET + ":")

    def validate_grant_type(self, client_id: str, grant_type: str, *_: Any, **__: Any) -> bool:
        return grant_type == "client_credentials"

    def get_default_scopes(self, *_: Any, **__: Any) -> list[str]:
        return []

    def validate_scopes(self, client_id: str, scopes: list[str], *_: Any, **__: Any) -> bool:
        return set(scopes) <= {SCOPE}

    def save_token(self, *_: Any, **__: Any) -> None:
        pass


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
