from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from market_spread.common.errors import UsageError
from market_spread.common.load.schedule import AnyProfile, Burst, Constant, Profile, Ramp, Steps
from market_spread.common.schema import ONLY_KNOWN_KEYS, Schema

RATES = st.one_of(st.integers(0, 50), st.integers(0, 20_000))
POSITIVE_RATES = RATES.map(lambda rate: rate + 1)
SECONDS = st.floats(0.001, 2.0, allow_nan=False)
CONSTANTS = st.builds(Constant, POSITIVE_RATES, SECONDS)
STEPS = st.builds(Steps, st.lists(st.builds(Constant, RATES, SECONDS), min_size=1, max_size=4).map(tuple))
RAMPS = st.builds(Ramp, RATES, RATES, SECONDS)
BURSTS = st.builds(
    lambda base, burst, burst_s, base_s, duration: Burst(base, burst, burst_s + base_s, burst_s, duration),
    RATES,
    RATES,
    st.floats(0.001, 0.2),
    st.floats(0.001, 0.2),
    SECONDS,
)
PROFILES = st.one_of(CONSTANTS, STEPS, RAMPS, BURSTS).filter(lambda profile: profile.total() > 0)


@dataclass(frozen=True, slots=True)
class Offered:
    __pydantic_config__ = ONLY_KNOWN_KEYS

    load: AnyProfile


LOADS = Schema(Offered)


def profile_of(mapping: Mapping[str, object]) -> Profile:
    return LOADS.read({"load": mapping}).load


@given(PROFILES, st.floats(-0.1, 1.1))
@settings(max_examples=300)
def test_due_is_the_exact_inverse_of_offsets(profile: Profile, share: float) -> None:
    offsets_ns = profile.offsets_ns(0, profile.total())
    moment_ns = round(share * profile.duration_ns)

    due = profile.due(moment_ns)

    assert due == int((offsets_ns < moment_ns).sum())


@given(PROFILES, st.integers(0, 10**6))
@settings(max_examples=300)
def test_a_message_is_due_just_after_its_offset_and_not_at_it(profile: Profile, number: int) -> None:
    number %= profile.total()

    offset_ns = int(profile.offsets_ns(number, 1)[0])

    assert profile.due(offset_ns) == number
    assert profile.due(offset_ns + 1) == number + 1


@given(PROFILES)
@settings(max_examples=200)
def test_offsets_ascend_strictly_and_end_before_the_duration(profile: Profile) -> None:
    offsets_ns = profile.offsets_ns(0, profile.total())

    assert (np.diff(offsets_ns) > 0).all()
    assert offsets_ns[0] >= 0
    assert offsets_ns[-1] < profile.duration_ns
    assert profile.due(profile.duration_ns + 10**9) == profile.total()
    assert profile.due(-1) == 0


@given(PROFILES, st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=200)
def test_a_part_of_the_offsets_equals_the_whole(profile: Profile, first: int, count: int) -> None:
    first %= profile.total()
    count %= profile.total() - first + 1

    part_ns = profile.offsets_ns(first, count)

    assert part_ns.tolist() == profile.offsets_ns(0, profile.total())[first : first + count].tolist()


@given(PROFILES)
def test_a_profile_survives_its_mapping(profile: AnyProfile) -> None:
    assert profile_of(LOADS.to_mapping(Offered(profile))["load"]) == profile


def test_constant_rate_has_exact_offsets() -> None:
    profile = Constant(3, 2)

    assert profile.total() == 6
    assert profile.offsets_ns(0, 6).tolist() == [0, 333333333, 666666666, 1000000000, 1333333333, 1666666666]


def test_constant_rate_stays_exact_far_into_a_long_run() -> None:
    profile = Constant(7_000_000, 604_800)

    assert profile.total() == 4_233_600_000_000
    assert profile.offsets_ns(4_233_599_999_999, 1).tolist() == [604_799_999_999_857]
    assert profile.due(604_799_999_999_858) == 4_233_600_000_000


@pytest.mark.parametrize(("count", "rate"), [(1, 1), (365, 20_000), (7, 3), (100_000, 9_999_991), (0, 5)])
def test_a_profile_of_so_many_messages_has_so_many(count: int, rate: int) -> None:
    profile = Constant.of_messages(count, rate_per_s=rate)

    assert profile.total() == count
    assert len(profile.offsets_ns(0, count)) == count


def test_steps_follow_one_another_with_a_pause_between() -> None:
    profile = Steps((Constant(2, 1), Constant(0, 1), Constant(4, 0.5)))

    assert profile.total() == 4
    assert profile.offsets_ns(0, 4).tolist() == [0, 500_000_000, 2_000_000_000, 2_250_000_000]


def test_a_ramp_calls_for_the_integral_of_its_rate() -> None:
    profile = Ramp(0, 8, 2)

    assert profile.total() == 8
    assert profile.due(500_000_001) == 1
    assert profile.due(1_000_000_001) == 3
    assert profile.offsets_ns(0, 3).tolist() == [0, 707_106_781, 1_000_000_000]


def test_a_long_fast_ramp_ascends_strictly_at_both_ends() -> None:
    profile = Ramp(3_000_000, 0, 3600)
    total = 5_400_000_000

    assert profile.total() == total
    for first in (0, total // 2, total - 10_000):
        offsets_ns = profile.offsets_ns(first, 10_000)
        assert (np.diff(offsets_ns) > 0).all()
        assert profile.due(int(offsets_ns[5_000])) == first + 5_000


def test_bursts_end_every_period() -> None:
    profile = Burst(2, 20, 1.0, 0.5, 2.0)

    assert profile.total() == 22
    assert profile.due(500_000_000) == 1
    assert profile.due(1_000_000_000) == 11
    assert profile.offsets_ns(10, 2).tolist() == [950_000_000, 1_000_000_000]


def test_the_highest_rate_is_known() -> None:
    assert Constant(5, 1).highest_per_s == 5
    assert Steps((Constant(5, 1), Constant(9, 1))).highest_per_s == 9
    assert Ramp(7, 3, 1).highest_per_s == 7
    assert Burst(1, 30, 1, 0.1, 9).highest_per_s == 30


def test_messages_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="messages 5 to 6 are not in 0 to 5"):
        Constant(3, 2).offsets_ns(5, 2)


def test_profile_of_reads_every_kind() -> None:
    assert profile_of({"profile": "constant", "messages_per_s": 20_000, "duration_s": 60}) == Constant(20_000, 60)
    assert profile_of({"profile": "steps", "steps": [{"messages_per_s": 1, "duration_s": 2}]}) == Steps(
        (Constant(1, 2),)
    )
    assert profile_of({"profile": "ramp", "from_messages_per_s": 0, "to_messages_per_s": 5, "duration_s": 1.5}) == Ramp(
        0, 5, 1.5
    )
    assert profile_of(
        {
            "profile": "burst",
            "messages_per_s": 1,
            "burst_messages_per_s": 2,
            "period_s": 1,
            "burst_s": 0.1,
            "duration_s": 9,
        }
    ) == Burst(1, 2, 1, 0.1, 9)


def test_all_errors_of_a_profile_are_named_at_once() -> None:
    with pytest.raises(UsageError) as raised:
        profile_of({"profile": "constant", "messages_per_s": -1, "speed": 1})

    assert str(raised.value) == (
        "load.messages_per_s=-1; use a whole number from 0 to 10000000; "
        "load.duration_s is missing; use a number from 0.001 to 604800; load.speed is unknown; leave it out"
    )


def test_errors_in_steps_name_the_step() -> None:
    with pytest.raises(UsageError, match=r"^load\.steps\[1\]\.messages_per_s='many'; use a whole number"):
        profile_of(
            {
                "profile": "steps",
                "steps": [{"messages_per_s": 1, "duration_s": 1}, {"messages_per_s": "many", "duration_s": 1}],
            }
        )


@pytest.mark.parametrize(
    ("mapping", "error"),
    [
        ({"profile": "sine"}, "profile='sine'; use one of burst, constant, ramp, steps"),
        ({"profile": "steps", "steps": []}, r"steps=\[\]; use a list of objects"),
        (
            {"profile": "ramp", "from_messages_per_s": 0, "to_messages_per_s": 0, "duration_s": 1},
            "profile='ramp'; give a rate above 0",
        ),
        (
            {
                "profile": "burst",
                "messages_per_s": 1,
                "burst_messages_per_s": 2,
                "period_s": 1,
                "burst_s": 1,
                "duration_s": 9,
            },
            "burst_s=1; use less than period_s=1",
        ),
        (
            {"profile": "constant", "messages_per_s": 0, "duration_s": 1},
            "messages_per_s=0; use a whole number from 1 to 10000000",
        ),
        (
            {"profile": "constant", "messages_per_s": True, "duration_s": float("nan")},
            "messages_per_s=True; use a whole number from 0 to 10000000; load.duration_s=nan; use a number",
        ),
    ],
)
def test_a_wrong_profile_says_what_would_be_right(mapping: dict[str, object], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        profile_of(mapping)
