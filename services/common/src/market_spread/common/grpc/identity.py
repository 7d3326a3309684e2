"""Who may call what: certificates on both ends of each gRPC call, and the roles that may use each method.

A role is a component by its certificate's name `spiffe://DOMAIN/ROLE`, an alternative name of kind URI; the domain is
the release. Without a certificate of the release's authority there is no connection; a method that the table does not
have is nobody's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import grpc

from market_spread.common.errors import MarketSpreadError, UsageError, usage_errors

RUN, SENDER, RECEIVER, JOB, AGGREGATOR = ROLES = ("run", "sender", "receiver", "job", "metrics-aggregator")
_PACKAGE = "/market_spread.v1."
_OF_RUN = {
    "Sender": ("Start", "Status", "Stop", "DescribeTopics"),
    "Receiver": ("Start", "Status", "Drain", "Stop", "ReadLedger"),
    "Job": ("Status", "Drain", "Describe"),
    "Metrics": ("Note",),
}
CALLERS: Mapping[str, frozenset[str]] = {
    **{f"{_PACKAGE}{service}/{name}": frozenset({RUN}) for service, names in _OF_RUN.items() for name in names},
    f"{_PACKAGE}Metrics/Push": frozenset({RUN, SENDER, RECEIVER, JOB}),
    **{f"/grpc.health.v1.Health/{name}": frozenset(ROLES) for name in ("Check", "Watch")},
}
_SPIFFE = "spiffe://"
TlsFolder = Annotated[Path | None, "Its ca.crt, tls.crt and tls.key for gRPC; unset: gRPC is open to all."]
TlsDomain = Annotated[str, "Of the names of callers, `spiffe://DOMAIN/ROLE`; needed with certificates."]


class NotAllowedError(MarketSpreadError):
    """Who calls may not."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a process shows, and whom it believes. Files are read anew for each connection, so that they can change.

    folder: `ca.crt`, `tls.crt` and `tls.key`, as in a Secret of Kubernetes; domain: of the names that count.
    """

    folder: Path
    domain: str

    def __post_init__(self) -> None:
        if not self.domain:
            raise UsageError(f"tls_folder={self.folder} without tls_domain; set it to that of the callers' names")

    def server_credentials(self) -> grpc.ServerCredentials:
        """For a server that talks to nobody without a certificate. UsageError if a file cannot be read now; later, the
        certificate stays as it is. Only a change is told: gRPC 1.85.1 may free what a handshake beside it uses.
        """
        shown = self.read()

        def changed() -> grpc.ServerCertificateConfiguration | None:
            nonlocal shown
            before, shown = shown, self.read()
            return None if shown == before else _for_server(*shown)

        return grpc.dynamic_ssl_server_credentials(_for_server(*shown), changed, True)  # type: ignore[arg-type]

    def channel(self, address: str, options: tuple[tuple[str, object], ...]) -> grpc.Channel:
        """To a server whose certificate has the address's host. It shows the files as they are now, while it lives."""
        authority, certificate, key = self.read()
        return grpc.secure_channel(address, grpc.ssl_channel_credentials(authority, key, certificate), options=options)

    def read(self) -> tuple[bytes, bytes, bytes]:
        """Authority, certificate and key, of one version: Kubernetes replaces the files of a Secret by one link."""
        link = self.folder / "..data"
        folder = link.resolve() if link.exists() else self.folder
        with usage_errors(f"{self.folder} has no certificate that can be read", "mount ca.crt, tls.crt and tls.key"):
            authority, certificate, key = ((folder / name).read_bytes() for name in ("ca.crt", "tls.crt", "tls.key"))
        return authority, certificate, key

    def require(self, method: str, peer: Mapping[str, object]) -> None:
        """NotAllowedError if the caller may not use the method. peer: the call's authentication context."""
        found = peer.get("x509_subject_alternative_name", ())
        names = [name.decode("utf-8", "replace") for name in found] if isinstance(found, list | tuple) else []
        shown = [name for name in names if name.startswith(_SPIFFE)]
        roles = CALLERS.get(method, frozenset())
        if len(shown) != 1 or shown[0] not in {f"{_SPIFFE}{self.domain}/{role}" for role in roles}:
            who = " and ".join(shown) or f"a certificate without a name {_SPIFFE}{self.domain}/ROLE"
            raise NotAllowedError(f"{who} may not call {method}; it is for {', '.join(sorted(roles)) or 'nobody'}")


def _for_server(authority: bytes, certificate: bytes, key: bytes) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(key, certificate)], authority)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerSettings:
    """How a process that is no client of Kafka, or not by these settings, shows itself."""

    tls_folder: TlsFolder = None
    tls_domain: TlsDomain = ""

    def identity(self) -> Identity | None:
        return Identity(self.tls_folder, self.tls_domain) if self.tls_folder else None
