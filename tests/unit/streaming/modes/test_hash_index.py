"""Where keys are in a sorted array."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from market_spread.streaming.modes.micro_batch.kernels import MISSING, find_keys

WORDS = st.integers(0, 2**64 - 1)


@given(known=st.sets(WORDS, max_size=300), others=st.lists(WORDS, max_size=50), seed=st.integers(0, 9))
def test_every_key_is_found_and_no_other(known: set[int], others: list[int], seed: int) -> None:
    """Some 300 keys in a table of 4,096 entries: several share one."""
    ascending = np.array(sorted(known), np.uint64)
    keys = np.random.default_rng(seed).permutation(np.array([*known, *known, *others], np.uint64))

    indexes = find_keys(keys, ascending)

    where = {key: index for index, key in enumerate(ascending.tolist())}
    assert indexes.tolist() == [where.get(key, MISSING) for key in keys.tolist()]


def test_a_hundred_thousand_symbols_are_found() -> None:
    ascending = np.unique(np.frombuffer(b"".join(f"S{i:05}\0\0".encode() for i in range(100_000)), np.uint64))
    keys = np.random.default_rng(1).choice(ascending, 200_000)

    assert (ascending[find_keys(keys, ascending)] == keys).all()
