"""The ledger on disk gives back what was written, whatever the moment of a kill."""

from pathlib import Path

import numpy as np
import pytest

from market_spread.common.errors import UsageError
from market_spread.common.wire.codec import RECEIPT, encode_ledger
from market_spread.common.wire.layout import ALERT
from market_spread.receiver.ledger import ALERTS, INVALID, InvalidLine, Ledger, ledger_path, read_ledger

LEDGER_LINE_WIDTH = ALERT.width + RECEIPT.width

REPORT: dict[str, object] = {"reason": "wrong_length", "topic": "nbbo", "partition": 0, "offset": 3, "position": 0}


def lines(*offsets: int) -> bytes:
    rows = np.full((len(offsets), ALERT.width), ord("A"), np.uint8)
    return encode_ledger(rows, 2, np.array(offsets, np.int64), np.full(len(offsets), 1_700_000_000_000_000))


def written(folder: Path, *, alerts: bytes = b"", invalid: bytes = b"") -> None:
    ledger = Ledger(folder, "run-1")
    ledger.open()
    ledger.append(ALERTS, alerts)
    ledger.append(INVALID, invalid)
    ledger.close()


def test_new_ledger_is_empty(tmp_path: Path) -> None:
    recovered = Ledger(tmp_path, "run-1").open()

    assert recovered.records == 0


def test_what_was_appended_is_recovered(tmp_path: Path) -> None:
    line = InvalidLine(1, 9, 1_700_000_000_000_000, invalid=REPORT)
    written(tmp_path, alerts=lines(4, 5), invalid=line.encode())

    recovered = Ledger(tmp_path, "run-1").open()

    assert recovered.alerts.offsets.tolist() == [4, 5]
    assert recovered.alerts.partitions.tolist() == [2, 2]
    assert recovered.invalid == [line]
    assert recovered.records == 3


@pytest.mark.parametrize("cut", range(1, LEDGER_LINE_WIDTH, 37))
def test_incomplete_line_at_the_end_is_dropped(tmp_path: Path, cut: int) -> None:
    report = InvalidLine(1, 9, 1_700_000_000_000_000, unreadable_invalid="{").encode()
    written(tmp_path, alerts=lines(4, 5, 6)[:-cut], invalid=report + report[:-1])
    ledger = Ledger(tmp_path, "run-1")

    recovered = ledger.open()
    ledger.append(ALERTS, lines(6))

    assert recovered.alerts.offsets.tolist() == [4, 5]
    assert len(recovered.invalid) == 1
    assert ledger_path(tmp_path, "run-1", ALERTS).read_bytes() == lines(4, 5, 6)


def test_damaged_line_is_named(tmp_path: Path) -> None:
    written(tmp_path, invalid=b'{"partition": 1}\n')

    with pytest.raises(UsageError, match=r"invalid.ledger has a damaged line"):
        Ledger(tmp_path, "run-1").open()


def test_second_writer_is_refused(tmp_path: Path) -> None:
    first = Ledger(tmp_path, "run-1")
    first.open()

    with pytest.raises(UsageError, match="another receiver writes the ledger"):
        Ledger(tmp_path, "run-1").open()

    first.close()


def test_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(UsageError, match=r"the ledger in .* cannot be used: Not a directory"):
        Ledger(file, "run-1").open()


def test_ledger_is_read_in_pieces(tmp_path: Path) -> None:
    written(tmp_path, alerts=lines(1, 2, 3))

    pieces = list(read_ledger(ledger_path(tmp_path, "run-1", ALERTS), piece_bytes=100))

    assert b"".join(pieces) == lines(1, 2, 3)
    assert max(map(len, pieces)) == 100


def test_unknown_run_has_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no ledger"):
        list(read_ledger(ledger_path(tmp_path, "run-9", ALERTS), piece_bytes=100))
