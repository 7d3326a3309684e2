import pytest

from market_spread.common.errors import UsageError
from market_spread.common.mapping import MappingReader


def test_right_values_are_taken_as_they_are() -> None:
    reader = MappingReader(
        {"count": 3, "share": 0.5, "mode": "fast", "path": "x", "part": {"n": 1}, "list": [{"n": 2}]}
    )

    taken = (
        reader.integer("count", low=1, high=3),
        reader.number("share", low=0, high=1),
        reader.choice("mode", ("slow", "fast")),
        reader.text("path"),
        reader.part("part").integer("n", low=0, high=9),
        [part.integer("n", low=0, high=9) for part in reader.parts("list")],
    )

    reader.finish()
    assert reader.clean
    assert taken == (3, 0.5, "fast", "x", 1, [2])


def test_defaults_stand_in_for_what_is_not_there() -> None:
    reader = MappingReader({})

    taken = (
        reader.integer("count", low=1, high=3, default=2),
        reader.number("share", low=0, high=1, default=0.25),
        reader.choice("mode", ("slow", "fast"), "fast"),
    )

    reader.finish()
    assert taken == (2, 0.25, "fast")


def test_every_error_is_named_with_its_path() -> None:
    reader = MappingReader({"count": 2.0, "path": "", "part": {"n": None, "m": 1}, "list": [{}, 3], "spare": 1})

    reader.integer("count", low=1, high=3)
    reader.text("path")
    reader.part("part").integer("n", low=0, high=9)
    reader.parts("list")
    reader.part("gone")
    reader.refuse("count and path do not fit together")

    assert not reader.clean
    with pytest.raises(UsageError) as raised:
        reader.finish()
    assert str(raised.value) == (
        "count=2.0; use a whole number from 1 to 3; path=''; use a text; list=[{}, 3]; use a list of objects; "
        "gone is missing; use an object; count and path do not fit together; spare is unknown; leave it out; "
        "part.n=None; use a whole number from 0 to 9; part.m is unknown; leave it out"
    )


def test_skipped_fields_are_not_unknown() -> None:
    reader = MappingReader({"duration_s": 60})

    reader.skip("duration_s", "absent")

    reader.finish()
    assert reader.clean
