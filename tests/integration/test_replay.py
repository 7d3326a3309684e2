"""`market-spread replay` of a small recording of the reference's, from its files to its verdict."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

COMMAND = Path(sys.executable).with_name("market-spread")
ORDERS = 400


def nbbo(symbol: bytes, bid: float, offer: float, *, kind: int = 2) -> bytes:
    return struct.pack(">IB4s21sdd", 42, kind, symbol, b"20160902-15:47:52.000", bid, offer)


def order(number: int, symbol: bytes) -> bytes:
    when = b"20151204-14:30:00.000"
    return struct.pack(">IBBI6s4sdd21s", 53, 1, 1 + number % 2, 57, b"ID%04d" % number, symbol, -100.0, 20.0, when)


def replayed(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Convert nbbo.msg and orders.msg of a folder, and replay what comes of them there."""
    convert = [sys.executable, ROOT / "examples" / "wallaroo" / "convert.py", "nbbo.msg", "orders.msg", "."]
    subprocess.run(convert, cwd=folder, check=True, timeout=60)
    given = ["--nbbo", "nbbo.messages", "--orders", "orders.messages", "--json", *options]
    return subprocess.run(
        [COMMAND, "replay", *given], cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )


def test_recording_of_the_reference_is_judged_on_last_quotes(tmp_path: Path) -> None:
    """INSM ends tight after wide quotes, " BTU" wide after tight ones, and NONE has no quote."""
    quotes = [nbbo(b"INSM", 20, 20.06)] * 50 + [nbbo(b" BTU", 20, 20.01)] * 50
    quotes += [nbbo(b"INSM", 20, 20.01), nbbo(b" BTU", 20, 20.06), nbbo(b" BTU", 20, 20.01, kind=9)]
    orders = [order(number, (b"INSM", b" BTU", b"NONE", b"INSM")[number % 4]) for number in range(ORDERS)]
    (tmp_path / "nbbo.msg").write_bytes(b"".join(quotes))
    (tmp_path / "orders.msg").write_bytes(b"".join(orders) + b"\0\0")

    ended = replayed(tmp_path, "--rate", "200")

    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert (result["verdict"], result["reasons"]) == ("passed", [])
    assert (result["orders_sent"], result["alerts_expected"], result["alerts_received"]) == (400, 200, 200)
    assert (result["alerts_missing"], result["alerts_unexpected"], result["alerts_wrong"]) == (0, 0, 0)
    assert result["alerts_undecided"] == 0
    assert result["settings"]["nbbo"] == "nbbo.messages"
    problems = ["nbbo.msg, byte 4692: the type is 9, not 2", "orders.msg, byte 22800: "]
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name == result["run_id"]
    assert all(problem in (tmp_path / "problems.txt").read_text() for problem in problems)
    assert (tmp_path / "orders.messages.order-ids.csv").read_text().splitlines()[:3] == [
        "ordinal,original",
        "1,ID0000",
        "2,ID0001",
    ]


@pytest.mark.full
def test_replay_at_the_default_rate_passes_however_soon_it_is_over(tmp_path: Path) -> None:
    """2,000 orders take 0.1 s at 20,000 a second: too short for anything but the alerts to be judged."""
    (tmp_path / "nbbo.msg").write_bytes(nbbo(b"INSM", 20, 20.06) + nbbo(b" BTU", 20, 20.01))
    orders = [order(number, (b"INSM", b" BTU")[number % 2]) for number in range(2_000)]
    (tmp_path / "orders.msg").write_bytes(b"".join(orders))

    ended = replayed(tmp_path)

    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert (result["verdict"], result["reasons"]) == ("passed", [])
    assert (result["orders_sent"], result["alerts_expected"], result["alerts_received"]) == (2_000, 1_000, 1_000)
    assert [result[f"alerts_{fault}"] for fault in ("missing", "unexpected", "wrong", "undecided")] == [0, 0, 0, 0]
