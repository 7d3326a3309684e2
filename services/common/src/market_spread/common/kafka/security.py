"""How Kafka is spoken to where it is not open to all: TLS, a user and a password, certificates; files, never values.

One description serves our own client and the JVM's, so that what works for the one works for the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from market_spread.common.errors import UsageError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_LOGIN_MODULES: Mapping[str, str] = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
MECHANISMS = tuple(_LOGIN_MODULES)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSecurity:
    """How to speak to a broker. Files are read when a client is made, so that a changed password needs no new value.

    password_file: a line break at its end does not count; ca_file: PEM certificates that the broker's is held to, those
    of the system if absent; certificate_file, key_file: PEM, the key PKCS #8 and not encrypted, for brokers that ask.
    """

    protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None

    @property
    def has_login(self) -> bool:
        """Whether there are a user and a password."""
        return self.protocol.startswith("SASL_")

    @property
    def has_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.protocol.endswith("SSL")

    def errors(self, prefix: str = "") -> list[str]:
        """What is wrong with it, each a sentence; names are the fields' with the prefix."""
        if self.protocol not in PROTOCOLS:
            return [f"{prefix}security_protocol={self.protocol!r}; use one of {', '.join(PROTOCOLS)}"]
        login = {"sasl_mechanism": self.mechanism, "username": self.username, "password_file": self.password_file}
        tls = {"ca_file": self.ca_file, "certificate_file": self.certificate_file, "key_file": self.key_file}
        errors = [
            *_belonging(prefix, self.protocol, login, wanted=self.has_login, required=True),
            *_belonging(prefix, self.protocol, tls, wanted=self.has_tls, required=False),
        ]
        if self.has_login and self.mechanism is not None and self.mechanism not in MECHANISMS:
            errors.append(f"{prefix}sasl_mechanism={self.mechanism!r}; use one of {', '.join(MECHANISMS)}")
        if self.has_tls and (self.certificate_file is None) != (self.key_file is None):
            errors.append(f"{prefix}certificate_file and {prefix}key_file go together; give both or none")
        return errors

    def client_options(self) -> dict[str, object]:
        """The settings of kafka-python's clients. UsageError if a file cannot be read."""
        options: dict[str, object] = {"security_protocol": self.protocol}
        if self.has_login:
            options |= {
                "sasl_mechanism": self.mechanism,
                "sasl_plain_username": self.username,
                "sasl_plain_password": self._password(),
            }
        files = {"ssl_cafile": self.ca_file, "ssl_certfile": self.certificate_file, "ssl_keyfile": self.key_file}
        for name, path in files.items():
            if path is not None:
                _text(path)
                options[name] = str(path)
        return options

    def java_options(self) -> dict[str, str]:
        """The settings of Kafka's own clients, nothing for PLAINTEXT. UsageError if a file cannot be read.

        Certificates go in as texts: executors have none of the files.
        """
        if self.protocol == "PLAINTEXT":
            return {}
        options = {"security.protocol": self.protocol}
        if self.has_login:
            module = _LOGIN_MODULES[str(self.mechanism)]
            login = f"username={_quoted(str(self.username))} password={_quoted(self._password())}"
            options |= {"sasl.mechanism": str(self.mechanism), "sasl.jaas.config": f"{module} required {login};"}
        if self.ca_file is not None:
            options |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _text(self.ca_file)}
        if self.certificate_file is not None and self.key_file is not None:
            options |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": _text(self.certificate_file),
                "ssl.keystore.key": _text(self.key_file),
            }
        return options

    def _password(self) -> str:
        assert self.password_file is not None
        return _text(self.password_file).removesuffix("\n").removesuffix("\r")


PLAINTEXT = KafkaSecurity()


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSecurityConfig:
    """Environment of a process that speaks to Kafka; see `KafkaSecurity`. Without any of it Kafka is open to all."""

    kafka_security_protocol: str = "PLAINTEXT"
    kafka_sasl_mechanism: str | None = None
    kafka_username: str | None = None
    kafka_password_file: Path | None = None
    kafka_ca_file: Path | None = None
    kafka_certificate_file: Path | None = None
    kafka_key_file: Path | None = None

    def __post_init__(self) -> None:
        refuse(self.kafka_errors())

    @property
    def kafka_security(self) -> KafkaSecurity:
        """The same, as clients take it."""
        return KafkaSecurity(
            protocol=self.kafka_security_protocol,
            mechanism=self.kafka_sasl_mechanism,
            username=self.kafka_username,
            password_file=self.kafka_password_file,
            ca_file=self.kafka_ca_file,
            certificate_file=self.kafka_certificate_file,
            key_file=self.kafka_key_file,
        )

    def kafka_errors(self) -> list[str]:
        """What is wrong with it. A subclass that checks more begins its list with this."""
        return self.kafka_security.errors("kafka_")


def refuse(errors: list[str]) -> None:
    """ValueError with all of them, if there are any: how a configuration refuses its values."""
    if errors:
        raise ValueError("; ".join(errors))


def _belonging(prefix: str, protocol: str, values: Mapping[str, object], *, wanted: bool, required: bool) -> list[str]:
    """Errors of values that the protocol does not use, or that it needs."""
    if not wanted:
        return [
            f"{prefix}{name} is set, but {prefix}security_protocol={protocol} does not use it; leave one of them out"
            for name, value in values.items()
            if value is not None
        ]
    if not required:
        return []
    return [f"{prefix}{name} is not set; {protocol} needs it" for name, value in values.items() if not value]


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"{path} cannot be read: {reason}; name a file that this process may read") from error


def _quoted(text: str) -> str:
    """As the login configuration of Java quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
