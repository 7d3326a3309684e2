"""The tables that `make bench-features` writes into docs/performance.md."""

import importlib.util
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "feature_cost"))

from document import publish

BENCHMARK = ROOT / "tests" / "benchmarks" / "feature_cost"


def tables() -> list[str]:
    spec = importlib.util.spec_from_file_location("feature_cost_main", BENCHMARK / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    main = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = main
    spec.loader.exec_module(main)
    return list(main.TABLES)


def measured(table: str, mode: str, name: str, rate_per_s: float) -> dict[str, object]:
    return {
        "table": table, "mode": mode, "name": name, "rate_per_s": rate_per_s, "cpu_us_per_message": 1e6 / rate_per_s,
    }  # fmt: skip


def test_every_table_that_is_measured_has_its_place_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text((ROOT / "docs" / "performance.md").read_text())

    publish([measured(table, "real-time", "of it", 123_457) for table in tables()], page)

    assert page.read_text().count("| of it | 123,457 | 8.10 |") == 5


def test_price_of_all_decisions_is_written_beside_the_job_as_shipped(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- decisions -->\nolder\n<!-- /decisions -->\nafter\n")
    results = [
        measured("decisions", "real-time", "rejected", 500_000),
        measured("decisions", "real-time", "all", 200_000),
        measured("decisions", "micro-batch", "rejected", 2_000_000),
        measured("decisions", "micro-batch", "all", 400_000),
    ]

    publish(results, page)

    assert page.read_text().splitlines() == [
        "before",
        "<!-- decisions -->",
        "| decisions | real-time, messages/s | real-time, CPU us/message | micro-batch, messages/s "
        "| micro-batch, CPU us/message |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| rejected | 500,000 | 2.00 | 2,000,000 | 0.50 |",
        "| all | 200,000 | 5.00 | 400,000 | 2.50 |",
        "<!-- /decisions -->",
        "after",
    ]


def test_page_without_the_marks_of_a_table_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n")

    with pytest.raises(ValueError, match="the page has no <!-- decisions --> … <!-- /decisions -->"):
        publish([measured("decisions", "real-time", "all", 1)], page)
