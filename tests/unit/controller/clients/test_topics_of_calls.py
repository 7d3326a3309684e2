"""The topics that a run's calls name: those of its job, with their prefix, and no others."""

from contextlib import closing
from typing import Any

import pytest

from market_spread.common.job_contract import TOPICS
from market_spread.controller.clients import services
from market_spread.controller.clients.services import Addresses, Clients
from market_spread.controller.plan.plan import PlannedLoad
from market_spread.v1 import control_pb2 as pb

NOWHERE = "127.0.0.1:1"


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked; nobody is called."""
    asked: list[Any] = []

    def call(_process: str, _method: object, request: Any, *_: object) -> Any:
        asked.append(request)
        return pb.StartSendingResponse(start_unix_ns=1)

    monkeypatch.setattr(services, "_call", call)
    return asked


def test_every_call_names_the_topics_with_the_prefix(requests: list[Any]) -> None:
    addresses = Addresses(
        NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE, f"http://{NOWHERE}", topics=TOPICS.prefixed("trial.")
    )

    with closing(Clients(addresses, decisions="all")) as clients:
        clients.start_sending(
            PlannedLoad("market", {}), pb.StartSendingRequest(run_id="r", linger_us=1, frame_messages=1)
        )
        clients.describe_topics()
        clients.start_receiving("r")

    sending, describing, receiving = requests
    assert (sending.nbbo_topic, sending.orders_topic) == ("trial.nbbo", "trial.orders")
    assert list(describing.topics) == [
        "trial.nbbo", "trial.orders", "trial.alerts", "trial.invalid", "trial.decisions",
    ]  # fmt: skip
    assert describing.nbbo_topic == "trial.nbbo"
    assert (receiving.alerts_topic, receiving.invalid_topic) == ("trial.alerts", "trial.invalid")
    assert receiving.decisions_topic == "trial.decisions"


def test_the_topics_of_a_load_of_records_have_no_other_prefix(requests: list[Any]) -> None:
    with closing(Clients(Addresses(NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE, f"http://{NOWHERE}"))) as clients:
        clients.start_sending(
            PlannedLoad("records", {}),
            pb.StartSendingRequest(run_id="r", linger_us=1, frame_messages=1, topics=["mine.trips"]),
        )

    (sending,) = requests
    assert (list(sending.topics), sending.nbbo_topic, sending.orders_topic) == (["mine.trips"], "", "")
