"""A real broker that lets in who logs in over TLS, for tests, with a certificate of its own.

SASL_SSL twice: with SCRAM, and with tokens of an endpoint.
"""

import os
import socket
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

from market_spread.common.config import inherited_environment
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka.security import KafkaSecurity
from market_spread.controller.deploy.local.broker import free_port
from market_spread.controller.deploy.local.services import Child
from tests.support.token_endpoint import AUDIENCE, CLIENT, SCOPE, TokenEndpoint
from tests.support.waiting import eventually

USER = "spread"
PASSWORD = "secret;of-spread"
_STORE_PASSWORD = "changeit"

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=SASL_SSL://127.0.0.1:{port},TOKENS://127.0.0.1:{tokens},INSIDE://127.0.0.1:{inside},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=SASL_SSL://127.0.0.1:{port},TOKENS://127.0.0.1:{tokens},INSIDE://127.0.0.1:{inside}
inter.broker.listener.name=INSIDE
controller.listener.names=CONTROLLER
listener.security.protocol.map=SASL_SSL:SASL_SSL,TOKENS:SASL_SSL,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.tokens.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.tokens.oauthbearer.sasl.jaas.config={oauth}.OAuthBearerLoginModule required;
listener.name.tokens.oauthbearer.sasl.server.callback.handler.class={oauth}.OAuthBearerValidatorCallbackHandler
listener.name.tokens.oauthbearer.connections.max.reauth.ms=3600000
listener.name.tokens.sasl.oauthbearer.jwks.endpoint.url={jwks}
listener.name.tokens.sasl.oauthbearer.expected.audience={audience}
ssl.keystore.type=PKCS12
ssl.keystore.location={keystore}
ssl.keystore.password={store_password}
ssl.key.password={store_password}
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
message.max.bytes=8388608
"""


class SecuredBroker:
    """`start`, then `stop`. It lets in who has a token of the endpoint only while the token holds."""

    def __init__(self, folder: Path, endpoint: TokenEndpoint) -> None:
        folder.mkdir(parents=True)
        self._folder, self._endpoint = folder, endpoint
        self._java = find_java().executable
        self._classpath = os.pathsep.join(str(jar) for jar in JarCache().paths("broker"))
        self._port, self._tokens_port = free_port(), free_port()
        self._child: Child | None = None
        self.ca_file, self.both_ca_file = folder / "ca.pem", folder / "both.pem"
        self.password_file = folder / "password"
        self.password_file.write_text(PASSWORD + "\n")

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def security(self) -> KafkaSecurity:
        return KafkaSecurity(**self.settings)

    @property
    def with_tokens(self) -> dict[str, Any]:
        """What a process's configuration says of the listener for tokens."""
        return {
            "bootstrap_servers": f"127.0.0.1:{self._tokens_port}",
            "kafka_security_protocol": "SASL_SSL",
            "kafka_sasl_mechanism": "OAUTHBEARER",
            "kafka_username": CLIENT,
            "kafka_password_file": self._endpoint.secret_file,
            "kafka_token_endpoint": self._endpoint.url,
            "kafka_token_scope": SCOPE,
            "kafka_ca_file": self.both_ca_file,
        }

    @property
    def settings(self) -> dict[str, Any]:
        """What a process's configuration says of the listener for SCRAM."""
        return {
            "kafka_security_protocol": "SASL_SSL",
            "kafka_sasl_mechanism": "SCRAM-SHA-512",
            "kafka_username": USER,
            "kafka_password_file": self.password_file,
            "kafka_ca_file": self.ca_file,
        }

    def start(self) -> None:
        self._make_certificate()
        properties = self._folder / "server.properties"
        properties.write_text(
            _PROPERTIES.format(
                port=self._port,
                tokens=self._tokens_port,
                oauth="org.apache.kafka.common.security.oauthbearer",
                jwks=self._endpoint.jwks_file.as_uri(),
                audience=AUDIENCE,
                inside=free_port(),
                controller=free_port(),
                keystore=self._folder / "broker.p12",
                store_password=_STORE_PASSWORD,
                data=self._folder / "data",
            )
        )
        login = f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"
        format_it = [
            "kafka.tools.StorageTool",
            "format",
            "--cluster-id",
            "c2VjdXJlZC1icm9rZXItMQ",
            "--add-scram",
            login,
        ]
        subprocess.run(
            [*self._command(), *format_it, "--config", str(properties)], check=True, capture_output=True, timeout=60
        )
        self._child = Child.start(
            "broker",
            [*self._command(), "kafka.Kafka", properties],
            environment=inherited_environment(),
            log=self._folder / "broker.log",
        )
        eventually("the broker listens", self._listens, within_s=60, check=self._check_alive)

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()

    def _check_alive(self) -> None:
        assert self._child is not None
        assert self._child.running, self._child.last_lines(20)

    def _listens(self) -> bool:
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def _command(self) -> list[str]:
        return [
            str(self._java),
            "-Xmx512m",
            "-Dfile.encoding=UTF-8",
            "-Dsun.jnu.encoding=UTF-8",
            f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self._endpoint.jwks_file.as_uri()}",
            "-cp",
            self._classpath,
        ]

    def _make_certificate(self) -> None:
        keytool = [str(self._java.resolve().parent / "keytool"), "-keystore", str(self._folder / "broker.p12")]
        keytool += ["-storetype", "PKCS12", "-storepass", _STORE_PASSWORD, "-alias", "broker"]
        made = ["-genkeypair", "-keyalg", "RSA", "-validity", "2", "-dname", "CN=broker", "-ext", "san=ip:127.0.0.1"]
        subprocess.run([*keytool, *made], check=True, capture_output=True, timeout=60)
        exported = ["-exportcert", "-rfc", "-file", str(self.ca_file)]
        subprocess.run([*keytool, *exported], check=True, capture_output=True, timeout=60)
        self.both_ca_file.write_text(self.ca_file.read_text() + self._endpoint.ca_file.read_text())
