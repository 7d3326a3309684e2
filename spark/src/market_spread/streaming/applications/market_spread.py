"""Market Spread: quotes update the state of their symbol; orders in a market with too wide a spread are rejected.

Quotes and orders are united, and grouped by symbol; the state is the newest quote. Real-Time Mode emits a row for every
row that comes in, so each order comes out beside the quote that was newest when it arrived. Malformed messages take the
same way, under a key of their own, because the mode unites before it keeps state.

Rows are packed into words (long integers), since what a message costs is the columns that it carries: through the
shuffle, and in Spark's state, which stays in memory only while every column of it is a number.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from market_spread.common.layout import ALERT, ORDER, InvalidReason, Kind
from market_spread.streaming.frames import wall_clock_us
from market_spread.streaming.rule import too_wide
from market_spread.streaming.words import Part, Word

# The quote in three words. Each has the sequence on top, so the largest of each is the newest quote's, whatever the
# order of arrival: a quote that comes again, or late, changes nothing.
_THIRD_BITS = 23
_QUOTE_WORDS = tuple(Word(Part("sequence", 40), Part("third", _THIRD_BITS)) for _ in range(3))
_PRICE_BITS = 34

# The row itself. `tag` says what it is; a malformed message has its place where an order has its owner.
_QUOTE, _BUY, _SELL, _MALFORMED = 0, 1, 2, 8
_OWNER = Word(Part("tag", 4), Part("account", 20), Part("order_id", 34))
_PLACE = Word(Part("tag", 4), Part("offset", 54))
_TERMS = Word(Part("quantity", 28, bias=100_000_000), Part("price", _PRICE_BITS))
_POSITION = Word(Part("position", 28), Part("partition", _PRICE_BITS))
_DELAYS = Word(Part("sent", 31, bias=1_000_000_000), Part("read", 32, bias=1_000_000_000))
_ROW_WORDS = ("owner", "terms", "intended_us", "delays")


def decide(quotes: DataFrame, orders: DataFrame) -> DataFrame:
    """Orders, each with the newest quote of its symbol, and malformed messages; in words, for `alerts_and_invalid`.

    Takes messages as `frames_to_messages` gives them. Streaming, in update mode.
    """
    rows = _quote_rows(quotes).unionByName(_order_rows(orders))
    newest_quote = (F.max(f"quote_{i}").alias(f"quote_{i}") for i in range(3))
    this_row = (F.last(name).alias(name) for name in _ROW_WORDS)
    return rows.groupBy("key").agg(*newest_quote, *this_row)


def alerts_and_invalid(decisions: DataFrame, *, alerts_topic: str, invalid_topic: str) -> DataFrame:
    """The Kafka records that leave: alerts of rejected orders, reports of malformed messages (topic, key, value)."""
    tag = _OWNER.unpack(F.col("owner"), "tag")
    bid, offer = _prices()
    rejected = F.col("quote_0").isNull() | too_wide(bid, offer)
    leaving = decisions.where((tag != _QUOTE) & ((tag >= _MALFORMED) | rejected))
    stamped = leaving.withColumn("emitted_us", wall_clock_us())
    malformed = tag >= _MALFORMED
    order_id = _digits(_OWNER.unpack(F.col("owner"), "order_id"), ORDER.field("order_id").width)
    return stamped.select(
        F.when(malformed, invalid_topic).otherwise(alerts_topic).alias("topic"),
        F.when(~malformed, order_id).cast("binary").alias("key"),
        F.when(malformed, _invalid_value()).otherwise(_alert_value()).cast("binary").alias("value"),
    )


def _quote_rows(quotes: DataFrame) -> DataFrame:
    good = F.col("reason").isNull()
    bid, offer, sequence = F.col("bid"), F.col("offer"), F.col("sequence")
    low_bits = _PRICE_BITS - _THIRD_BITS
    thirds = (
        F.shiftright(bid, low_bits),
        F.shiftright(offer, low_bits),
        F.shiftleft(_low(bid, low_bits), low_bits).bitwiseOR(_low(offer, low_bits)),
    )
    packed = (word.pack(sequence=sequence, third=third) for word, third in zip(_QUOTE_WORDS, thirds, strict=True))
    return quotes.select(
        _key().alias("key"),
        *(F.when(good, word).alias(f"quote_{i}") for i, word in enumerate(packed)),
        F.when(good, _long(_QUOTE)).otherwise(_place()).alias("owner"),
        F.when(good, _long(0)).otherwise(_position()).alias("terms"),
        _long(0).alias("intended_us"),
        _long(0).alias("delays"),
    )


def _order_rows(orders: DataFrame) -> DataFrame:
    good = F.col("reason").isNull()
    tag = F.when(F.col("side") == "B", _long(_BUY)).otherwise(_long(_SELL))
    owner = _OWNER.pack(tag=tag, account=F.col("account"), order_id=F.col("order_id"))
    terms = _TERMS.pack(quantity=F.col("quantity"), price=F.col("price"))
    sent = F.when(F.col("sent_us") == 0, _long(0)).otherwise(_delay("sent_us"))  # not told: taken as sent when intended
    return orders.select(
        _key().alias("key"),
        *(F.lit(None).cast("bigint").alias(f"quote_{i}") for i in range(3)),
        F.when(good, owner).otherwise(_place()).alias("owner"),
        F.when(good, terms).otherwise(_position()).alias("terms"),
        "intended_us",
        _DELAYS.pack(sent=sent, read=_delay("read_us")).alias("delays"),
    )


def _key() -> Column:
    """The symbol; for malformed messages one key a topic and partition, which is no symbol."""
    reserved = F.concat(F.lit("!"), F.col("topic"), F.lit("/"), F.col("partition").cast("string"))
    return F.when(F.col("reason").isNull(), F.col("symbol")).otherwise(reserved)


def _place() -> Column:
    return _PLACE.pack(tag=_MALFORMED + F.col("reason"), offset=F.col("offset"))


def _position() -> Column:
    return _POSITION.pack(position=F.col("position"), partition=F.col("partition"))


def _delay(time_us: str) -> Column:
    """A time as its distance from the intended one, held within a quarter of an hour to either side."""
    distance = F.col(time_us) - F.col("intended_us")
    return F.greatest(F.least(distance, _long(1_000_000_000)), _long(-1_000_000_000))


def _prices() -> tuple[Column, Column]:
    high_bid, high_offer, low = (word.unpack(F.col(f"quote_{i}"), "third") for i, word in enumerate(_QUOTE_WORDS))
    low_bits = _PRICE_BITS - _THIRD_BITS
    bid = F.shiftleft(high_bid, low_bits).bitwiseOR(F.shiftright(low, low_bits))
    offer = F.shiftleft(high_offer, low_bits).bitwiseOR(_low(low, low_bits))
    return bid, offer


def _alert_value() -> Column:
    owner, terms, delays, intended = F.col("owner"), F.col("terms"), F.col("delays"), F.col("intended_us")
    bid, offer = _prices()
    columns = {
        "kind": F.lit(ALERT.letter),
        "order_id": _OWNER.unpack(owner, "order_id"),
        "symbol": F.col("key"),
        "side": F.when(_OWNER.unpack(owner, "tag") == _BUY, "B").otherwise("S"),
        "account": _OWNER.unpack(owner, "account"),
        "quantity": _TERMS.unpack(terms, "quantity"),
        "price": _TERMS.unpack(terms, "price"),
        "bid": F.coalesce(bid, _long(0)),
        "offer": F.coalesce(offer, _long(0)),
        "quote_sequence": F.coalesce(_QUOTE_WORDS[0].unpack(F.col("quote_0"), "sequence"), _long(0)),
        "intended_us": intended,
        "sent_us": intended + _DELAYS.unpack(delays, "sent"),
        "read_us": intended + _DELAYS.unpack(delays, "read"),
        "emitted_us": F.col("emitted_us"),
    }
    return F.concat(*(_text(columns[field.name], field.kind, field.width) for field in ALERT.fields))


def _text(column: Column, kind: Kind, width: int) -> Column:
    if kind is Kind.DIGITS:
        return _digits(column, width)
    if kind is Kind.SIGNED:
        return F.concat(F.when(column < 0, "-").otherwise("+"), _digits(F.abs(column), width - 1))
    return column


def _invalid_value() -> Column:
    names = F.create_map(*(F.lit(part) for reason in InvalidReason for part in (reason.value, reason.name.lower())))
    reason = (_PLACE.unpack(F.col("owner"), "tag") - _MALFORMED).cast("int")
    return F.to_json(
        F.struct(
            names[reason].alias("reason"),
            F.regexp_extract("key", "^!(.+)/", 1).alias("topic"),
            _POSITION.unpack(F.col("terms"), "partition").alias("partition"),
            _PLACE.unpack(F.col("owner"), "offset").alias("offset"),
            _POSITION.unpack(F.col("terms"), "position").alias("position"),
        )
    )


def _low(column: Column, bits: int) -> Column:
    return column.bitwiseAND(_long(2**bits - 1))


def _digits(column: Column, width: int) -> Column:
    return F.lpad(column.cast("string"), width, "0")


def _long(value: int) -> Column:
    return F.lit(value).cast("bigint")
