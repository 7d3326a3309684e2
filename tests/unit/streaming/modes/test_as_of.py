"""The as-of join on arrays, against one that takes rows one after the other."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from market_spread.streaming.modes.micro_batch.kernels import NEVER, AsOfIndex, BuildRows, join_as_of

KEYS = st.integers(0, 5)
BUILD_ROWS = st.lists(st.tuples(KEYS, st.integers(0, 20), st.integers(0, 30), st.integers(-9, 9)), max_size=40)
PROBE_ROWS = st.lists(st.tuples(KEYS, st.integers(0, 20)), max_size=40)


@dataclass
class Plain:
    """The latest of each key, by a loop."""

    newest: dict[int, tuple[int, int]]

    def run(self, build: list[tuple[int, int, int, int]], probe: list[tuple[int, int]]) -> list[tuple[int, int]]:
        events = [(time, 0, i) for i, (_, time, _, _) in enumerate(build)]
        events += [(time, 1, i) for i, (_, time) in enumerate(probe)]
        found: dict[int, tuple[int, int]] = {}
        for _, kind, i in sorted(events):
            if kind == 0:
                key, _, sequence, value = build[i]
                if sequence > self.newest.get(key, (NEVER, 0))[0]:
                    self.newest[key] = (sequence, value)
            else:
                found[i] = self.newest.get(probe[i][0], (NEVER, 0))
        return [found[i] for i in range(len(probe))]


def arrays(build: list[tuple[int, int, int, int]]) -> BuildRows:
    table = np.array(build, np.int64).reshape(-1, 4)
    return BuildRows(table[:, 0].astype(np.uint64), table[:, 1], table[:, 2:].T)


@given(st.lists(st.tuples(BUILD_ROWS, PROBE_ROWS), max_size=4))
def test_every_row_finds_what_a_loop_finds_batch_after_batch(
    batches: list[tuple[list[tuple[int, int, int, int]], list[tuple[int, int]]]],
) -> None:
    plain, state = Plain({}), AsOfIndex.from_bytes(b"", 2)
    for drawn, probe in batches:
        # Rows of one key and sequence are the same row: sequences are declared to be unique.
        build = [(key, time, sequence, (7 * key + sequence) % 10) for key, time, sequence, _ in drawn]
        expected = plain.run(build, probe)
        table = np.array(probe, np.int64).reshape(-1, 2)

        state, found = join_as_of(state, arrays(build), table[:, 0].astype(np.uint64), table[:, 1])

        assert list(zip(*found.tolist(), strict=True)) == expected
        state = AsOfIndex.from_bytes(state.to_bytes(), 2)
    known = dict(zip(state.keys.tolist(), zip(*state.columns.tolist(), strict=True), strict=True))
    assert {key: kept for key, kept in known.items() if kept[0] != NEVER} == plain.newest


def test_more_keys_than_16_bits_are_kept_apart() -> None:
    keys = np.arange(70_000, dtype=np.uint64)
    rng = np.random.default_rng(5)
    shuffled = rng.permutation(70_000)
    columns = np.array([np.ones(70_000, np.int64), shuffled])
    build = BuildRows(keys[shuffled], np.zeros(70_000, np.int64), columns)

    state, found = join_as_of(AsOfIndex.from_bytes(b"", 2), build, keys, np.ones(70_000, np.int64))

    assert (found[1] == np.arange(70_000)).all()
    assert (state.columns[1] == np.arange(70_000)).all()
