"""Inputs of strangers: what was found once is stood, 100,000 others too, and planted defects are found in as many."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from market_spread.common.hdr import codec
from market_spread.metrics_aggregator.http import archive
from market_spread.metrics_aggregator.model import hlog
from market_spread.v1.metrics_pb2 import NoteRequest
from tests.fuzz import decoders, documents, routes
from tests.fuzz.__main__ import targets
from tests.fuzz.engine import CORPUS, Target, attempt, inputs_of, kept, shares, tried

INPUTS = 100_000


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    return {target.name: target for target in targets(tmp_path_factory.mktemp("fuzz"))}


def test_every_seed_is_right(every: dict[str, Target]) -> None:
    """Else all inputs that are made of it would be refused for what is wrong with the seed."""
    refused = [
        (name, seed[:60])
        for name, target in every.items()
        for seed in target.seeds
        if attempt(target, seed) != (False, None)
    ]

    assert refused == []


def test_what_was_found_is_stood(every: dict[str, Target]) -> None:
    assert {path.name for path in CORPUS.iterdir() if path.is_dir()} <= every.keys()
    found = [(name, attempt(target, data)[1]) for name, target in every.items() for data in kept(target)]

    assert [each for each in found if each[1] is not None] == []
    assert len(found) >= 7


@pytest.mark.statistical
def test_a_hundred_thousand_inputs_are_stood() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--inputs", str(INPUTS)],
        capture_output=True, text=True, check=False, cwd=CORPUS.parents[2], timeout=280,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stdout + ended.stderr
    print(ended.stdout.splitlines()[-1])
    (count,) = re.findall(r"^([\d,]+) inputs, [\d,]+ of them refused, 0 not stood", ended.stdout, re.MULTILINE)
    assert int(count.replace(",", "")) >= INPUTS - 100


def found_in(target: Target, every: dict[str, Target]) -> str:
    """What the target's share of INPUTS finds first."""
    most = shares([*every.values()], INPUTS)[target.name]
    findings = tried(target, inputs_of(target, 0), most=most, findings_max=1).findings
    return findings[0].what if findings else "nothing"


def test_a_decoder_that_checks_no_bounds_is_found(every: dict[str, Target], monkeypatch: pytest.MonkeyPatch) -> None:
    read = codec.Buckets.decode

    def unbounded(encoded: bytes) -> codec.Buckets:
        bytes(codec.SLOTS)[len(codec.payload_of(encoded))]
        return read(encoded)

    monkeypatch.setattr(codec.Buckets, "decode", staticmethod(unbounded))

    assert found_in(every["histogram"], every).startswith("IndexError")


def test_a_list_that_trusts_a_log_is_found(every: dict[str, Target], monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(block: list[bytes]) -> Any:
        word, _, told = block[0].partition(b" ")
        return NoteRequest(unix_ns=int(json.loads(told)["unix_ns"])) if word == b"#note" else None

    archive._look.cache_clear()
    monkeypatch.setattr(hlog, "decode", trusting)

    assert found_in(every["page-log"], every) == "KeyError: 'unix_ns'"


def test_a_page_that_trusts_a_result_is_found(every: dict[str, Target], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        archive, "_figures", lambda path, state: {"p99": json.loads(path.read_bytes())["latency_ns"]["p99"]}
    )

    assert "Error: " in found_in(every["page-result"], every)


def test_a_reader_that_loops_is_found(every: dict[str, Target], monkeypatch: pytest.MonkeyPatch) -> None:
    def looping(lines: list[bytes], reading: hlog.Reading) -> Iterator[list[bytes]]:
        at = 0
        while at < len(lines):
            if lines[at].startswith(b"#push "):
                while not lines[at].startswith(b"#end "):  # which may never come
                    at = (at + 1) % len(lines)
            at += 1
        yield from ()

    monkeypatch.setattr("tests.fuzz.engine.HANG_S", 0.5)
    monkeypatch.setattr(hlog, "whole_blocks", looping)

    assert found_in(every["hlog"], every) == "HangError: it took more than 0.5 s"


def test_a_right_target_is_not_blamed(every: dict[str, Target]) -> None:
    right = Target("json", 1_000, len, every["json"].seeds, every["json"].mutate)

    assert found_in(right, every) == "nothing"


def test_the_same_seed_makes_the_same_inputs(tmp_path: Path) -> None:
    first, again, other = (
        [data for _, data in zip(range(200), inputs_of(_target(tmp_path), seed), strict=False)] for seed in (1, 1, 2)
    )

    assert first == again != other


def _target(folder: Path) -> Target:
    return next(target for target in decoders.targets(folder) if target.name == "hlog")


def test_targets_have_names_of_their_own(tmp_path: Path) -> None:
    names = [each.name for of in (decoders, documents, routes) for each in of.targets(tmp_path)]

    assert len(set(names)) == len(names)
