"""The page as one file, and what it is made of."""

import gzip
import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from market_spread.metrics_aggregator import page
from market_spread.metrics_aggregator.page import STATIC, one_file, report_file

VENDOR = STATIC / "vendor"
UI = Path(__file__).parents[3] / "services" / "metrics_ui"
MODULES = sorted((UI / "src").rglob("*.js"))


def embedded(html: str) -> str:
    found = re.search(r'<script type="application/gzip" id="run-data">([^<]*)</script>', html)
    assert found
    return gzip.decompress(b64decode(found[1])).decode()


def test_data_comes_out_as_it_went_in() -> None:
    data = json.dumps({"title": "</script><script>alert(1)</script><!-- ünïcode", "format": 1})

    html = one_file(data)

    assert embedded(html) == data
    assert "alert(1)" not in html


def test_one_file_names_no_other_file_and_no_address() -> None:
    html = one_file("{}")

    assert not re.search(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)=\"(?!data:,)", html)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg|github\.com/leeoniya)", html)
    assert (STATIC / "app.js").read_text() in html
    assert not re.search(r"^\s*(?:import|export) ", html, re.MULTILINE)


def test_policy_of_one_file_allows_its_own_scripts_and_styles_alone() -> None:
    html = one_file("{}")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    assert policy

    for element, directive in (("script", "script-src"), ("style", "style-src")):
        texts = re.findall(rf"<{element}>(.*?)</{element}>", html, re.DOTALL)
        hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts]
        assert len(texts) == 2
        assert f"{directive} {' '.join(hashes)};" in policy[1]
    assert policy[1].startswith("default-src 'none';")


def test_report_is_one_file_with_both_its_data_and_a_policy_that_names_all_it_runs() -> None:
    html = report_file('{"result": 1}', "{}")

    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    for element, directive in (("script", "script-src"), ("style", "style-src")):
        texts = re.findall(rf"<{element}>(.*?)</{element}>", html, re.DOTALL)
        hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts)
        assert f"{directive} {hashes};" in policy
    assert policy.startswith("default-src 'none';")
    assert '<script type="application/json" id="report-data">{"result": 1}</script>' in html
    assert html.partition("<script>")[0].count('<script type="application/gzip" id="run-data">') == 1
    assert (STATIC / "report.js").read_text() in html
    assert not re.search(r'(?:src|href)="(?!data:|#)', html)


def test_report_of_a_run_that_pushed_nothing_has_no_run_data() -> None:
    assert 'id="run-data"' not in report_file("{}", None).partition("<script>")[0]


def test_facts_that_could_end_their_element_are_refused() -> None:
    with pytest.raises(ValueError, match="escape it"):
        report_file('{"a": "</script>"}', None)


def test_script_that_could_end_its_element_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.js").write_text('const end = "</script>";\n')
    monkeypatch.setattr(page, "STATIC", tmp_path)

    with pytest.raises(ValueError, match=re.escape("app.js has what cannot stand inside an element of a page")):
        page._text("app.js")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_module_makes_no_markup_and_no_code_of_text(path: Path) -> None:
    text = path.read_text()

    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"style", text
    )
    assert text.startswith("/**")


def test_vendored_files_are_those_of_the_lock() -> None:
    lock = (VENDOR / "vendor.lock").read_text()

    locked = {
        path.rpartition("/")[2]: digest for digest, path in re.findall(r"^file ([0-9a-f]{64}) (\S+)$", lock, re.M)
    }
    package = json.loads((UI / "package-lock.json").read_text())["packages"]["node_modules/uplot"]
    assert f"\npackage uplot@{package['version']} {package['integrity']}\n" in lock
    assert locked == {
        path.name: sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir() if path.name != "vendor.lock"
    }
