"""Who may call what: certificates on both ends of each gRPC call, and the roles that may use each method.

A role is a component by its certificate's alternative name, the URI `spiffe://DOMAIN/ROLE` or, as Helm makes no URI,
`ROLE.DOMAIN.market-spread.internal`; the domain is the release. A method that the table does not have is nobody's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import grpc

from market_spread.common.clock import SystemClock
from market_spread.common.errors import MarketSpreadError, usage_errors

RUN, SENDER, RECEIVER, JOB, AGGREGATOR = ROLES = ("run", "sender", "receiver", "job", "metrics-aggregator")
_PACKAGE, HEALTH_CHECK = "/market_spread.v1.", "/grpc.health.v1.Health/Check"
_OF_RUN = {
    "Sender": ("Start", "Status", "Stop", "DescribeTopics"),
    "Receiver": ("Start", "Status", "Drain", "Stop", "ReadLedger"),
    "Job": ("Status", "Drain", "Describe"),
    "Metrics": ("Note",),
}
CALLERS: Mapping[str, frozenset[str]] = {
    **{f"{_PACKAGE}{service}/{name}": frozenset({RUN}) for service, names in _OF_RUN.items() for name in names},
    f"{_PACKAGE}Metrics/Push": frozenset({RUN, SENDER, RECEIVER, JOB}),
    **dict.fromkeys((HEALTH_CHECK, "/grpc.health.v1.Health/Watch"), frozenset(ROLES)),
}
_URI, _DNS = "spiffe://", ".market-spread.internal"
# gRPC 1.85.1 frees what is replaced though a handshake that begins may be about to take it, some instructions later.
_BEGUN_NS = 50_000_000


class NotAllowedError(MarketSpreadError):
    """Who calls may not."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a process shows in gRPC, and whom it believes. Files are read at each connection, so they can change."""

    tls_folder: Annotated[Path | None, "Its ca.crt, tls.crt and tls.key for gRPC; unset: gRPC is open to all."] = None
    tls_domain: Annotated[str, "The release in the names of callers; needed with certificates."] = ""
    tls_health_port: Annotated[int | None, "Where a health check needs no certificate; unset: nowhere."] = None

    def __post_init__(self) -> None:
        if self.tls_folder and not self.tls_domain:
            raise ValueError(f"tls_folder={self.tls_folder} without tls_domain; set it to that of the callers' names")

    def add_port(self, server: Any, address: str) -> int:
        """Let a gRPC server listen there, and at the health port; the port. UsageError if a file cannot be read."""
        if self.tls_folder is None:
            return int(server.add_insecure_port(address))
        if self.tls_health_port is not None:
            server.add_insecure_port(f"{address.rpartition(':')[0]}:{self.tls_health_port}")
        return int(server.add_secure_port(address, _server_credentials(self.tls_folder)))

    def channel(self, address: str, options: tuple[tuple[str, object], ...]) -> grpc.Channel:
        """To a server whose certificate has the address's host. It shows the files as they are now, while it lives."""
        if self.tls_folder is None:
            return grpc.insecure_channel(address, options=options)
        [(key, certificate)], authority = _read(self.tls_folder)
        return grpc.secure_channel(address, grpc.ssl_channel_credentials(authority, key, certificate), options=options)

    def require(self, method: str, peer: Mapping[str, Any]) -> None:
        """NotAllowedError if the caller may not use the method. peer: the call's authentication context."""
        if self.tls_folder is None or method == HEALTH_CHECK:  # that is of anyone who is connected
            return
        names = [name.decode("utf-8", "replace") for name in peer.get("x509_subject_alternative_name", ())]
        shown = [name for name in names if name.startswith(_URI) or name.endswith(_DNS)]
        domain, roles = self.tls_domain, CALLERS.get(method, frozenset())
        allowed = {name for role in roles for name in (f"{_URI}{domain}/{role}", f"{role}.{domain}{_DNS}")}
        if len(shown) != 1 or shown[0] not in allowed:
            who = " and ".join(shown) or f"a caller without a name such as {_URI}{domain}/ROLE"
            raise NotAllowedError(f"{who} may not call {method}; it is for {', '.join(sorted(roles)) or 'nobody'}")


OPEN = Identity()


def _server_credentials(folder: Path) -> grpc.ServerCredentials:
    """Of a server that talks to nobody without a certificate. What cannot be read later changes nothing."""
    shown = _read(folder)

    def changed() -> grpc.ServerCertificateConfiguration | None:
        """The files if they have changed. gRPC asks before each handshake, one at a time, so that others wait."""
        nonlocal shown
        before, shown = shown, _read(folder)
        if shown == before:
            return None
        SystemClock().sleep_ns(_BEGUN_NS)
        return grpc.ssl_server_certificate_configuration(*shown)

    first = grpc.ssl_server_certificate_configuration(*shown)
    return grpc.dynamic_ssl_server_credentials(first, changed, True)  # type: ignore[arg-type]


def _read(folder: Path) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Keys with certificates, and authority, of one version: Kubernetes replaces the files of a Secret by one link."""
    link = folder / "..data"
    with usage_errors(f"{folder} has no certificate that can be read", "mount ca.crt, tls.crt and tls.key"):
        real = link.resolve() if link.exists() else folder
        authority, certificate, key = ((real / name).read_bytes() for name in ("ca.crt", "tls.crt", "tls.key"))
    return [(key, certificate)], authority
