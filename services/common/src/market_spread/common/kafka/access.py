"""A user's Kafka in a workload: where it is, how it is spoken to, and how its records name a run's messages."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

from market_spread.common.errors import UsageError
from market_spread.common.kafka.client import Record
from market_spread.common.kafka.security import MECHANISMS, PLAINTEXT, PROTOCOLS, KafkaSecurity
from market_spread.common.schema import ONLY_KNOWN_KEYS, Schema, choice, exactly_one_of, text
from market_spread.common.user_functions import load_function, user_errors
from market_spread.common.wire.layout import ID_HEADER


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityKeys:
    """How a broker is spoken to that is not open to all. Passwords are in files, never in a workload."""

    protocol: Annotated[str, choice(PROTOCOLS, "How it is spoken to.")]
    sasl_mechanism: Annotated[str | None, text(f"Of a login: {', '.join(MECHANISMS)}.")] = None
    username: Annotated[str | None, text("Of a login; with OAUTHBEARER the client's id.")] = None
    password_file: Annotated[str | None, text("File with the password of a login, or the client's secret.")] = None
    token_endpoint: Annotated[str | None, text("URL that gives OAUTHBEARER's tokens (client credentials).")] = None
    token_scope: Annotated[str | None, text("What such a token is asked for; without, the endpoint decides.")] = None
    ca_file: Annotated[str | None, text("PEM, to verify broker and endpoint with; else the system's.")] = None
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


Finder = Callable[[Record], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finds:
    """Where the id is; exactly one of the three."""

    __pydantic_config__ = ONLY_KNOWN_KEYS

    header: Annotated[str | None, text(f"A header of the record. Every message has its number in `{ID_HEADER}`.")] = (
        None
    )
    field: Annotated[str | None, text("A field of the record's JSON object; `order.id` is one within another.")] = None
    function: Annotated[str | None, text("`file.py:function`, called with the record; returns the id.")] = None

    _is_one = exactly_one_of("header", "field", "function")

    def finder(self, raised: Callable[[UsageError], object] | None = None) -> Finder:
        """Reads the id of a record as text; None if it has none. UsageError if the user's function raises.

        raised: is told that error instead, and the record has no id.
        """
        if self.header is not None:
            header = self.header
            return lambda record: next((_text(value) for name, value in record.headers if name == header), None)
        if self.field is not None:
            steps = self.field.split(".")
            return lambda record: _field(record.value, steps)
        assert self.function is not None
        reference, function = self.function, load_function(self.function)

        def found(record: Record) -> str | None:
            told = None
            with user_errors(reference, raised):
                told = function(record)
            return None if told is None else _text(told)

        return found


FINDS = Schema(Finds)
BY_NUMBER = Finds(header=ID_HEADER)


def _field(value: bytes, steps: list[str]) -> str | None:
    try:
        found = json.loads(value)
        for step in steps:
            found = found[step]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return None if found is None else _text(found)


def _text(told: object) -> str:
    return told.decode("utf-8", "backslashreplace") if isinstance(told, bytes) else str(told)
