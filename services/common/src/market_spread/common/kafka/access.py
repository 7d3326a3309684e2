"""A broker of the user's in a workload: where it is, and how it is spoken to."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

from market_spread.common.kafka.security import MECHANISMS, PLAINTEXT, PROTOCOLS, KafkaSecurity
from market_spread.common.schema import choice, text


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityKeys:
    """How a broker is spoken to that is not open to all. Passwords are in files, never in a workload."""

    protocol: Annotated[str, choice(PROTOCOLS, "How it is spoken to.")]
    sasl_mechanism: Annotated[str | None, text(f"Of a login: {', '.join(MECHANISMS)}.")] = None
    username: Annotated[str | None, text("Of a login.")] = None
    password_file: Annotated[str | None, text("File with the password of a login.")] = None
    ca_file: Annotated[str | None, text("PEM certificates that the broker's is held to; else the system's.")] = None
    certificate_file: Annotated[str | None, text("PEM, for brokers that ask for one.")] = None
    key_file: Annotated[str | None, text("Of that certificate: PEM, PKCS #8, not encrypted.")] = None

    def __post_init__(self) -> None:
        try:
            self.read()
        except ValueError as error:
            raise ValueError(str(error).replace("kafka_security_", "").replace("kafka_", "")) from None

    def read(self) -> KafkaSecurity:
        """As every process takes it. ValueError if something is missing, or does not go together."""
        values = {f"kafka_{name}": Path(v) if v and name.endswith("_file") else v for name, v in asdict(self).items()}
        return KafkaSecurity(kafka_security_protocol=values.pop("kafka_protocol"), **values)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerKeys:
    """A broker."""

    bootstrap: Annotated[str | None, text("`host:port` of a Kafka of yours; without, the run starts one.")] = None
    security: SecurityKeys | None = None

    @property
    def read_security(self) -> KafkaSecurity:
        """How it is spoken to."""
        return PLAINTEXT if self.security is None else self.security.read()

    def with_files(self, whole: Callable[[str | None], str | None]) -> Self:
        """The same with the whole paths of its files."""
        if self.security is None:
            return self
        files: dict[str, Any] = {name: whole(v) for name, v in asdict(self.security).items() if name.endswith("_file")}
        return replace(self, security=replace(self.security, **files))
