"""What planned faults did to the output is read back as it was planted; what they did not do is not blamed on them."""

from typing import Any

import numpy as np
import pytest

from market_spread.common.wire.codec import Int64s
from market_spread.controller.analysis.evidence import OF_MARKET
from market_spread.controller.analysis.survival import Survival, survival
from market_spread.controller.clients.probe import Silence
from market_spread.controller.plan.faults import Fault, FaultEvent, FaultKeys
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.oracle import Judgement

BEGIN_US = 1_700_000_000_000_000
LOAD_US = 60_000_000
STOP = Fault(at_s=20, do="stop", target="job", for_s=5)
KILL = Fault(at_s=20, do="kill", target="job")
ASKED = FaultKeys(recovers_within_s=3, loses=0, schedule=(STOP,))


def output(*silent_s: tuple[float, float], latency_us: int = 10_000, lost: Any = ()) -> Alerts:
    """200 orders a second, each answered so much later, or in a burst when the output is there again."""
    due_us = BEGIN_US + np.arange(0, LOAD_US, 5_000)
    received_us = due_us + latency_us
    for begin_s, end_s in silent_s:
        begin_us, end_us = (BEGIN_US + round(at_s * 1e6) for at_s in (begin_s, end_s))
        received_us = np.where((received_us > begin_us) & (received_us < end_us), end_us, received_us)
    kept = ~np.isin(np.arange(len(due_us)), np.array(lost, np.int64))
    return alerts(np.arange(len(due_us))[kept], due_us[kept], received_us[kept])


def alerts(order_id: Int64s, due_us: Int64s, received_us: Int64s) -> Alerts:
    zeros = np.zeros(len(order_id), np.int64)
    symbols = np.full(len(order_id), b"A", "S8")
    columns = (order_id, symbols, *[zeros] * 4, due_us, *[zeros] * 3, *[due_us] * 3, received_us)
    order = np.argsort(received_us, kind="stable")
    return Alerts(*columns)[order]


def carried_out(fault: Fault, began_s: float, ended_s: float) -> FaultEvent:
    return FaultEvent(fault, *(1000 * BEGIN_US + round(at_s * 1e9) for at_s in (began_s, ended_s)))


def survived(of: Alerts, *events: FaultEvent, lost: Any = ()) -> Survival:
    lost_us = BEGIN_US + 5_000 * np.array(lost, np.int64)
    end_us = BEGIN_US + LOAD_US
    return survival(events, of, begin_us=BEGIN_US, from_us=BEGIN_US, end_us=end_us, lost_us=lost_us)


def judged(missing: int = 0) -> Judgement:
    counts = dict.fromkeys(Judgement.__dataclass_fields__, 0) | {"missing": missing, "sentences": {}, "belated": ()}
    return Judgement(**counts)  # type: ignore[arg-type]


def holds(found: Survival, asked: FaultKeys = ASKED, missing: int = 0) -> dict[str, bool | None]:
    return {it.criterion.value: it.holds for it in found.evidence(asked, judged(missing), OF_MARKET)}


def test_what_a_delay_adds_while_it_lasts_and_what_was_reset_reads_back() -> None:
    link = Fault(at_s=20, do="link", between=("sender", "broker"), for_s=5, delay_ms=50)
    of = output()
    lasts = (of.intended_us >= BEGIN_US + 20_000_000) & (of.intended_us < BEGIN_US + 25_000_000)
    delayed = alerts(of.order_id, of.intended_us, of.received_us + 50_000 * lasts)
    event = carried_out(link, 20, 25)

    (figures,) = survived(delayed, FaultEvent(link, event.began_unix_ns, event.ended_unix_ns, resets=7)).figures
    (killed,) = survived(of, carried_out(KILL, 20, 20)).figures

    assert figures.text == "link (delay_ms 50) between sender and broker for 5 s"
    assert figures.slower_s == pytest.approx(0.05)
    assert (figures.resets, figures.lost, figures.doubled) == (7, 0, 0)
    assert (killed.slower_s, killed.resets) == (None, 0)


def test_a_silence_of_five_seconds_reads_back() -> None:
    found = survived(output((20, 25)), carried_out(STOP, 20, 25))

    (figures,) = found.figures
    assert figures.text == "stop of the job for 5 s"
    assert (figures.began_s, figures.ended_s) == (20, 25)
    assert figures.silence_s == pytest.approx(5.0, abs=0.25)
    assert figures.detected_s == pytest.approx(0.01, abs=0.02)
    assert figures.recovered_s == pytest.approx(0.01, abs=0.02)
    assert figures.normal_s == pytest.approx(0, abs=0.51)
    assert figures.p99_before_s == pytest.approx(0.01)
    assert figures.orders == pytest.approx(1000, abs=110)
    assert figures.late == pytest.approx(1000, abs=10)
    assert (figures.lost, figures.doubled) == (0, 0)
    assert holds(found) == {"recovered": True, "loses": True}


def test_what_takes_long_to_come_back_misses_the_objective() -> None:
    found = survived(output((20, 28.5)), carried_out(KILL, 20, 20.01))

    assert found.figures[0].recovered_s == pytest.approx(8.49, abs=0.05)
    assert found.figures[0].normal_s == pytest.approx(8.49, abs=0.6)
    assert holds(found) == {"recovered": False, "loses": True}
    evidence, _ = found.evidence(ASKED, judged(), OF_MARKET)
    assert evidence.text == (
        "the longest recovery took 8.5 s, from the kill of the job at 20.0 s of the load; the objective is 3 s"
    )
    assert holds(found, FaultKeys(recovers_within_s=9)) == {"recovered": True, "loses": True}


def test_a_job_that_never_comes_back_is_not_excused() -> None:
    found = survived(output((20, 10_000)), carried_out(KILL, 20, 20.01))

    (figures,) = found.figures
    assert (figures.recovered_s, figures.normal_s) == (None, None)
    assert figures.silence_s >= 40
    assert holds(found)["recovered"] is False
    assert "no order was answered in time again" in found.evidence(ASKED, judged(), OF_MARKET)[0].text


def test_one_that_answers_late_for_ever_has_not_recovered() -> None:
    slow = output()
    slow = alerts(
        slow.order_id,
        slow.intended_us,
        np.where(slow.intended_us > BEGIN_US + 20_000_000, slow.received_us + 50_000, slow.received_us),
    )

    found = survived(slow, carried_out(KILL, 20, 20.01))

    assert found.figures[0].recovered_s is None
    assert holds(found)["recovered"] is False


def test_a_fault_that_is_none_is_not_blamed() -> None:
    found = survived(output(), carried_out(KILL, 20, 20.001))

    (figures,) = found.figures
    assert figures.recovered_s == pytest.approx(0.01, abs=0.02)
    assert (figures.late, figures.lost, figures.doubled, figures.detected_s) == (0, 0, 0, None)
    assert figures.silence_s < 0.05
    assert holds(found) == {"recovered": True, "loses": True}


def test_lost_orders_are_counted_also_those_that_came_before_the_fault() -> None:
    lost = [3_990, 4_010, 4_020]  # of one it was said before the kill that it was done

    found = survived(output((20, 22), lost=lost), carried_out(KILL, 20, 20.01), lost=lost)

    assert found.figures[0].lost == 3
    assert holds(found, missing=3) == {"recovered": True, "loses": False}
    assert holds(found, FaultKeys(recovers_within_s=3, loses=3), missing=3) == {"recovered": True, "loses": True}


@pytest.mark.parametrize("at_s", [22, 26])  # also when all others are as before already
def test_orders_that_are_answered_again_are_counted(at_s: int) -> None:
    once = output((20, 22))
    again = once[3_900:4_000]
    received_us = np.concatenate([once.received_us, np.full(100, BEGIN_US + at_s * 1_000_000)])
    order_id, due_us = (
        np.concatenate([getattr(of, name) for of in (once, again)]) for name in ("order_id", "intended_us")
    )
    twice = alerts(order_id, due_us, received_us)

    found = survived(twice, carried_out(KILL, 20, 20.01))

    assert found.figures[0].doubled == 100
    assert holds(found)["loses"] is True


def test_each_fault_has_its_own_figures() -> None:
    of = output((15, 17), (40, 43))

    found = survived(of, carried_out(KILL, 40, 40.01), carried_out(STOP, 15, 17))

    first, second = found.figures
    assert first.silence_s == pytest.approx(2, abs=0.25)
    assert second.silence_s == pytest.approx(3, abs=0.25)
    assert second.p99_before_s == pytest.approx(0.01)  # without what the first one disturbed
    assert second.recovered_s == pytest.approx(3, abs=0.05)


def test_too_few_orders_before_a_fault_tell_nothing() -> None:
    found = survived(output((0.05, 2)), carried_out(STOP, 0.05, 2))

    assert found.figures[0].p99_before_s is None
    assert holds(found)["recovered"] is None
    assert found.excuses(Silence("job", BEGIN_US + 100_000, BEGIN_US + 2_000_000))  # until it answers at all
    assert not found.excuses(Silence("job", BEGIN_US + 10_000_000, BEGIN_US + 20_000_000))


def test_a_standstill_is_excused_until_the_recovery_and_not_later() -> None:
    found = survived(output((20, 28)), carried_out(STOP, 20, 25))

    def still(begin_s: float, end_s: float) -> Silence:
        return Silence("job", *(BEGIN_US + round(at_s * 1e6) for at_s in (begin_s, end_s)))

    assert found.excuses(still(20, 28))
    assert found.excuses(still(19.9, 28.1))
    assert not found.excuses(still(10, 21))
    assert not found.excuses(still(30, 34))
    assert not Survival().excuses(still(20, 28))
