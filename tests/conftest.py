"""What holds for all tests."""

from hypothesis import settings

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("market_spread", deadline=None, print_blob=True)
settings.load_profile("market_spread")
