"""Kafka's security: what belongs together, and what our own client and the JVM's are told of it."""

from pathlib import Path
from typing import Any

import pytest

from market_spread.common.config import from_environment
from market_spread.common.errors import UsageError
from market_spread.common.kafka.security import PLAINTEXT, KafkaSecurity


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    texts = {"password": 'p"a\\s s\n', "ca": "CA", "certificate": "CHAIN", "key": "KEY", "lines": "BEGIN\nEND\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in texts}


def scram(files: dict[str, Path], **changes: Any) -> KafkaSecurity:
    settings: dict[str, Any] = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "username": "spread",
    }
    settings |= {"password_file": files["password"], "ca_file": files["ca"], **changes}
    return KafkaSecurity(**{f"kafka_{name}": value for name, value in settings.items()})


def test_without_settings_kafka_is_open_to_all() -> None:
    config = from_environment(KafkaSecurity, {})

    assert config == PLAINTEXT
    assert PLAINTEXT.client_options() == {"security_protocol": "PLAINTEXT"}
    assert PLAINTEXT.kafka_java_options() == {}


def test_login_and_certificates_reach_our_client(files: dict[str, Path]) -> None:
    security = scram(files, certificate_file=files["certificate"], key_file=files["key"])

    assert security.client_options() == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "spread",
        "sasl_plain_password": 'p"a\\s s',
        "ssl_cafile": str(files["ca"]),
        "ssl_certfile": str(files["certificate"]),
        "ssl_keyfile": str(files["key"]),
    }


def test_login_and_certificates_reach_the_jvm_as_texts(files: dict[str, Path]) -> None:
    security = scram(files, certificate_file=files["certificate"], key_file=files["key"])

    assert security.kafka_java_options() == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            'username="spread" password="p\\"a\\\\s s";'
        ),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "CA",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "CHAIN",
        "ssl.keystore.key": "KEY",
    }


def test_plain_login_has_its_own_module(files: dict[str, Path]) -> None:
    security = KafkaSecurity(
        kafka_security_protocol="SASL_PLAINTEXT",
        kafka_sasl_mechanism="PLAIN",
        kafka_username="spread",
        kafka_password_file=files["password"],
    )

    assert security.kafka_java_options()["sasl.jaas.config"].startswith(
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
    )


def tokens(files: dict[str, Path], **changes: Any) -> KafkaSecurity:
    return scram(files, **{"sasl_mechanism": "OAUTHBEARER", "token_endpoint": "https://login.example.com/t", **changes})


def test_jvm_gets_its_tokens_from_the_endpoint_and_no_other(files: dict[str, Path]) -> None:
    security = tokens(files, token_scope="load test", ca_file=files["lines"])

    options = security.kafka_java_options()

    assert options["sasl.mechanism"] == "OAUTHBEARER"
    assert options["sasl.oauthbearer.token.endpoint.url"] == "https://login.example.com/t"
    assert options["sasl.login.callback.handler.class"].endswith(".OAuthBearerLoginCallbackHandler")
    assert options["sasl.jaas.config"] == (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        'clientId="spread" clientSecret="p\\"a\\\\s s" scope="load test" '
        'ssl.truststore.type="PEM" ssl.truststore.certificates="BEGIN\\nEND\\n";'
    )
    assert security.java_flags() == ("-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://login.example.com/t")
    assert (PLAINTEXT.java_flags(), scram(files).java_flags()) == ("", "")


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://login.example.com/t", "https://", "https://id:secret@login.example.com/t", "https://a b/t", "login",
        "http://127.0.0.1.example.com/t", "http://localhost.example.com/t", "https://login.example.com/'t",
    ],
)  # fmt: skip
def test_a_secret_is_sent_nowhere_but_by_tls_or_to_this_machine(files: dict[str, Path], endpoint: str) -> None:
    with pytest.raises(ValueError, match="; use an https URL, since the client's secret goes there"):
        tokens(files, token_endpoint=endpoint)


@pytest.mark.parametrize(
    "endpoint", ["https://login:8443", "http://127.0.0.1:80/t", "http://localhost/", "http://[::1]:1"]
)
def test_endpoint_is_elsewhere_with_tls_or_here(files: dict[str, Path], endpoint: str) -> None:
    assert tokens(files, token_endpoint=endpoint).has_tokens


def test_endpoint_belongs_to_tokens_and_tokens_need_it(files: dict[str, Path]) -> None:
    with pytest.raises(ValueError, match="kafka_token_endpoint is not set; kafka_sasl_mechanism=OAUTHBEARER needs it"):
        tokens(files, token_endpoint=None)
    with pytest.raises(ValueError, match="kafka_token_scope is set, but kafka_sasl_mechanism=SCRAM-SHA-512 does not"):
        scram(files, token_scope="x")


def test_a_file_that_is_not_there_is_named_before_the_endpoint_is_asked(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.pem cannot be read: No such file or directory; name a file"):
        tokens(files, ca_file=tmp_path / "none.pem").client_options()


def test_an_empty_password_stays_one(files: dict[str, Path]) -> None:
    files["password"].write_text("\n")

    assert 'username="spread" password="";' in scram(files).kafka_java_options()["sasl.jaas.config"]


def test_everything_that_is_wrong_is_named_at_once() -> None:
    environment = {
        "MARKET_SPREAD_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "MARKET_SPREAD_KAFKA_SASL_MECHANISM": "GSSAPI",
        "MARKET_SPREAD_KAFKA_CERTIFICATE_FILE": "/tls/chain.pem",
    }

    with pytest.raises(UsageError) as raised:
        from_environment(KafkaSecurity, environment)

    assert str(raised.value) == (
        "kafka_username is not set; kafka_security_protocol=SASL_SSL needs it; "
        "kafka_password_file is not set; kafka_security_protocol=SASL_SSL needs it; "
        "kafka_sasl_mechanism='GSSAPI'; use one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER; "
        "kafka_certificate_file and kafka_key_file go together; give both or none"
    )


def test_what_the_protocol_does_not_use_is_refused() -> None:
    with pytest.raises(ValueError, match="kafka_username is set, but kafka_security_protocol=SSL does not"):
        KafkaSecurity(kafka_security_protocol="SSL", kafka_username="spread")


def test_unknown_protocol_is_refused() -> None:
    with pytest.raises(ValueError, match="kafka_security_protocol='TLS'; use one of PLAINTEXT, SSL, SASL_PLAINTEXT"):
        KafkaSecurity(kafka_security_protocol="TLS")


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    security = KafkaSecurity(kafka_security_protocol="SSL", kafka_ca_file=tmp_path / "none.pem")

    with pytest.raises(UsageError, match=r"none\.pem cannot be read: No such file or directory; name a file"):
        security.kafka_java_options()
