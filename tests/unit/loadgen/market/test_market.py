import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest

from market_spread.common.errors import UsageError
from market_spread.common.load import source
from market_spread.common.load.schedule import AnyProfile, Burst, Constant, Ramp, Steps
from market_spread.common.load.source import Block, MessageStream
from market_spread.common.wire.codec import Decoded, decode
from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.reading import Overrides, overridden, read_workload
from market_spread.loadgen.market.draws import CHUNK_MESSAGES, Drawing
from market_spread.loadgen.market.generator import Market
from market_spread.loadgen.market.parameters import MARKET, MarketParameters, Phase
from market_spread.loadgen.market.symbols import universe
from tests.support.markets import ids_in
from tests.support.paths import ROOT

WORKLOADS = sorted((ROOT / "loadgen" / "workloads").glob("*.yaml"))
START_NS = 1_700_000_000_000_000_000
PARAMETERS = MarketParameters(seed=7, buckets=8, profile=Constant(40_000, 10))
SHORT = replace(PARAMETERS, profile=Constant(20_000, 1))
PROFILES = [Constant(20_000, 1), Steps((Constant(9_000, 1), Constant(0, 1), Constant(30_000, 0.5))), Ramp(0, 40_000, 1)]


def joined(streams: Iterable[MessageStream], width: int) -> MessageStream:
    parts = [MessageStream.empty(width), *streams]
    return MessageStream(
        np.concatenate([part.intended_ns for part in parts]),
        np.concatenate([part.buckets for part in parts]),
        np.concatenate([part.rows for part in parts]),
    )


def quotes_of(market: Market) -> MessageStream:
    return joined((block.quotes for block in market.blocks()), NBBO.width)


def orders_of(market: Market) -> MessageStream:
    return joined((block.orders for block in market.blocks()), ORDER.width)


def content(market: Market) -> bytes:
    return b"".join(
        array.tobytes()
        for stream in (quotes_of(market), orders_of(market))
        for array in (stream.intended_ns, stream.buckets, stream.rows)
    )


def decoded_quotes(parameters: MarketParameters) -> Decoded:
    return decode(NBBO, quotes_of(Market(parameters, START_NS)).rows.tobytes())


def decoded_orders(parameters: MarketParameters) -> Decoded:
    return decode(ORDER, orders_of(Market(parameters, START_NS)).rows.tobytes())


def ids_of(decoded: Decoded) -> npt.NDArray[np.int64]:
    """Symbol ids in the universe of 350 symbols and 8 buckets."""
    names = universe(350, 8).names
    by_name = np.argsort(names)
    return by_name[np.searchsorted(names[by_name], decoded.columns["symbol"])]


def rejects(decoded: Decoded) -> npt.NDArray[np.bool_]:
    bid, offer = decoded.ints("bid"), decoded.ints("offer")
    return (offer - bid >= 500) | (40 * (offer - bid) >= bid + offer)


def chi_squared(counts: npt.NDArray[np.int64], shares: npt.NDArray[np.float64] | None = None) -> float:
    expected = counts.sum() * (np.full(len(counts), 1 / len(counts)) if shares is None else shares / shares.sum())
    return float(((counts - expected) ** 2 / expected).sum())


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert content(Market(SHORT, START_NS)) == content(Market(SHORT, START_NS))


def test_the_bytes_of_a_seed_never_change() -> None:
    market = Market(replace(SHORT, changing_symbols=5), START_NS)

    digest = hashlib.sha256(content(market)).hexdigest()

    assert digest == "19c1f884423688737e8bf3dac906f3e07d5d884f55c0222cdde2a11e148869f0"


def test_another_seed_gives_other_bytes() -> None:
    assert content(Market(SHORT, START_NS)) != content(Market(replace(SHORT, seed=8), START_NS))


@pytest.mark.parametrize("profile", PROFILES)
def test_the_length_of_blocks_does_not_matter(profile: AnyProfile, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = replace(SHORT, profile=profile)

    contents = set()
    for block_ns in (1_000_000, 20_000_000, 10_000_000_000):
        monkeypatch.setattr(source, "BLOCK_NS", block_ns)
        contents.add(content(Market(parameters, START_NS)))

    assert len(contents) == 1


def test_any_chunk_can_be_drawn_alone() -> None:
    forth = Drawing(SHORT, universe(350, 8), SHORT.profile)
    back = Drawing(SHORT, universe(350, 8), SHORT.profile)

    drawn_forth = [forth.chunk(chunk) for chunk in range(5)]
    drawn_back = [back.chunk(chunk) for chunk in reversed(range(5))]

    assert forth.chunks == 5
    for one, other in zip(drawn_forth, reversed(drawn_back), strict=True):
        assert one.symbol_id.tolist() == other.symbol_id.tolist()
        assert one.order_number.tolist() == other.order_number.tolist()


@pytest.mark.parametrize("profile", [*PROFILES, Constant(1_000, 3), Constant(2_000_000, 0.1), Constant(100, 30)])
def test_blocks_are_short_and_follow_one_another(profile: AnyProfile) -> None:
    market = Market(replace(SHORT, profile=profile), START_NS)

    begin_ns = START_NS
    blocks = list(market.blocks())

    for block in blocks:
        times_ns = np.concatenate((block.quotes.intended_ns, block.orders.intended_ns))
        assert times_ns.min() >= begin_ns
        assert times_ns.max() < block.end_ns
        assert len(times_ns) <= 4096
        assert len(times_ns) <= 512 or np.ptp(times_ns) < 20_000_000
        begin_ns = block.end_ns
    assert begin_ns == START_NS + profile.duration_ns
    assert sum(len(block.quotes) + len(block.orders) for block in blocks) == market.messages == profile.total()


def test_times_are_the_schedule_s() -> None:
    market = Market(SHORT, START_NS)

    quotes, orders = quotes_of(market), orders_of(market)

    times_ns = np.sort(np.concatenate((quotes.intended_ns, orders.intended_ns)))
    assert times_ns.tolist() == [START_NS + i * 50_000 for i in range(20_000)]
    assert (np.diff(quotes.intended_ns) > 0).all()
    assert (np.diff(orders.intended_ns) > 0).all()
    assert decode(NBBO, quotes.rows.tobytes()).ints("intended_us").tolist() == (quotes.intended_ns // 1000).tolist()
    assert decode(ORDER, orders.rows.tobytes()).ints("intended_us").tolist() == (orders.intended_ns // 1000).tolist()


@pytest.mark.parametrize("phase", [Phase.WARM_UP, Phase.MEASURED])
@pytest.mark.parametrize("shards", [2, 3])
def test_shards_partition_the_messages(phase: Phase, shards: int) -> None:
    parameters = replace(SHORT, phase=phase)
    whole = Market(parameters, START_NS)

    parts = [Market(replace(parameters, shard=shard, shards=shards), START_NS) for shard in range(shards)]

    for stream_of in (quotes_of, orders_of):
        rows = [bytes(row) for part in parts for row in stream_of(part).rows]
        assert sorted(rows) == sorted(bytes(row) for row in stream_of(whole).rows)
    symbols = [{bytes(row[1:7]) for row in (*quotes_of(part).rows, *orders_of(part).rows)} for part in parts]
    assert sum(map(len, symbols)) == len(set.union(*symbols)) == 450
    assert sum(part.messages for part in parts) == 20_000
    assert min(part.messages for part in parts) > 4_000


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("shards", [1, 3])
def test_messages_due_agrees_with_the_blocks(profile: AnyProfile, shards: int) -> None:
    market = Market(replace(SHORT, profile=profile, shard=shards - 1, shards=shards), START_NS)
    times_ns = np.concatenate((quotes_of(market).intended_ns, orders_of(market).intended_ns))

    for moment_ns in (START_NS - 1, START_NS, START_NS + 1, *(START_NS + 123_456_789 * i for i in range(1, 25))):
        due = Market(replace(SHORT, profile=profile, shard=shards - 1, shards=shards), START_NS).messages_due(moment_ns)
        assert due == market.messages_due(moment_ns) == int((times_ns < moment_ns).sum())


def test_what_was_made_is_not_drawn_again_to_count_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender asks 20 times a second how many messages are due."""
    whole_chunks = Constant(5 * CHUNK_MESSAGES, 1)
    market = Market(replace(SHORT, profile=whole_chunks, shard=1, shards=3), START_NS)

    made = sum(len(block.quotes) + len(block.orders) for block in market.blocks())
    monkeypatch.setattr(market, "_drawing", None)

    assert market.messages == made


@pytest.mark.parametrize(("order_share", "orders"), [(0, 0), (0.25, 5_000), (0.5, 10_000), (1, 20_000)])
def test_the_share_of_orders_is_exact(order_share: float, orders: int) -> None:
    market = Market(replace(SHORT, order_share=order_share), START_NS)

    found = decode(ORDER, orders_of(market).rows.tobytes())

    assert found.ints("order_id").tolist() == list(range(1, orders + 1))
    assert len(quotes_of(market)) == 20_000 - orders
    assert market.messages == 20_000


def test_every_message_is_readable_and_in_its_symbol_s_bucket() -> None:
    market = Market(SHORT, START_NS)
    symbols = universe(350, 8)

    for layout, stream in ((NBBO, quotes_of(market)), (ORDER, orders_of(market))):
        found = decode(layout, stream.rows.tobytes())
        assert found.readable.all()
        assert stream.buckets.tolist() == symbols.bucket[ids_of(found)].tolist()


def test_orders_have_the_reference_s_fields() -> None:
    found = decoded_orders(PARAMETERS)

    assert len(found.readable) == 200_000
    assert np.unique(found.ints("quantity")).tolist() == list(range(10, 651, 10))
    assert np.unique(found.ints("account")).tolist() == list(range(1, 301))
    assert chi_squared(np.bincount(found.ints("quantity") // 10)[1:]) < 110
    assert chi_squared(np.bincount(found.ints("account"))[1:]) < 400
    assert 98_900 < int((found.columns["side"] == ord("B")).sum()) < 101_100
    assert found.ints("price").tolist() == universe(350, 8).price[ids_of(found)].tolist()


def test_most_orders_are_on_the_first_fifth_of_the_symbols() -> None:
    ids = ids_of(decoded_orders(PARAMETERS))

    accepted = ids[(ids >= 15) & (ids < 350)]

    assert 197_500 < len(accepted) < 198_500
    assert 0.828 < (accepted < 15 + 67).mean() < 0.836
    assert chi_squared(np.bincount(accepted - 15)[:67]) < 115
    assert chi_squared(np.bincount(accepted - 15)[67:]) < 370


def test_one_order_in_a_hundred_is_rejected_if_asked() -> None:
    ids = ids_of(decoded_orders(replace(PARAMETERS, rejected_share=0.01)))

    counts = np.bincount(ids[ids < 15], minlength=15)

    assert 1_760 < counts.sum() < 2_200
    assert chi_squared(counts) < 40


def test_one_order_in_seventy_thousand_is_rejected_by_default() -> None:
    parameters = replace(PARAMETERS, profile=Constant(700_000, 10))
    drawing = Drawing(parameters, universe(350, 8), parameters.profile)

    rejected = 0
    for chunk in range(drawing.chunks):
        draw = drawing.chunk(chunk)
        rejected += int((draw.is_order & (draw.symbol_id < 15)).sum())

    assert 20 < rejected < 85


def test_no_order_is_rejected_if_asked() -> None:
    ids = ids_of(decoded_orders(replace(PARAMETERS, rejected_share=0, probes_per_s=0)))

    assert ids.min() == 15
    assert ids.max() == 349


def test_probes_lie_at_uniform_positions() -> None:
    market = Market(PARAMETERS, START_NS)
    orders = orders_of(market)
    is_probe = ids_of(decode(ORDER, orders.rows.tobytes())) >= 350

    offsets_us = (orders.intended_ns[is_probe] - START_NS) // 1000
    places = np.flatnonzero(is_probe)

    assert 1_800 < len(places) < 2_200
    assert chi_squared(np.bincount(offsets_us // 500_000, minlength=20)) < 45
    assert chi_squared(np.bincount(offsets_us % 1_000_000 // 50_000, minlength=20)) < 45
    assert chi_squared(np.bincount(places % 200 // 10, minlength=20)) < 45


def test_probes_are_drawn_as_other_orders_are() -> None:
    """Hot and cold ones, and no single key that decides what a percentile of the latency is."""
    parameters = replace(PARAMETERS, probes_per_s=2_000)
    orders = orders_of(Market(parameters, START_NS))
    ids = ids_of(decode(ORDER, orders.rows.tobytes()))
    is_probe = ids >= 350

    counts = np.bincount(ids[is_probe] - 350, minlength=100)

    assert 19_500 < counts.sum() < 20_500
    assert 0.82 < counts[:20].sum() / counts.sum() < 0.845
    assert chi_squared(counts[:20]) < 45
    assert chi_squared(counts[20:]) < 125
    assert counts.max() / counts.sum() < 0.05
    assert np.bincount(orders.buckets[is_probe], minlength=8).min() > 300


def test_probes_keep_their_rate_through_a_burst() -> None:
    parameters = replace(PARAMETERS, profile=Burst(5_000, 100_000, 2, 1, 8))
    orders = orders_of(Market(parameters, START_NS))
    is_probe = ids_of(decode(ORDER, orders.rows.tobytes())) >= 350

    is_burst = (orders.intended_ns[is_probe] - START_NS) % 2_000_000_000 >= 1_000_000_000

    assert 660 < int(is_burst.sum()) < 940
    assert 660 < int((~is_burst).sum()) < 940


def test_all_orders_are_probes_where_there_are_too_few() -> None:
    ids = ids_of(decoded_orders(replace(PARAMETERS, profile=Constant(100, 60))))

    assert len(ids) == 3_000
    assert (ids >= 350).all()


def test_quotes_are_uniform_over_all_symbols() -> None:
    counts = np.bincount(ids_of(decoded_quotes(PARAMETERS)), minlength=450)

    assert counts.sum() == 200_000
    assert chi_squared(counts) < 560


def test_verdicts_of_all_but_probes_never_change() -> None:
    parameters = [replace(PARAMETERS, phase=phase) for phase in (Phase.INITIAL, Phase.WARM_UP, Phase.MEASURED)]
    quotes = [decoded_quotes(each) for each in parameters]

    ids = np.concatenate([ids_of(each) for each in quotes])
    is_reject = np.concatenate([rejects(each) for each in quotes])

    assert set(ids[is_reject]) == {*range(15), *range(350, 450)}
    assert set(ids[~is_reject & (ids < 350)]) == set(range(15, 350))


def test_probes_are_wide_until_the_measured_phase() -> None:
    for phase in (Phase.INITIAL, Phase.WARM_UP):
        quotes = decoded_quotes(replace(PARAMETERS, phase=phase))
        assert rejects(quotes)[ids_of(quotes) >= 350].all()


@pytest.mark.parametrize("seed", [7, 8])
def test_probes_take_turns_at_moments_of_their_own(seed: int) -> None:
    """Wide for 16 s, tight for 4, whatever the seed: a state that is not kept up to date gets verdicts wrong.

    One in twenty is tight for 16 of 80 s, one for 64 of 320 s: a job that is seconds behind needs a right state, too.
    """
    parameters = replace(PARAMETERS, seed=seed, profile=Constant(40_000, 15))
    market = Market(parameters, START_NS)
    stream = quotes_of(market)
    quotes = decode(NBBO, stream.rows.tobytes())
    probe = ids_of(quotes) - 350
    is_probe = probe >= 0

    offset_s = (stream.intended_ns[is_probe] - START_NS) / 1e9
    turn_s = np.select([probe[is_probe] % 20 == 3, probe[is_probe] % 20 == 8], [80, 320], 20)
    into_turn_s = (offset_s + turn_s * (probe[is_probe] * 0.6180339887498949 % 1)) % turn_s
    is_wide = rejects(quotes)[is_probe]
    changes = sum(int(np.diff(is_wide[probe[is_probe] == i]).sum()) for i in range(100))

    assert (is_wide == (into_turn_s < 0.8 * turn_s))[np.abs(into_turn_s - 0.8 * turn_s) > 1e-6].all()
    assert 0.78 < is_wide.mean() < 0.82
    assert changes > 130
    for second in range(15):
        assert 0.7 < is_wide[offset_s // 1 == second].mean() < 0.9


@pytest.mark.parametrize(("tight_share", "wide"), [(0, 1), (0.5, 0.5), (1, 0)])
def test_probes_are_tight_for_the_share_that_is_asked(tight_share: float, wide: float) -> None:
    quotes = decoded_quotes(replace(PARAMETERS, profile=Constant(20_000, 20), tight_share=tight_share))

    assert rejects(quotes)[ids_of(quotes) >= 350].mean() == pytest.approx(wide, abs=0.02)


Prices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Met:
    """The orders of a minute at 20,000 messages a second, with the quote that each meets if nothing is late."""

    offset_s: npt.NDArray[np.float64]
    is_probe: npt.NDArray[np.bool_]
    bid: Prices
    offer: Prices


def met_in(initial: Market, market: Market) -> Met:
    quotes, orders = joined((quotes_of(initial), quotes_of(market)), NBBO.width), orders_of(market)
    of_quotes, of_orders = decode(NBBO, quotes.rows.tobytes()), decode(ORDER, orders.rows.tobytes())
    quote_ids, order_ids = (
        ids_in(market.symbols, found.columns["symbol"].astype("S6")) for found in (of_quotes, of_orders)
    )
    by_symbol = np.argsort(quote_ids, kind="stable")
    keys = quote_ids[by_symbol] * 10**12 + (quotes.intended_ns[by_symbol] - START_NS + 10**10)
    newest = by_symbol[np.searchsorted(keys, order_ids * 10**12 + orders.intended_ns - START_NS + 10**10) - 1]
    assert (quote_ids[newest] == order_ids).all()
    bid, offer = of_quotes.ints("bid")[newest], of_quotes.ints("offer")[newest]
    is_probe = order_ids >= market.symbols.probe_ids[0]
    return Met((orders.intended_ns - START_NS) / 1e9, is_probe, bid, offer)


@pytest.fixture(scope="module")
def met() -> Met:
    parameters = replace(PARAMETERS, seed=1, profile=Constant(20_000, 60))
    initial = Market(replace(parameters, phase=Phase.INITIAL), START_NS - 10**10)
    return met_in(initial, Market(parameters, START_NS))


@pytest.fixture(scope="module", params=WORKLOADS, ids=lambda path: path.stem)
def met_as_shipped(request: pytest.FixtureRequest) -> Met:
    """What a shipped workload offers at first: 1.2 million messages, or a minute."""
    shipped = read_workload(request.param)
    seconds = min(60.0, 1_200_000 / shipped.load.highest_per_s)
    plan = plan_of_workload(overridden(shipped.changed(faults=None), Overrides(duration_s=seconds)))
    initial, measured = plan.initial.open(START_NS - 10**10), plan.measured.open(START_NS)
    assert isinstance(initial, Market)
    assert isinstance(measured, Market)
    return met_in(initial, measured)


def deciding(met: Met, case: str) -> npt.NDArray[np.bool_]:
    """Which orders a case of the rule decides."""
    spread, margin = met.offer - met.bid, 40 * (met.offer - met.bid) - met.bid - met.offer
    is_dear = met.bid >= 9_999
    by_margin = ~is_dear & (spread > 0) & (spread < 500)
    cases: dict[str, npt.NDArray[np.bool_]] = {
        "spread = 499": is_dear & (spread == 499),
        "spread = 500": is_dear & (spread == 500) & (margin < 0),
        "spread = 501": is_dear & (spread == 501) & (margin < 0),
        "spread from 502 to 799": is_dear & (spread > 501) & (spread < 800) & (margin < 0),
        "spread from 10 cents": is_dear & (spread >= 1_000) & (margin < 0),
        "spread of a dollar": is_dear & (spread >= 10_000),
        "spread from 0 to 4 cents": is_dear & np.isin(spread, (0, 100, 200, 300, 400)),
        "spread between whole cents": is_dear & (spread > 0) & (spread < 499) & (spread % 100 > 0),
        "margin < -1": by_margin & (margin < -1),
        "margin = -1": by_margin & (margin == -1),
        "margin = 0": by_margin & (margin == 0),
        "margin = 1": by_margin & (margin == 1),
        "margin > 1": by_margin & (margin > 1),
        "more than 10 percent": by_margin & (20 * spread >= met.bid + met.offer),
        "crossed by 5 cents": is_dear & (spread <= -500),
        "crossed by 5 percent": ~is_dear & (spread > -500) & (spread < 0) & (-40 * spread >= met.bid + met.offer),
        "no market": (met.bid == 0) & (met.offer == 0),
    }
    return cases[case]


CASES = {
    "spread = 499": True,
    "spread = 500": False,
    "spread = 501": False,
    "spread from 502 to 799": False,
    "spread from 10 cents": False,
    "spread of a dollar": False,
    "spread from 0 to 4 cents": True,
    "spread between whole cents": True,
    "margin < -1": True,
    "margin = -1": True,
    "margin = 0": False,
    "margin = 1": False,
    "margin > 1": False,
    "more than 10 percent": False,
    "crossed by 5 cents": True,
    "crossed by 5 percent": True,
    "no market": False,
}


@pytest.mark.statistical
@pytest.mark.parametrize(("case", "of_others"), CASES.items())
def test_every_case_of_the_rule_decides_hundreds_of_orders(met: Met, case: str, of_others: bool) -> None:
    """On probes all cases do; on others those that accept, as next to no order of theirs is rejected."""
    decides = deciding(met, case)

    assert int((decides & met.is_probe).sum()) > 100
    assert (int((decides & ~met.is_probe).sum()) > 500) is of_others


@pytest.mark.statistical
@pytest.mark.parametrize("case", CASES)
def test_every_case_of_the_rule_is_met_in_each_workload_that_ships(met_as_shipped: Met, case: str) -> None:
    assert (deciding(met_as_shipped, case) & met_as_shipped.is_probe).any()


def _bounds(cents: int = 500, factor: int = 40) -> Callable[[Prices, Prices], npt.NDArray[np.bool_]]:
    return lambda bid, offer: (offer - bid >= cents) | (factor * (offer - bid) >= bid + offer)


MUTANTS: dict[str, Callable[[Prices, Prices], npt.NDArray[np.bool_]]] = {
    "d >= 400": _bounds(400),
    "d >= 499": _bounds(499),
    "d >= 501": _bounds(501),
    "d > 500": lambda bid, offer: (offer - bid > 500) | (40 * (offer - bid) >= bid + offer),
    "cents alone": lambda bid, offer: offer - bid >= 500,
    "percent alone": lambda bid, offer: 40 * (offer - bid) >= bid + offer,
    "39": _bounds(factor=39),
    "41": _bounds(factor=41),
    "percent >": lambda bid, offer: (offer - bid >= 500) | (40 * (offer - bid) > bid + offer),
    "abs(d)": lambda bid, offer: (abs(offer - bid) >= 500) | (40 * abs(offer - bid) >= bid + offer),
    "abs(d) of cents": lambda bid, offer: (abs(offer - bid) >= 500) | (40 * (offer - bid) >= bid + offer),
    "abs(d) of percent": lambda bid, offer: (offer - bid >= 500) | (40 * abs(offer - bid) >= bid + offer),
    "9 cents accept": lambda bid, offer: _bounds()(bid, offer) & (offer - bid < 900),
    "a dollar accepts": lambda bid, offer: _bounds()(bid, offer) & (offer - bid < 10_000),
    "10 percent accept": lambda bid, offer: _bounds()(bid, offer) & ((20 * (offer - bid) < bid + offer) | (offer < 1)),
    "4 to 4.98 cents reject": lambda bid, offer: _bounds()(bid, offer) | ((offer - bid >= 400) & (offer - bid < 499)),
    "0/0 accepts": lambda bid, offer: _bounds()(bid, offer) & (offer > 0),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_rule_is_wrong_on_a_hundred_orders_of_15_s(met: Met, mutant: str) -> None:
    in_time = met.offset_s < 15
    bid, offer = met.bid[in_time], met.offer[in_time]

    differs = MUTANTS[mutant](bid, offer) != _bounds()(bid, offer)

    assert int(differs.sum()) > 100


def test_a_state_that_is_not_kept_up_to_date_is_wrong_on_a_fifth_of_the_probes(met: Met) -> None:
    is_wide = _bounds()(met.bid, met.offer)[met.is_probe]

    assert 0.78 < is_wide.mean() < 0.82


@pytest.mark.parametrize("symbols", [2_926, 100_000])
def test_larger_universes_keep_their_verdicts(symbols: int) -> None:
    parameters = replace(PARAMETERS, symbols=symbols, phase=Phase.INITIAL)
    market = Market(parameters, START_NS)

    is_reject = rejects(decode(NBBO, quotes_of(market).rows.tobytes()))

    assert np.flatnonzero(~is_reject).tolist() == market.symbols.accepting_ids.tolist()


def test_changing_symbols_flip_by_a_coin() -> None:
    quotes = decoded_quotes(replace(PARAMETERS, changing_symbols=5))
    ids = ids_of(quotes)

    wide = np.array([rejects(quotes)[ids == symbol_id].mean() for symbol_id in range(15, 350)])

    assert np.flatnonzero(wide).tolist() == [0, 67, 134, 201, 268]
    assert ((wide[::67] > 0.38) & (wide[::67] < 0.62)).all()


def test_sequences_rise_from_phase_to_phase() -> None:
    initial, warm_up, measured = (
        decoded_quotes(replace(SHORT, phase=phase)).ints("sequence")
        for phase in (Phase.INITIAL, Phase.WARM_UP, Phase.MEASURED)
    )

    assert initial.tolist() == list(range(1, 451))
    assert (np.diff(np.concatenate((initial, warm_up, measured))) > 0).all()
    assert 10_000_000_001 <= warm_up[0] < warm_up[-1] <= 10_000_020_000
    assert 20_000_000_001 <= measured[0] < measured[-1] <= 20_000_020_000


def test_the_initial_phase_is_one_quote_of_each_symbol_at_the_rate() -> None:
    market = Market(replace(SHORT, phase=Phase.INITIAL, profile=Constant(1_000, 1)), START_NS)

    quotes = quotes_of(market)

    assert market.messages == 450
    assert ids_of(decode(NBBO, quotes.rows.tobytes())).tolist() == list(range(450))
    assert quotes.intended_ns.tolist() == [START_NS + i * 1_000_000 for i in range(450)]
    assert len(orders_of(market)) == 0
    assert market.messages_due(START_NS + 10_000_001) == 11


def test_warm_up_is_like_the_measured_load_with_order_ids_of_its_own() -> None:
    """What the job's code is compiled for in the warm-up must be what the measured load then does."""
    warm_up, measured = (
        Market(replace(PARAMETERS, phase=phase), START_NS) for phase in (Phase.WARM_UP, Phase.MEASURED)
    )

    orders = decode(ORDER, orders_of(warm_up).rows.tobytes())

    assert len(orders.readable) == len(orders_of(measured))
    assert len(quotes_of(warm_up)) == len(quotes_of(measured))
    accepted = ids_of(orders) < 350
    assert 0.98 < accepted.mean() < 1
    assert orders.ints("order_id").min() == 9_000_000_000
    assert (np.diff(orders.ints("order_id")) > 0).all()
    assert orders.ints("order_id").max() < 10_000_000_000


@pytest.mark.parametrize(("buckets", "rate"), [(8, 1_000), (8, 300_000), (128, 1_000), (256, 20_000)])
def test_warm_up_probes_every_bucket_every_second(buckets: int, rate: int) -> None:
    parameters = replace(PARAMETERS, buckets=buckets, phase=Phase.WARM_UP, profile=Constant(rate, 3))

    orders = orders_of(Market(parameters, START_NS))

    for second in range(3):
        in_second = (orders.intended_ns - START_NS) // 1_000_000_000 == second
        assert set(orders.buckets[in_second]) == set(range(buckets))


def test_all_errors_of_the_parameters_are_named_at_once() -> None:
    with pytest.raises(UsageError) as raised:
        MARKET.read(
            {
                "seed": -1,
                "symbols": 100,
                "order_share": 1.5,
                "profile": {"profile": "constant", "messages_per_s": 0, "duration_s": 1},
                "speed": 1,
            }
        )

    assert str(raised.value) == (
        "seed=-1; use a whole number from 0 to 9223372036854775807; "
        "buckets is missing; use a whole number from 1 to 1024; "
        "profile.messages_per_s=0; use a whole number from 1 to 10000000; "
        "symbols=100; use a whole number from 350 to 100000; "
        "order_share=1.5; use a number from 0 to 1; "
        "speed is unknown; leave it out"
    )


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"changing_symbols": 336}, "changing_symbols=336; use at most 335, the accepting symbols"),
        ({"shard": 2, "shards": 2}, "shard=2; use less than shards=2"),
        ({"phase": "late"}, "phase='late'; use one of initial, warm_up, measured"),
        (
            {
                "phase": "warm_up",
                "profile": {"profile": "constant", "messages_per_s": 1_000_000, "duration_s": 1001},
            },
            "the profile calls for 1001000000 messages; use at most 1000000000 in the phase warm_up",
        ),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(change: dict[str, object], error: str) -> None:
    with pytest.raises(UsageError) as raised:
        MARKET.read({**MARKET.to_mapping(PARAMETERS), **change})

    assert str(raised.value) == error


def test_parameters_survive_their_mapping() -> None:
    parameters = replace(PARAMETERS, phase=Phase.WARM_UP, tight_share=0.5, changing_symbols=3, shard=1, shards=2)

    assert MARKET.read(MARKET.to_mapping(parameters)) == parameters


def test_parameters_have_the_reference_s_defaults() -> None:
    parameters = MARKET.read(
        {"seed": 1, "buckets": 8, "profile": {"profile": "constant", "messages_per_s": 5, "duration_s": 1}}
    )

    assert parameters.symbols == 350
    assert parameters.rejected_share == 1 / 70_000
    assert parameters.order_share == 0.5
    assert parameters.probes_per_s == 200
    assert parameters.phase is Phase.MEASURED


def test_a_block_is_of_the_shard_only() -> None:
    market = Market(replace(SHORT, shard=1, shards=2), START_NS)

    blocks: list[Block] = list(market.blocks())

    ids = np.concatenate([ids_of(decode(NBBO, block.quotes.rows.tobytes())) for block in blocks])
    assert (ids % 2 == 1).all()
