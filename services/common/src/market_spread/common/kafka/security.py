"""How Kafka is spoken to where it is not open to all: TLS, a user and a password, certificates; files, never values.

One description serves our own client and the JVM's, so that what works for the one works for the other.
"""

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
}
MECHANISMS = tuple(_LOGIN_MODULES)
_LOGIN = ("kafka_sasl_mechanism", "kafka_username", "kafka_password_file")
_TLS = ("kafka_ca_file", "kafka_certificate_file", "kafka_key_file")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSecurity:
    """How to speak to a broker, as its environment tells a process; open to all without any of it.

    Files are read when a client is made, so that a changed password needs no new value.
    """

    kafka_security_protocol: Annotated[str, f"One of {', '.join(PROTOCOLS)}."] = "PLAINTEXT"
    kafka_sasl_mechanism: Annotated[str | None, f"Of a login: one of {', '.join(MECHANISMS)}."] = None
    kafka_username: Annotated[str | None, "Of a login."] = None
    kafka_password_file: Annotated[Path | None, "Of a login; a line break at its end does not count."] = None
    kafka_ca_file: Annotated[Path | None, "PEM certificates that the broker's is held to; unset: the system's."] = None
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

    def errors(self) -> list[str]:
        """What is wrong with it, each a sentence. A subclass that checks more begins its list with its base's."""
        protocol, mechanism = self.kafka_security_protocol, self.kafka_sasl_mechanism
        if protocol not in PROTOCOLS:
            return [f"kafka_security_protocol={protocol!r}; use one of {', '.join(PROTOCOLS)}"]
        needed = _LOGIN if self.has_login else ()
        errors = [f"{name} is not set; {protocol} needs it" for name in needed if not getattr(self, name)]
        for name in (*(() if self.has_login else _LOGIN), *(() if self.has_tls else _TLS)):
            if getattr(self, name) is not None:
                unused = f"kafka_security_protocol={protocol} does not use it"
                errors.append(f"{name} is set, but {unused}; leave one of them out")
        if self.has_login and mechanism is not None and mechanism not in MECHANISMS:
            errors.append(f"kafka_sasl_mechanism={mechanism!r}; use one of {', '.join(MECHANISMS)}")
        if self.has_tls and (self.kafka_certificate_file is None) != (self.kafka_key_file is None):
            errors.append("kafka_certificate_file and kafka_key_file go together; give both or none")
        return errors

    def client_options(self) -> dict[str, object]:
        """The settings of kafka-python's clients. UsageError if a file cannot be read."""
        options: dict[str, object] = {"security_protocol": self.kafka_security_protocol}
        if self.has_login:
            options |= {
                "sasl_mechanism": self.kafka_sasl_mechanism,
                "sasl_plain_username": self.kafka_username,
                "sasl_plain_password": self._password(),
            }
        files = {
            "ssl_cafile": self.kafka_ca_file,
            "ssl_certfile": self.kafka_certificate_file,
            "ssl_keyfile": self.kafka_key_file,
        }
        for name, path in files.items():
            if path is not None:
                _text(path)
                options[name] = str(path)
        return options

    def kafka_java_options(self) -> dict[str, str]:
        """The same of Kafka's own clients, nothing for PLAINTEXT; certificates as texts: executors have no files."""
        if self.kafka_security_protocol == "PLAINTEXT":
            return {}
        options = {"security.protocol": self.kafka_security_protocol}
        if self.has_login:
            module = _LOGIN_MODULES[str(self.kafka_sasl_mechanism)]
            login = f"username={_quoted(str(self.kafka_username))} password={_quoted(self._password())}"
            options |= {
                "sasl.mechanism": str(self.kafka_sasl_mechanism),
                "sasl.jaas.config": f"{module} required {login};",
            }
        if self.kafka_ca_file is not None:
            options |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _text(self.kafka_ca_file)}
        if self.kafka_certificate_file is not None and self.kafka_key_file is not None:
            options |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": _text(self.kafka_certificate_file),
                "ssl.keystore.key": _text(self.kafka_key_file),
            }
        return options

    def _password(self) -> str:
        assert self.kafka_password_file is not None
        return _text(self.kafka_password_file).removesuffix("\n").removesuffix("\r")


def _text(path: Path) -> str:
    with usage_errors(f"{path} cannot be read", "name a file that this process may read"):
        return path.read_text("utf-8")


def _quoted(text: str) -> str:
    """As the login configuration of Java quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


PLAINTEXT = KafkaSecurity()
