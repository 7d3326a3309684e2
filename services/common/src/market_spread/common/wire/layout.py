"""The layout of messages, once, as data: everything that reads or writes a message takes it from here.

Messages are fixed-width ASCII, so that Spark's generated code reads a field with one substring and one cast, and a
person with any Kafka tool. Prices are integers in 1/10,000 dollar, times are Unix microseconds. A Kafka record's value
is a *frame*: one or more messages of one layout, concatenated. Standard library only: Spark's workers import it.
"""

from dataclasses import dataclass
from enum import Enum

FORMAT_VERSION = "1"
FORMAT_HEADER, SENT_HEADER = "format", "sent_us"
# Of a message that is a record by itself, of whatever format: its number in the run and its intended time.
ID_HEADER, INTENDED_HEADER = "message_id", "intended_us"
OUR_HEADERS = (ID_HEADER, INTENDED_HEADER, SENT_HEADER)
# Of a pipeline's output: when the row's record was read, and when the row was emitted.
READ_HEADER, EMITTED_HEADER = "read_us", "emitted_us"

PRICE_SCALE = 10_000
# A symbol's bucket is its Kafka partition.
BUCKETS_MAX = 1024
SYMBOL_WIDTH = 6
SYMBOL_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-/"


class Kind(Enum):
    """How a field's bytes are read."""

    LETTER = "one of a few letters"
    TEXT = "left-justified, padded with blanks"
    DIGITS = "decimal, padded with zeros"
    INTEGER = "decimal, padded with zeros, behind a minus if negative"
    SIGNED = "a sign, then decimal, padded with zeros"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message. `letters` lists what a LETTER may be."""

    name: str
    width: int
    kind: Kind
    letters: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it holds a number, from `lowest` to `highest`."""
        return self.kind in (Kind.DIGITS, Kind.INTEGER, Kind.SIGNED)

    @property
    def lowest(self) -> int:
        return 0 if self.kind is Kind.DIGITS else 1 - 10 ** (self.width - 1)

    @property
    def highest(self) -> int:
        return int(10 ** (self.width - (self.kind is Kind.SIGNED))) - 1


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of one kind of message, in order. The first is the letter that names the kind."""

    name: str
    fields: tuple[Field, ...]

    @property
    def width(self) -> int:
        """Bytes of a message."""
        return sum(field.width for field in self.fields)

    @property
    def letter(self) -> str:
        """The first byte of every message of this kind."""
        return self.fields[0].letters

    def field(self, name: str) -> Field:
        """The field of that name. KeyError if there is none."""
        return self.fields[self._place(name)]

    def offset(self, name: str) -> int:
        """Bytes before the field of that name. KeyError if there is none."""
        return sum(field.width for field in self.fields[: self._place(name)])

    def _place(self, name: str) -> int:
        for place, field in enumerate(self.fields):
            if field.name == name:
                return place
        raise KeyError(f"{self.name} has no field {name}")


_SYMBOL = Field("symbol", SYMBOL_WIDTH, Kind.TEXT)
_SIDE = Field("side", 1, Kind.LETTER, "BS")
_ACCOUNT = Field("account", 6, Kind.DIGITS)
_ORDER_ID = Field("order_id", 10, Kind.DIGITS)
_QUANTITY = Field("quantity", 9, Kind.SIGNED)
_PRICE = Field("price", 10, Kind.INTEGER)
_BID, _OFFER = Field("bid", 10, Kind.INTEGER), Field("offer", 10, Kind.INTEGER)
_INTENDED, *_STAMPS = (Field(f"{name}_us", 16, Kind.DIGITS) for name in ("intended", "sent", "read", "emitted"))

NBBO = Layout(
    "nbbo", (Field("kind", 1, Kind.LETTER, "Q"), _SYMBOL, _BID, _OFFER, _INTENDED, Field("sequence", 12, Kind.DIGITS))
)

ORDER = Layout(
    "order", (Field("kind", 1, Kind.LETTER, "O"), _SYMBOL, _SIDE, _ACCOUNT, _ORDER_ID, _QUANTITY, _PRICE, _INTENDED)
)

# An alert names the quote that the order was judged on (all zeros: the symbol had none) and every stage's time.
ALERT = Layout(
    "alert",
    (
        Field("kind", 1, Kind.LETTER, "A"),
        *(_ORDER_ID, _SYMBOL, _SIDE, _ACCOUNT, _QUANTITY, _PRICE),
        *(_BID, _OFFER, Field("quote_sequence", 12, Kind.DIGITS)),
        *(_INTENDED, *_STAMPS),
    ),
)

# A decision says of an order that was accepted what an alert says of one that was rejected, and which of both it was.
REJECTED, ACCEPTED = "R", "A"
DECISION = Layout(
    "decision",
    (Field("kind", 1, Kind.LETTER, "D"), *ALERT.fields[1:], Field("verdict", 1, Kind.LETTER, REJECTED + ACCEPTED)),
)


class InvalidReason(Enum):
    """Why a message went to the topic `invalid`. The value is its code in the job's state."""

    WRONG_LENGTH = 1
    UNKNOWN_KIND = 2
    UNREADABLE_FIELD = 3
    UNKNOWN_FORMAT = 4
    MISSING_VALUE = 5
    OVERFLOW = 6
    FUNCTION_RAISED = 7


# Orders of the warm-up have ids from here on; ids of measured orders are below.
WARM_UP_ORDER_ID_MIN = 9_000_000_000
# So many outputs of a topic have numbers of their own, those of measured messages and those of the warm-up.
OUTPUTS_OF_TOPIC, WARM_UP_OUTPUTS_OF_TOPIC = 1_000_000_000, 100_000_000
OUTPUT_TOPICS_MAX = 9


def output_number(message: int, topic: int) -> int:
    """The number of a message's output in a system's topic, from 0: that of the message in the first one."""
    return message + topic * (OUTPUTS_OF_TOPIC if message < WARM_UP_ORDER_ID_MIN else WARM_UP_OUTPUTS_OF_TOPIC)
