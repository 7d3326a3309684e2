"""Lists and masks of CPUs, and what counts as the wanted value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market_spread.common.processes import format_cpus
from market_spread.host_tuner.values import (
    Value,
    at_most,
    chosen,
    cpu_list,
    cpu_mask,
    exactly,
    format_mask,
    parse_list,
    parse_mask,
    to_restore,
)

CPUS = st.frozensets(st.integers(0, 255))


@given(CPUS)
def test_lists_and_masks_say_the_same_after_a_round_trip(cpus: frozenset[int]) -> None:
    assert parse_list(format_cpus(cpus)) == cpus
    assert parse_mask(format_mask(cpus)) == cpus


def test_they_are_written_as_the_kernel_writes_them() -> None:
    assert format_cpus({0, 9, 10, 11, 35}) == "0,9-11,35"
    assert format_mask({0, 9}) == "201"
    assert format_mask({0, 40}) == "100,00000001"
    assert parse_mask("00000000,00000201\n") == {0, 9}


@pytest.mark.parametrize("text", ["a", "1-", "3-1", "1,,2", "-1", "0-99999", "0x3"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CPUs"):
        parse_list(text)


@pytest.mark.parametrize(
    ("value", "right", "wrong"),
    [
        (exactly("2"), "2\n", "0\n"),
        (at_most(10), "10\n", "11\n"),
        (at_most(10), "0\n", "many\n"),
        (chosen("never"), "always madvise [never]\n", "always [madvise] never\n"),
        (cpu_list(frozenset({0, 9})), "0,9\n", "0-9\n"),
        (cpu_list(frozenset({0})), "0\n", "nonsense\n"),
        (cpu_mask(frozenset({0, 9})), "00000000,00000201\n", "3ffff\n"),
        (cpu_mask(frozenset({0})), "1\n", "nonsense\n"),
    ],
)
def test_right_and_wrong_are_told_apart(value: Value, right: str, wrong: str) -> None:
    assert value.accepts(right)
    assert not value.accepts(wrong)
    assert value.accepts(f"{value.written}\n")


def test_a_file_that_offers_words_is_restored_by_the_one_in_force() -> None:
    assert to_restore("always [madvise] never\n") == "madvise\n"
    assert to_restore("0-35\n") == "0-35\n"
