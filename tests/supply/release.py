"""What a release says of itself: sums of its files, and where they come from, signed.

The statement is in-toto's (https://in-toto.io/Statement/v1) with SLSA's provenance (https://slsa.dev/provenance/v1), in
a DSSE envelope (https://github.com/secure-systems-lab/dsse) that OpenSSL signs with ECDSA over P-256 and SHA-256.
"""

import base64
import hashlib
import json
import subprocess
from datetime import datetime
from pathlib import Path

from tests.support.paths import ROOT

SUMS, PROVENANCE = "SHA256SUMS", "provenance.intoto.json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def attest(folder: Path, key: Path, *, base: str, revision: str, at: datetime) -> None:
    """Write sums and signed provenance of all files of a folder. CalledProcessError if the key does not sign."""
    sums = {name: _sha256(folder / name) for name in _files(folder)}
    (folder / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    sums[SUMS] = _sha256(folder / SUMS)
    payload = json.dumps(statement(sums, base=base, revision=revision, at=at)).encode()
    signed = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", key], input=pre_authentication(payload), capture_output=True, check=True
    )
    public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout"], capture_output=True, check=True).stdout
    signature = {"keyid": hashlib.sha256(public).hexdigest(), "sig": base64.b64encode(signed.stdout).decode()}
    envelope = {
        "payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(payload).decode(), "signatures": [signature],
    }  # fmt: skip
    (folder / PROVENANCE).write_text(json.dumps(envelope) + "\n")


def statement(sums: dict[str, str], *, base: str, revision: str, at: datetime) -> dict[str, object]:
    """Which files were made of which commit, with which locks."""
    locks = [ROOT / "services/common/src/market_spread/common/jvm/jars.lock", *sorted(ROOT.glob("requirements/*.txt"))]
    materials = [{"uri": "git+market-spread", "digest": {"gitCommit": revision}}]
    materials += [{"uri": str(path.relative_to(ROOT)), "digest": {"sha256": _sha256(path)}} for path in locks]
    if base:
        name, _, digest = base.partition("@sha256:")
        materials.append({"uri": f"docker://{name}", "digest": {"sha256": digest}})
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sums.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:market-spread:make-release:v1",
                "externalParameters": {"revision": revision, "base": base},
                "resolvedDependencies": materials,
            },
            "runDetails": {
                "builder": {"id": "urn:market-spread:make-release"},
                "metadata": {"finishedOn": at.strftime("%Y-%m-%dT%H:%M:%SZ")},
            },
        },
    }


def pre_authentication(payload: bytes) -> bytes:
    """What DSSE signs: type and payload with their lengths, so that neither can be taken for the other."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)


def _files(folder: Path) -> list[str]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [name for path in found if (name := str(path.relative_to(folder))) not in (SUMS, PROVENANCE)]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
