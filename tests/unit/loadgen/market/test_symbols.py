import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.wire.layout import SYMBOL_ALPHABET
from market_spread.loadgen.market.symbols import buckets_of, universe
from tests.support.buckets import bucket_of

SIZES = [350, 2926, 100_000]


@pytest.mark.parametrize("symbols", SIZES)
def test_names_are_distinct_and_fit_the_field(symbols: int) -> None:
    names = [name.decode() for name in universe(symbols, 16).names]

    assert len(names) == symbols + max(100, symbols // 10)
    assert len({name.rstrip() for name in names}) == len(names)
    assert all(len(name) == 6 and name[0] != " " for name in names)
    assert {letter for name in names for letter in name.rstrip()} <= set(SYMBOL_ALPHABET)


@pytest.mark.parametrize(("symbols", "rejecting"), [(350, 15), (700, 30), (2926, 125), (100_000, 4285)])
def test_the_share_of_rejecting_symbols_is_that_of_the_reference(symbols: int, rejecting: int) -> None:
    found = universe(symbols, 4)

    assert len(found.rejecting_ids) == rejecting
    assert len(found.accepting_ids) == symbols - rejecting


@pytest.mark.parametrize("symbols", SIZES)
def test_the_first_rejecting_symbols_are_the_reference_s(symbols: int) -> None:
    names = universe(symbols, 4).names[:15].tolist()

    assert names == [
        *(b"INSM  ", b"PPHM  ", b"NYCB  ", b"NFX   ", b"TMO   ", b"TGT   ", b"GOOG  ", b"SIAL  "),
        *(b"GPS   ", b"MYGN  ", b"MDRX  ", b"TTPH  ", b"NI    ", b"IVR   ", b"SLH   "),
    ]


@pytest.mark.parametrize("buckets", [1, 2, 7, 64, 1024])
def test_every_bucket_has_probes_and_one_that_tells_readiness(buckets: int) -> None:
    found = universe(350, buckets)

    names = [found.names[probe].decode().rstrip() for probe in found.readiness_ids]

    assert all(name[0] == "/" for name in names)
    assert [bucket_of(name, buckets) for name in names] == list(range(buckets))
    assert found.bucket[found.readiness_ids].tolist() == list(range(buckets))
    assert found.probe_ids.tolist() == list(range(350, len(found)))
    assert len(found.probe_ids) >= 100
    for bucket, first in enumerate(found.readiness_ids):
        assert first == found.probe_ids[found.bucket[found.probe_ids] == bucket].min()


def test_a_fifth_of_the_accepting_symbols_and_of_the_probes_is_hot() -> None:
    found = universe(350, 8)

    assert np.flatnonzero(found.is_hot(found.names)).tolist() == [*range(15, 15 + 67), *range(350, 370)]
    asked = np.array([found.names[350], b"/A", b"INSM  ", found.names[369], found.names[370], b"none", b""], "S6")
    assert found.is_hot(asked).tolist() == [True, True, False, True, False, False, False]
    assert len(found.is_hot(np.empty(0, "S6"))) == 0


def test_every_bucket_has_symbols_that_accept() -> None:
    found = universe(350, 8)

    loads = np.bincount(found.bucket[found.accepting_ids], minlength=8)

    assert loads.sum() == 335
    assert loads.min() >= 20


@pytest.mark.parametrize("symbols", SIZES)
def test_prices_are_whole_cents_and_one_symbol_in_eight_is_cheap(symbols: int) -> None:
    found = universe(symbols, 4)
    is_cheap = found.price < 10_000

    assert (found.price % 100 == 0).all()
    assert found.price[~is_cheap].max() <= 9_990_000
    assert 500 <= found.price[is_cheap].min() < found.price[is_cheap].max() <= 9_400
    assert len(np.unique(found.price[~is_cheap])) > 250
    for ids, share in ((found.rejecting_ids, 1 / 8), (found.accepting_ids, 1 / 8), (found.probe_ids, 1 / 4)):
        assert abs(int(is_cheap[ids].sum()) - share * len(ids)) <= 1


def test_a_universe_is_always_the_same() -> None:
    one, other = universe(700, 8), universe(700, 8)

    assert one.cells.tobytes() == other.cells.tobytes()
    assert one.price.tolist() == other.price.tolist()
    assert [one.names[i] for i in (15, 16, 17, 699)] == [b"A.A   ", b"PQXH  ", b"FHUO  ", b"DXFE  "]
    assert one.price[:4].tolist() == [1_040_000, 6_850_000, 1_300_000, 1_610_000]


@given(
    st.lists(st.text(alphabet=SYMBOL_ALPHABET, min_size=1, max_size=6), min_size=1, max_size=50),
    st.integers(1, 1024),
)
def test_buckets_of_many_names_equal_the_bucket_of_each(names: list[str], buckets: int) -> None:
    cells = np.frombuffer("".join(name.ljust(6) for name in names).encode(), np.uint8).reshape(-1, 6)

    found = buckets_of(cells, buckets)

    assert found.tolist() == [bucket_of(name, buckets) for name in names]
