"""A broker that asks for TLS and a login: every process of ours gets in with it, and no one without."""

import gc
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from market_spread.common.clock import SystemClock
from market_spread.common.errors import BrokerAwayError, RunVoidError, UsageError
from market_spread.common.job_contract import TOPICS
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka import client
from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.kafka.security import KafkaSecurity
from market_spread.common.kafka.tokens import Tokens
from market_spread.common.wire.codec import decode_ledger
from market_spread.controller.clients.probe import kafka_round_trip
from market_spread.controller.clients.services import Addresses, Clients, sent_ends
from market_spread.controller.deploy.local.broker import free_port
from market_spread.controller.deploy.local.jvms import local_jvms
from market_spread.controller.deploy.local.services import Services
from market_spread.controller.plan.plan import PlannedLoad, orders_of, plan_of_workload, quotes_of
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.loadgen.columns import Alerts
from market_spread.loadgen.oracle.oracle import Oracle
from market_spread.receiver.service import ReceiverConfig
from market_spread.sender.service import SenderConfig
from market_spread.streaming.driver.config import JobConfig
from market_spread.v1.control_pb2 import StartSendingRequest
from tests.integration.test_your_system import change, of_template, run
from tests.support.secured_broker import PASSWORD, USER, SecuredBroker
from tests.support.sending import sent
from tests.support.token_endpoint import CLIENT, SCOPE, SECRET, TokenEndpoint

SMALL = Path(__file__).parent / "workloads" / "small.yaml"
TIMEOUT_S = 120

# The client leaves sockets of a refused login to the garbage collector, and log records hold them for a while.
pytestmark = [pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenEndpoint]:
    endpoint = TokenEndpoint(tmp_path_factory.mktemp("tokens") / "endpoint")
    endpoint.start()
    yield endpoint
    endpoint.stop()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, endpoint: TokenEndpoint) -> Iterator[SecuredBroker]:
    broker = SecuredBroker(tmp_path_factory.mktemp("secured") / "broker", endpoint)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


@pytest.fixture
def security(broker: SecuredBroker) -> KafkaSecurity:
    return broker.security


@pytest.fixture(autouse=True)
def _nothing_is_left_to_other_modules() -> Iterator[None]:
    yield
    gc.collect()


def test_record_goes_round_with_the_login(broker: SecuredBroker, security: KafkaSecurity) -> None:
    first = kafka_round_trip(KafkaBroker(broker.bootstrap_servers, security=security))

    assert kafka_round_trip(KafkaBroker(broker.bootstrap_servers, security=security)) == first + 1


@pytest.fixture
def soon() -> Iterator[None]:
    """Who does not get in gives up after 3 s; a login takes far less."""
    with patch.object(client, "CONNECT_TIMEOUT_S", 3.0):
        yield


def refusal(broker: SecuredBroker, security: KafkaSecurity) -> str:
    """What is said to who does not get in, and leaves nothing that goes on trying."""
    with pytest.raises(RunVoidError) as raised:
        KafkaBroker(broker.bootstrap_servers, security=security).partition_counts(["nbbo"])
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("kafka")] == []
    return str(raised.value)


@pytest.mark.usefixtures("soon")
def test_wrong_password_is_refused(broker: SecuredBroker, security: KafkaSecurity, tmp_path: Path) -> None:
    assert KafkaBroker(broker.bootstrap_servers, security=security).partition_counts([]) == {}
    (tmp_path / "password").write_text("wrong")

    sentence = refusal(broker, replace(security, kafka_password_file=tmp_path / "password"))

    assert sentence.startswith(f"the Kafka broker at {broker.bootstrap_servers} cannot be used")


@pytest.mark.usefixtures("soon")
# The client leaves the socket to the collector if its time is up in the middle of a handshake.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning")
def test_certificate_of_another_authority_is_refused(broker: SecuredBroker, security: KafkaSecurity) -> None:
    assert KafkaBroker(broker.bootstrap_servers, security=security).partition_counts([]) == {}
    sentence = refusal(broker, replace(security, kafka_ca_file=None))

    assert sentence.startswith(f"the Kafka broker at {broker.bootstrap_servers} cannot be used")


def test_wrong_secret_is_a_sentence_of_the_endpoint(
    broker: SecuredBroker, endpoint: TokenEndpoint, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("wrong")
    security = replace(security_of(broker.with_tokens), kafka_password_file=tmp_path / "secret")

    with pytest.raises(UsageError) as raised:
        KafkaBroker(broker.with_tokens["bootstrap_servers"], security=security).partition_counts(["nbbo"])

    assert str(raised.value) == (
        f"kafka_token_endpoint='{endpoint.url}' gives no token (HTTP 401 '{{\"error\": \"invalid_client\"}}'); "
        "correct it, the client's id or its secret"
    )


@pytest.mark.parametrize(
    ("instead", "kind", "sentence"),
    [
        ((302, {"Location": "http://127.0.0.1:9/"}, ""), UsageError, "HTTP 302 ''"),
        ((200, {}, "<html>login</html>"), UsageError, "Expecting value: line 1 column 1 (char 0)"),
        ((200, {}, '{"token_type": "Bearer"}'), UsageError, "'access_token'"),
        ((200, {}, '{"access_token": "x", "expires_in": 1e999}'), UsageError, "1e999 is no finite number"),
        ((200, {}, '{"access_token": "x", "expires_in": "soon"}'), UsageError, "can't multiply sequence"),
        ((502, {}, "bad gateway"), BrokerAwayError, "HTTP 502 'bad gateway'"),
    ],
)
def test_what_is_no_token_is_a_sentence_and_the_secret_goes_nowhere_else(
    endpoint: TokenEndpoint, instead: tuple[int, dict[str, str], str], kind: type[Exception], sentence: str
) -> None:
    before = len(endpoint.asked)

    with patch.object(endpoint, "instead", instead), pytest.raises(kind) as raised:
        Tokens(endpoint.url, CLIENT, SECRET, None, endpoint.ca_file)

    assert f"gives no token ({sentence}" in str(raised.value)
    assert len(endpoint.asked) == before + 1


def test_an_endpoint_of_another_authority_or_that_is_away_gets_no_secret(endpoint: TokenEndpoint) -> None:
    before = len(endpoint.asked)

    with pytest.raises(BrokerAwayError, match="certificate verify failed"):
        Tokens(endpoint.url, CLIENT, SECRET, None, None)
    with pytest.raises(BrokerAwayError, match="Connection refused"):
        Tokens(f"https://127.0.0.1:{free_port()}/token", CLIENT, SECRET, None, endpoint.ca_file)

    assert len(endpoint.asked) == before


def test_a_token_whose_time_is_not_said_is_asked_for_each_time(endpoint: TokenEndpoint) -> None:
    with patch.object(endpoint, "instead", (200, {}, '{"access_token": "x"}')):
        tokens, before = Tokens(endpoint.url, CLIENT, SECRET, SCOPE, endpoint.ca_file), len(endpoint.asked)
        assert [tokens.token(), tokens.token()] == ["x", "x"]

    assert len(endpoint.asked) == before + 2


@pytest.mark.usefixtures("soon")
def test_token_for_another_audience_or_that_is_over_is_refused(broker: SecuredBroker, endpoint: TokenEndpoint) -> None:
    servers, security = broker.with_tokens["bootstrap_servers"], security_of(broker.with_tokens)
    assert KafkaBroker(servers, security=security).partition_counts([]) == {}

    for wrong in ({"lifetime_s": -60}, {"audience": "another"}):
        with patch.multiple(endpoint, **wrong), pytest.raises(RunVoidError, match="cannot be used"):
            KafkaBroker(servers, security=security).partition_counts(["nbbo"])


def test_sender_job_and_receiver_work_over_it(broker: SecuredBroker, tmp_path: Path) -> None:
    work({"bootstrap_servers": broker.bootstrap_servers, **broker.settings}, "scram.", tmp_path)


def test_tokens_are_renewed_under_load_and_nothing_is_lost(
    broker: SecuredBroker, endpoint: TokenEndpoint, tmp_path: Path
) -> None:
    """The broker closes a connection whose token is over, so that all of them log in anew more than once.

    A token that holds for 8 s or less may be so near its end when it is used that Kafka's client logs in twice within a
    second, which the broker refuses: a client renews it when 80 to 85% of its time are over.
    """
    endpoint.lifetime_s, before = 10, len(endpoint.asked)

    work(broker.with_tokens, "renewed.", tmp_path, duration_s=25)
    assert endpoint.asked[before:].count(200) > 10
    assert set(endpoint.asked[before:]) == {200}


def test_nothing_is_lost_while_there_are_no_tokens(
    broker: SecuredBroker, endpoint: TokenEndpoint, tmp_path: Path
) -> None:
    """For some seconds, longer than a token holds, the endpoint gives none.

    The query may end by that, as with any token that is nearly over (see above), and is started again.
    """
    endpoint.lifetime_s, before = 4, len(endpoint.asked)

    def be_away_for_a_while() -> None:
        clock = SystemClock()
        clock.sleep_ns(3_000_000_000)
        endpoint.instead = (503, {}, "")
        clock.sleep_ns(6_000_000_000)
        endpoint.instead = None

    away = threading.Thread(target=be_away_for_a_while)
    work(broker.with_tokens, "tokens.", tmp_path, duration_s=15, meanwhile=away)
    away.join()
    assert endpoint.asked[before:].count(200) > 10
    assert set(endpoint.asked[before:]) == {200, 503}


def work(
    kafka: dict[str, Any], prefix: str, folder: Path, duration_s: float = 3, meanwhile: threading.Thread | None = None
) -> None:
    """Have sender, job and receiver work on this Kafka, and their alerts judged.

    meanwhile: begins with the load; the query may only fail from then on.
    """
    workload = read_workload(SMALL, Overrides(rate_per_s=500, duration_s=duration_s, mode="micro-batch"))
    plan = plan_of_workload(workload)
    partitions = {"nbbo": workload.market.partitions, "orders": workload.market.partitions, "alerts": 1, "invalid": 1}
    topics = {prefix + name: count for name, count in partitions.items()}
    KafkaBroker(kafka["bootstrap_servers"], security=security_of(kafka)).create_topics(topics)
    services = Services(folder, clock=SystemClock(), on_started=lambda name, pid: None)
    try:
        with closing(Clients(started(services, kafka, prefix, folder, restarts_max=3 if meanwhile else 0))) as clients:
            clients.start_receiving("secured")
            starts_ns = [send_all(clients, plan.initial)]
            assert clients.job_status().restarts == 0
            if meanwhile is not None:
                meanwhile.start()
            starts_ns.append(send_all(clients, plan.measured))
            clients.drain_receiver(60)
            ledger = decode_ledger(clients.ledger("secured", "alerts"))
    finally:
        services.stop(("sender", "job", "receiver"))

    oracle = Oracle(Alerts.from_rows(ledger.rows, ledger.received_us))
    for load, start_ns in zip((plan.initial, plan.measured), starts_ns, strict=True):
        for quotes in quotes_of(load.open(start_ns)):
            oracle.add_quotes(quotes)
    for orders in orders_of(plan.measured.open(starts_ns[1])):
        oracle.add_orders(orders)
    judgement = oracle.judgement()
    assert judgement.expected > 0
    assert (judgement.missing, judgement.unexpected, judgement.wrong) == (0, 0, 0)


def security_of(kafka: dict[str, Any]) -> KafkaSecurity:
    return KafkaSecurity(**{name: value for name, value in kafka.items() if name.startswith("kafka_")})


def started(services: Services, kafka: dict[str, Any], prefix: str, folder: Path, restarts_max: int) -> Addresses:
    """Sender, receiver and job, each told of the broker as in a cluster."""
    jvms = local_jvms(find_java(), JarCache())
    job = JobConfig(
        **kafka,
        topic_prefix=prefix,
        ports_file=services.ports_file("job"),
        mode="micro-batch",
        master="local[2]",
        checkpoint=str(folder / "checkpoint"),
        class_path=jvms.class_path,
        java_options=jvms.job_options(),
        batch_s=0,
        driver_memory="1g",
        local_folder=folder / "spark",
        restarts_max=restarts_max,
    )
    sender = SenderConfig(**kafka, ports_file=services.ports_file("sender"))
    receiver = ReceiverConfig(**kafka, ports_file=services.ports_file("receiver"), data_folder=folder / "ledgers")
    services.start("job", "market_spread.streaming.driver", job, environment=jvms.job_environment)
    services.start("sender", "market_spread.sender", sender)
    services.start("receiver", "market_spread.receiver", receiver)
    addresses: dict[str, Any] = {
        name: f"127.0.0.1:{services.ports(name)['grpc']}" for name in ("sender", "receiver", "job")
    }
    topics = TOPICS.prefixed(prefix)
    return Addresses(kafka["bootstrap_servers"], **addresses, topics=topics, aggregator="", aggregator_http="")


def send_all(clients: Clients, load: PlannedLoad) -> int:
    """Send the load and wait until the job has committed it; its start."""
    start_ns = clients.start_sending(load, StartSendingRequest(run_id="secured", linger_us=2_000, frame_messages=200))
    clients.drain_job(sent_ends([sent(clients, TIMEOUT_S)]), TIMEOUT_S)
    return start_ns


SECURED = """
_SECURITY = {
    name: os.environ[f"MARKET_SPREAD_KAFKA_{variable}"]
    for name, variable in {
        "security_protocol": "SECURITY_PROTOCOL", "sasl_mechanism": "SASL_MECHANISM",
        "sasl_plain_username": "USERNAME", "ssl_cafile": "CA_FILE",
    }.items()
}
_SECURITY["sasl_plain_password"] = open(os.environ["MARKET_SPREAD_KAFKA_PASSWORD_FILE"]).read().strip()
"""


@pytest.fixture
def fares(broker: SecuredBroker, tmp_path: Path) -> Path:
    """What `init` writes, with topics and a group of its own on that broker, which its system gets into."""
    folder = of_template(tmp_path, "loop")
    (folder / "password").write_text(broker.password_file.read_text())
    security = {
        "protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "username": USER, "password_file": "password",
        "ca_file": str(broker.ca_file),
    }  # fmt: skip
    change(folder, kafka={"bootstrap": broker.bootstrap_servers, "prefix": "mine.", "security": security})
    system = folder / "system.py"
    text = system.read_text().replace("bootstrap_servers=_SERVERS", "bootstrap_servers=_SERVERS, **_SECURITY")
    system.write_text(text.replace("\n\ndef main", f"{SECURED}\n\ndef main"))
    return folder


def test_a_system_of_the_users_is_put_under_load_on_it(broker: SecuredBroker, fares: Path) -> None:
    kafka = KafkaBroker(broker.bootstrap_servers, security=broker.security)
    kafka.create_topics({"trips": 1, "fares": 1})  # somebody else's, of the same names

    status, result, said = run(fares)
    assert (status, result["verdict"]) == (0, "passed"), said
    assert (result["alerts_received"], result["alerts_missing"]) == (2400, 0)
    ends = kafka.end_offsets(["mine.trips", "mine.fares", "trips", "fares"])
    written = {name: sum(end for (topic, _), end in ends.items() if topic == name) for name, _ in ends}
    assert written == {"mine.trips": 3200, "mine.fares": 3200, "trips": 0, "fares": 0}
    told = b"".join(path.read_bytes() for path in (fares / "runs").rglob("*") if path.is_file())
    assert PASSWORD.encode() not in told


@pytest.mark.full
def test_what_it_loses_is_found_among_records_of_an_earlier_run(fares: Path) -> None:
    assert run(fares)[0] == 0
    system = fares / "system.py"
    place = "        fare = {"
    assert place in system.read_text()
    system.write_text(system.read_text().replace(place, f"        if trip['trip_id'] == 1500: continue\n{place}"))
    status, result, said = run(fares)
    assert status == 1, said
    assert (result["alerts_missing"], result["alerts_duplicated"], result["alerts_wrong"]) == (1, 0, 0)


def test_a_wrong_password_of_a_workload_is_one_sentence(broker: SecuredBroker, fares: Path) -> None:
    (fares / "password").write_text("wrong")

    status, _, said = run(fares)

    assert status == 3
    assert f"the Kafka broker at {broker.bootstrap_servers} cannot be used" in said
    assert "Traceback" not in said
