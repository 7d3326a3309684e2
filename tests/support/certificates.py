"""Authorities and certificates for tests, by the `openssl` of the system."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=60)


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority whose files are in the folder."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "Authority":
        folder.mkdir()
        files = ("-keyout", folder / "ca.key", "-out", folder / "ca.crt")
        _openssl("req", "-x509", *_KEY, *files, "-days", "2", "-subj", "/CN=authority")
        return cls(folder)

    def issue(self, folder: Path, *names: str, days: int = 1) -> Path:
        """Write `ca.crt`, `tls.crt` and `tls.key` into the folder; it. names: URIs; days=-1: it has expired."""
        folder.mkdir(exist_ok=True)
        request, certificate, key = folder / "tls.csr", folder / "tls.crt", folder / "tls.key"
        alternative = ",".join([*(f"URI:{name}" for name in names), "IP:127.0.0.1"])
        _openssl(
            "req", *_KEY, "-keyout", key, "-out", request, "-subj", "/CN=x", "-addext", f"subjectAltName={alternative}"
        )
        _openssl(
            "x509", "-req", "-in", request, "-CA", self.folder / "ca.crt", "-CAkey", self.folder / "ca.key",
            "-days", str(days), "-copy_extensions", "copy", "-out", certificate,
        )  # fmt: skip
        (folder / "ca.crt").write_bytes((self.folder / "ca.crt").read_bytes())
        return folder
