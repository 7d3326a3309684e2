"""How Kafka is spoken to where it is not open to all: TLS, logins, certificates; secrets in files, never values.

One description serves our own client and the JVM's, so that what works for the one works for the other.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from market_spread.common.errors import usage_errors

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_LOGIN_MODULES: Mapping[str, str] = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
MECHANISMS = tuple(_LOGIN_MODULES)
_LOGIN = ("kafka_sasl_mechanism", "kafka_username", "kafka_password_file")
_TLS = ("kafka_ca_file", "kafka_certificate_file", "kafka_key_file")
_TOKENS = ("kafka_token_endpoint", "kafka_token_scope")
_TOKENS_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
# The client's secret goes there: to another machine only by TLS.
_ENDPOINT = re.compile(r"(https://|http://(localhost|127\.\d+\.\d+\.\d+|\[::1\])(?=[:/]))[^\s\"'\\@]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSecurity:
    """How to speak to a broker, as its environment tells a process; open to all without any of it.

    Files are read when a client is made, so that a changed password needs no new value.
    """

    kafka_security_protocol: Annotated[str, f"One of {', '.join(PROTOCOLS)}."] = "PLAINTEXT"
    kafka_sasl_mechanism: Annotated[str | None, f"Of a login: one of {', '.join(MECHANISMS)}."] = None
    kafka_username: Annotated[str | None, "Of a login; with OAUTHBEARER the client's id."] = None
    kafka_password_file: Annotated[Path | None, "Of a login, or the client's secret; a last line break is cut."] = None
    kafka_token_endpoint: Annotated[str | None, "URL that gives OAUTHBEARER's tokens (client credentials)."] = None
    kafka_token_scope: Annotated[str | None, "What such a token is asked for; unset: the endpoint decides."] = None
    kafka_ca_file: Annotated[Path | None, "PEM, to verify broker and endpoint with; unset: the system's."] = None
    kafka_certificate_file: Annotated[Path | None, "PEM, for brokers that ask for one."] = None
    kafka_key_file: Annotated[Path | None, "Of that certificate: PEM, PKCS #8, not encrypted."] = None

    def __post_init__(self) -> None:
        if errors := self.errors():
            raise ValueError("; ".join(errors))

    @property
    def has_login(self) -> bool:
        return self.kafka_security_protocol.startswith("SASL_")

    @property
    def has_tls(self) -> bool:
        return self.kafka_security_protocol.endswith("SSL")

    @property
    def has_tokens(self) -> bool:
        return self.has_login and self.kafka_sasl_mechanism == "OAUTHBEARER"

    def errors(self) -> list[str]:
        """What is wrong with it, each a sentence. A subclass that checks more begins its list with its base's."""
        protocol, mechanism = self.kafka_security_protocol, self.kafka_sasl_mechanism
        if protocol not in PROTOCOLS:
            return [f"kafka_security_protocol={protocol!r}; use one of {', '.join(PROTOCOLS)}"]
        by_protocol, by_login = f"kafka_security_protocol={protocol}", f"kafka_sasl_mechanism={mechanism}"
        uses = dict.fromkeys(_LOGIN, (self.has_login, by_protocol)) | dict.fromkeys(_TLS, (self.has_tls, by_protocol))
        errors = []
        for name, (is_used, by) in (uses | dict.fromkeys(_TOKENS, (self.has_tokens, by_login))).items():
            if is_used and name in (*_LOGIN, "kafka_token_endpoint") and not getattr(self, name):
                errors.append(f"{name} is not set; {by} needs it")
            elif not is_used and getattr(self, name) is not None:
                errors.append(f"{name} is set, but {by} does not use it; leave one of them out")
        if (endpoint := self.kafka_token_endpoint) and not _ENDPOINT.fullmatch(endpoint):
            errors.append(f"kafka_token_endpoint={endpoint!r}; use an https URL, since the client's secret goes there")
        if self.has_login and mechanism is not None and mechanism not in MECHANISMS:
            errors.append(f"kafka_sasl_mechanism={mechanism!r}; use one of {', '.join(MECHANISMS)}")
        if self.has_tls and (self.kafka_certificate_file is None) != (self.kafka_key_file is None):
            errors.append("kafka_certificate_file and kafka_key_file go together; give both or none")
        return errors

    def client_options(self) -> dict[str, object]:
        """The settings of kafka-python's clients. UsageError if a file cannot be read."""
        options: dict[str, object] = {"security_protocol": self.kafka_security_protocol}
        files = (self.kafka_ca_file, self.kafka_certificate_file, self.kafka_key_file)
        for name, path in zip(("ssl_cafile", "ssl_certfile", "ssl_keyfile"), files, strict=True):
            if path is not None:
                _text(path)
                options[name] = str(path)
        if self.has_login:
            user, password = str(self.kafka_username), self._password()
            options |= {"sasl_mechanism": self.kafka_sasl_mechanism}
            if self.has_tokens:
                from market_spread.common.kafka.tokens import Tokens  # who has no Kafka client reads this module, too

                endpoint, scope = str(self.kafka_token_endpoint), self.kafka_token_scope
                options["sasl_oauth_token_provider"] = Tokens(endpoint, user, password, scope, self.kafka_ca_file)
            else:
                options |= {"sasl_plain_username": user, "sasl_plain_password": password}
        return options

    def kafka_java_options(self) -> dict[str, str]:
        """The same of Kafka's own clients, nothing for PLAINTEXT; certificates as texts: executors have no files."""
        if self.kafka_security_protocol == "PLAINTEXT":
            return {}
        options = {"security.protocol": self.kafka_security_protocol}
        if self.kafka_ca_file is not None:
            options |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _text(self.kafka_ca_file)}
        if self.has_login:
            user, password = str(self.kafka_username), self._password()
            login = {"username": user, "password": password}
            mechanism = str(self.kafka_sasl_mechanism)
            if self.has_tokens:
                trusted = {name: value for name, value in options.items() if name.startswith("ssl.")}
                scope = {"scope": self.kafka_token_scope} if self.kafka_token_scope else {}
                login = {"clientId": user, "clientSecret": password, **scope, **trusted}
                options["sasl.oauthbearer.token.endpoint.url"] = str(self.kafka_token_endpoint)
                options["sasl.login.callback.handler.class"] = _TOKENS_HANDLER
            # Java's login configuration quotes as JSON does, but for control characters other than tabs and line ends.
            told = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in login.items())
            options |= {
                "sasl.mechanism": mechanism,
                "sasl.jaas.config": f"{_LOGIN_MODULES[mechanism]} required {told};",
            }
        if self.kafka_certificate_file is not None and self.kafka_key_file is not None:
            chain, key = _text(self.kafka_certificate_file), _text(self.kafka_key_file)
            options |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
        return options

    def java_flags(self) -> str:
        """What a JVM needs on its command line for these options: Kafka's clients ask no other endpoint."""
        option = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls"
        return f"{option}={self.kafka_token_endpoint}" if self.has_tokens else ""

    def _password(self) -> str:
        assert self.kafka_password_file is not None
        return _text(self.kafka_password_file).removesuffix("\n").removesuffix("\r")


def _text(path: Path) -> str:
    with usage_errors(f"{path} cannot be read", "name a file that this process may read"):
        return path.read_text("utf-8")


PLAINTEXT = KafkaSecurity()
