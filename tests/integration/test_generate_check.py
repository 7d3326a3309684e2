"""`market-spread generate` and `check` on files, as a user calls them."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from market_spread.common.wire.codec import RECEIPT, decode, encode, encode_ledger
from market_spread.common.wire.layout import ALERT, NBBO, ORDER
from tests.support.paths import QUICK

LEDGER_LINE_WIDTH = ALERT.width + RECEIPT.width

COMMAND = Path(sys.executable).with_name("market-spread")
START_US = 1_700_000_000_000_000


@dataclass(frozen=True, slots=True)
class Files:
    nbbo: Path
    orders: Path
    ledger: Path

    @staticmethod
    def in_folder(folder: Path) -> "Files":
        folder.mkdir(exist_ok=True)
        return Files(folder / "nbbo.messages", folder / "orders.messages", folder / "alerts.ledger")


def market_spread(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [COMMAND, *(str(word) for word in words)], capture_output=True, text=True, timeout=120, check=False
    )


def generate(files: Files, *options: object) -> "subprocess.CompletedProcess[str]":
    shape = ("--rate", 2000, "--duration", 2, *options)
    return market_spread("generate", QUICK, "--nbbo", files.nbbo, "--orders", files.orders, *shape)


def check(files: Files, *options: object) -> "subprocess.CompletedProcess[str]":
    named = ("--nbbo", files.nbbo, "--orders", files.orders, "--alerts", files.ledger)
    return market_spread("check", *named, *options)


def perfect_ledger(files: Files) -> bytes:
    """What a system says that takes every message at its intended time, one by one."""
    quotes = decode(NBBO, files.nbbo.read_bytes()).columns
    orders = decode(ORDER, files.orders.read_bytes()).columns
    times = np.concatenate([quotes["intended_us"], orders["intended_us"]])
    newest: dict[bytes, int] = {}
    places, seen = [], []
    for event in np.argsort(times, kind="stable").tolist():
        if event < len(quotes["symbol"]):
            newest[quotes["symbol"][event]] = event
            continue
        place = event - len(quotes["symbol"])
        quote = newest[orders["symbol"][place]]
        bid, offer = int(quotes["bid"][quote]), int(quotes["offer"][quote])
        if offer - bid >= 500 or 40 * (offer - bid) >= bid + offer:
            places.append(place)
            seen.append(quote)
    intended_us = orders["intended_us"][places].astype(np.int64)
    echoed = ("order_id", "symbol", "side", "account", "quantity", "price", "intended_us")
    rows = encode(
        ALERT,
        {
            **{name: orders[name][places] for name in echoed},
            "bid": quotes["bid"][seen],
            "offer": quotes["offer"][seen],
            "quote_sequence": quotes["sequence"][seen],
            "sent_us": intended_us + 50,
            "read_us": intended_us + 100,
            "emitted_us": intended_us + 150,
        },
    )
    return encode_ledger(rows, 0, np.arange(len(rows)), intended_us + 200)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Files:
    files = Files.in_folder(tmp_path_factory.mktemp("generated"))
    assert generate(files).returncode == 0
    return files


@pytest.fixture
def recorded(generated: Files, tmp_path: Path) -> Files:
    files = Files(generated.nbbo, generated.orders, tmp_path / "alerts.ledger")
    files.ledger.write_bytes(perfect_ledger(files))
    return files


def test_same_workload_gives_the_same_bytes(generated: Files, tmp_path: Path) -> None:
    again = Files.in_folder(tmp_path)

    ended = generate(again)

    assert again.nbbo.read_bytes() == generated.nbbo.read_bytes()
    assert again.orders.read_bytes() == generated.orders.read_bytes()
    quotes, orders = again.nbbo.stat().st_size // 55, again.orders.stat().st_size // 59
    assert quotes + orders == 450 + 4000
    assert ended.stdout.splitlines() == [
        f"{quotes:,} quotes, 450 of them initial, in {again.nbbo}",
        f"{orders:,} orders in {again.orders}",
    ]


def test_other_start_moves_the_times_alone(generated: Files, tmp_path: Path) -> None:
    later = Files.in_folder(tmp_path)

    ended = generate(later, "--start", 1_700_000_100_000_000_000)

    assert ended.returncode == 0
    before, after = (decode(ORDER, files.orders.read_bytes()).columns for files in (generated, later))
    assert np.array_equal(after["intended_us"].astype(np.int64), before["intended_us"].astype(np.int64) + 100_000_000)
    assert all(np.array_equal(before[name], after[name]) for name in before if name != "intended_us")


def test_initial_quotes_come_before_everything_else(generated: Files) -> None:
    quotes = decode(NBBO, generated.nbbo.read_bytes()).columns
    intended_us = quotes["intended_us"].astype(np.int64)

    assert len(set(quotes["symbol"][:450].tolist())) == 450
    assert intended_us[0] == START_US - 10_000_000
    assert intended_us[449] < START_US <= intended_us[450]
    assert int(decode(ORDER, generated.orders.read_bytes()).ints("intended_us")[0]) >= START_US


def test_perfect_alerts_pass(recorded: Files) -> None:
    ended = check(recorded)

    assert ended.returncode == 0
    assert ended.stdout.split()[:1] == ["PASSED"]
    assert ended.stderr == ""


def test_missing_alert_fails_and_is_named(recorded: Files) -> None:
    lines = recorded.ledger.read_bytes()
    recorded.ledger.write_bytes(lines[LEDGER_LINE_WIDTH:])

    ended = check(recorded)

    order_id = int(lines[1:11])
    assert ended.returncode == 1
    assert ended.stdout.split()[:1] == ["FAILED"]
    assert f"missing: order {order_id} (" in ended.stdout
    assert "it is rejected, but has no alert" in ended.stdout


def test_doubled_alert_fails_unless_it_is_allowed(recorded: Files) -> None:
    lines = recorded.ledger.read_bytes()
    recorded.ledger.write_bytes(lines + lines[:LEDGER_LINE_WIDTH])

    assert check(recorded).returncode == 1
    assert check(recorded, "--allow-duplicates").returncode == 0


def test_no_orders_allow_no_judgement(recorded: Files, tmp_path: Path) -> None:
    empty = Files(recorded.nbbo, tmp_path / "none", tmp_path / "nothing")
    empty.orders.write_bytes(b"")
    empty.ledger.write_bytes(b"")

    ended = check(empty)

    assert ended.returncode == 3
    assert ended.stdout.strip().startswith("VOID    the input has no orders\n")


def test_full_disk_is_one_line(tmp_path: Path) -> None:
    ended = generate(Files(Path("/dev/full"), tmp_path / "orders.messages", tmp_path / "none"))

    assert ended.returncode == 2
    assert ended.stderr.startswith("market-spread: /dev/full cannot be written after ")
    assert ended.stderr.endswith(": No space left on device; name another\n")
    assert ended.stderr.count("\n") == 1
