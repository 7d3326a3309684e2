"""What an EC2 instance finds around it, as far as nodeadm asks: instance metadata, and the API that knows its name."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

_MAC = "02:00:00:00:00:01"
_INSTANCE = "i-0123456789abcdef0"


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance: its private name and address, and the user data that it was started with."""

    name: str
    address: str
    user_data: str

    def answers(self) -> dict[str, str]:
        """What its metadata service says, by path (EC2's user guide, "Instance metadata categories")."""
        identity = {"instanceId": _INSTANCE, "region": "us-east-1", "availabilityZone": "us-east-1a"}
        return {
            "/latest/user-data": self.user_data,
            "/latest/dynamic/instance-identity/document": json.dumps({**identity, "instanceType": "c4.8xlarge"}),
            "/latest/meta-data/mac": _MAC,
            "/latest/meta-data/local-ipv4": self.address,
            f"/latest/meta-data/network/interfaces/macs/{_MAC}/local-ipv4s": self.address,
            "/latest/meta-data/services/domain": "amazonaws.com",
        }

    def described(self) -> str:
        """The answer of DescribeInstances."""
        return (
            '<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet><item>'
            f"<instancesSet><item><instanceId>{_INSTANCE}</instanceId><privateDnsName>{self.name}</privateDnsName>"
            "</item></instancesSet></item></reservationSet></DescribeInstancesResponse>"
        )


@contextmanager
def serving(instance: Instance) -> Iterator[dict[str, str]]:
    """Serve it on loopback meanwhile; gives the environment in which AWS's clients find it."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self._say(200, "token", ttl="21600")

        def do_GET(self) -> None:
            found = instance.answers().get(self.path)
            self._say(200 if found is not None else 404, found or "")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._say(200, instance.described())

        def _say(self, status: int, text: str, ttl: str = "") -> None:
            self.send_response(status)
            if ttl:
                self.send_header("x-aws-ec2-metadata-token-ttl-seconds", ttl)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield {
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": address,
            "AWS_ENDPOINT_URL_EC2": address,
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
        }
    finally:
        server.shutdown()
        server.server_close()
