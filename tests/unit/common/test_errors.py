"""What a caller and a shell see of an error."""

import grpc

from market_spread.common.errors import BrokerAwayError
from market_spread.common.grpc.calls import status_of


def test_a_broker_that_is_away_may_be_asked_again_and_spoils_a_run() -> None:
    error = BrokerAwayError("the broker is away")

    assert status_of(error) == (grpc.StatusCode.UNAVAILABLE, "the broker is away")
    assert error.exit_status == 3
