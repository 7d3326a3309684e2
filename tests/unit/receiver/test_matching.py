"""Outputs of any system become alerts by the message that each names."""

import pytest

from market_spread.common.errors import UsageError
from market_spread.common.kafka.access import BY_NUMBER, FINDS
from market_spread.common.kafka.client import Record
from market_spread.common.wire.codec import decode
from market_spread.common.wire.layout import ALERT
from market_spread.receiver.matching import UNMATCHED_AFTER_NS, Matcher
from tests.support.clock import ManualClock

FIELD = FINDS.read({"field": "id"}).finder()
RECEIVED_US = 5_000_000


def sent(number: int, id_: str = "", *, offset: int = 0, sent_us: int = 1_000_500) -> Record:
    headers = (("message_id", b"%d" % number), ("intended_us", b"1000000"), ("sent_us", b"%d" % sent_us))
    return Record(offset, b'{"id":"%s"}' % (id_ or f"x{number}").encode(), headers=headers)


def matcher(clock: ManualClock) -> Matcher:
    return Matcher({"in": FIELD}, {"out": FIELD, "other": FIELD}, clock)


def output(id_: str, *, offset: int = 0, appended_ms: int | None = None) -> tuple[Record, int]:
    return Record(offset, b'{"id":"%s"}' % id_.encode(), appended_ms), RECEIVED_US


def test_an_output_has_the_number_and_the_times_of_its_message() -> None:
    found = matcher(ManualClock()).alerts(
        {("in", 3): [(sent(7), 1)], ("out", 0): [output("x7", offset=11, appended_ms=4_000)]}
    )
    ((record, received_us),) = found["out", 0]
    alert = decode(ALERT, record.value)
    assert alert.readable.all()
    told = {name: int(alert.ints(name)[0]) for name in ("order_id", "intended_us", "sent_us", "read_us", "emitted_us")}
    assert told == {
        "order_id": 7, "intended_us": 1_000_000, "sent_us": 1_000_500, "read_us": 1_000_500, "emitted_us": 4_000_000,
    }  # fmt: skip
    assert alert.columns["symbol"][0] == b"P00003"
    assert (alert.ints("account")[0], alert.ints("price")[0]) == (0, 3)
    assert (record.offset, received_us) == (11, RECEIVED_US)


@pytest.mark.parametrize(("appended_ms", "emitted_us"), [(None, RECEIVED_US), (1, 1_000_500), (9_000, RECEIVED_US)])
def test_the_brokers_append_lies_between_send_and_receipt(appended_ms: int | None, emitted_us: int) -> None:
    found = matcher(ManualClock()).alerts(
        {("in", 0): [(sent(1), 1)], ("out", 0): [output("x1", appended_ms=appended_ms)]}
    )
    assert decode(ALERT, found["out", 0][0][0].value).ints("emitted_us")[0] == emitted_us


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ([("read_us", b"1002000"), ("emitted_us", b"1003000")], (1_002_000, 1_003_000)),
        ([("read_us", None), ("emitted_us", b"1003000")], (1_000_500, 1_003_000)),  # a window has not been read
        ([("read_us", b"soon"), ("emitted_us", b"")], (1_000_500, 4_000_000)),  # no times of ours
        ([("read_us", b"1"), ("emitted_us", b"9000000")], (1_000_500, RECEIVED_US)),  # from a clock of its own
    ],
)
def test_an_output_has_the_stamps_of_its_headers(headers: list[tuple[str, bytes]], told: tuple[int, int]) -> None:
    stamped = Record(0, b'{"id":"x1"}', 4_000, headers=headers)
    found = matcher(ManualClock()).alerts({("in", 0): [(sent(1), 1)], ("out", 0): [(stamped, RECEIVED_US)]})
    alert = decode(ALERT, found["out", 0][0][0].value)
    assert (alert.ints("read_us")[0], alert.ints("emitted_us")[0]) == told


def test_an_output_that_is_read_before_its_message_waits_for_it() -> None:
    clock = ManualClock()
    matching = matcher(clock)
    assert not matching.alerts({("out", 0): [output("x1", offset=4)]})
    assert matching.waits
    clock.advance_ns(UNMATCHED_AFTER_NS - 1)
    found = matching.alerts({("in", 0): [(sent(1), 1)]})
    assert decode(ALERT, found["out", 0][0][0].value).ints("order_id")[0] == 1
    assert not matching.waits


def test_the_outputs_of_several_topics_have_numbers_of_their_own() -> None:
    message, warm_up = sent(7), sent(9_000_000_007, "warm")
    found = matcher(ManualClock()).alerts(
        {
            ("in", 3): [(message, 1), (warm_up, 1)],
            ("out", 0): [output("x7")],
            ("other", 2): [output("x7"), output("warm")],
        }
    )
    numbers = {
        place: [int(decode(ALERT, record.value).ints("order_id")[0]) for record, _ in receipts]
        for place, receipts in found.items()
    }
    assert numbers == {("out", 0): [7], ("other", 2): [1_000_000_007, 9_100_000_007]}


def test_an_output_tells_topic_and_partition_of_its_message() -> None:
    matching = Matcher({"in": FIELD, "also": FIELD}, {"out": FIELD}, ManualClock())
    found = matching.alerts({("also", 1023): [(sent(7), 1)], ("out", 0): [output("x7")]})
    alert = decode(ALERT, found["out", 0][0][0].value)
    assert (alert.ints("account")[0], alert.ints("price")[0]) == (1, 1023)


def test_an_output_of_no_message_is_no_alert() -> None:
    clock = ManualClock()
    matching = matcher(clock)
    assert not matching.alerts({("out", 0): [output("nobody")]})
    clock.advance_ns(UNMATCHED_AFTER_NS)
    ((record, _),) = matching.alerts({})["out", 0]
    assert record.value == b'answers no message: {"id":"nobody"}'


def test_outputs_are_nobodys_only_once_the_inputs_are_read_past_them() -> None:
    """With inputs that are read slowly a right system would be blamed."""
    clock = ManualClock()
    matching = matcher(clock)
    assert not matching.alerts({("out", 0): [output("late"), output("nobody", offset=1)]})
    for second in range(1, 10):  # the receiver is that far behind
        clock.advance_ns(1_000_000_000)
        assert not matching.alerts({("in", 0): [(sent(second, sent_us=RECEIVED_US - 10_000_000 + second), 1)]})
    (alert,) = matching.alerts({("in", 1): [(sent(99, "late", sent_us=RECEIVED_US - 1), 1)]})["out", 0]
    assert decode(ALERT, alert[0].value).ints("order_id")[0] == 99

    (stray,) = matching.alerts({("in", 0): [(sent(100, sent_us=RECEIVED_US + 3_000_000), 1)]})["out", 0]
    assert stray[0].value == b'answers no message: {"id":"nobody"}'


def test_an_output_that_waits_is_looked_at_once() -> None:
    """However many wait, and however often something comes: else a receiver that is behind never catches up."""
    looked: list[int] = []

    def find(record: Record) -> str | None:
        looked.append(record.offset)
        return FIELD(record)

    matching = Matcher({"in": FIELD}, {"out": find}, ManualClock())
    matching.alerts({("out", 0): [output(f"x{number}", offset=number) for number in range(100)]})
    found = [matching.alerts({("in", 0): [(sent(number), 1)]}) for number in range(100)]
    assert looked == list(range(100))
    assert [receipts[0][0].offset for each in found for receipts in each.values()] == looked


def test_an_output_that_names_none_is_no_alert_at_once() -> None:
    ((record, _),) = matcher(ManualClock()).alerts({("out", 0): [(Record(0, b"text"), 1)]})["out", 0]
    assert record.value == b"answers no message: text"


def test_an_id_of_two_messages_is_refused() -> None:
    matching = matcher(ManualClock())
    matching.alerts({("in", 0): [(sent(1, "same"), 1), (sent(1, "same"), 1)]})  # read twice, it is the same one
    with pytest.raises(UsageError, match="messages 1 and 2 both have the id 'same'"):
        matching.alerts({("in", 0): [(sent(2, "same"), 1)]})


def test_a_message_without_an_id_is_refused() -> None:
    headers = sent(1).headers
    with pytest.raises(UsageError, match=r"in/2, offset 9: message 1 has no id where the workload says"):
        matcher(ManualClock()).alerts({("in", 2): [(Record(9, b"{}", headers=headers), 1)]})


def test_what_others_write_to_the_input_is_left_alone() -> None:
    matching = Matcher({"in": BY_NUMBER.finder()}, {"out": BY_NUMBER.finder()}, ManualClock())
    assert not matching.alerts({("in", 0): [(Record(0, b"somebody else's"), 1)]})
