"""Waiting for senders."""

from market_spread.controller.clients.services import Clients
from market_spread.v1.control_pb2 import Phase, SenderStatusResponse
from tests.support.waiting import eventually


def sent(clients: Clients, within_s: float) -> SenderStatusResponse:
    """What the sender says when it has sent all of its load. AssertionError if it fails, or takes longer."""
    status = clients.sender_status()

    def finished() -> bool:
        nonlocal status
        status = clients.sender_status()
        assert status.phase != Phase.PHASE_FAILED, status.detail
        return status.phase == Phase.PHASE_FINISHED

    eventually("all is sent", finished, within_s=within_s, detail=lambda: status)
    return status
