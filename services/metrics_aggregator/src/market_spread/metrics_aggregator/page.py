"""The web page as one file with a run's data inside, so that it opens from disk without a server.

Its scripts are built from services/metrics_ui by `make ui`.
"""

import gzip
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

STATIC = Path(__file__).parent / "static"

_STYLE = re.compile(r'<link rel="stylesheet" href="static/([^"]+)">\n')
_SCRIPT = re.compile(r'<script src="static/([^"]+)"[^>]*></script>\n')


def one_file(data_json: str) -> str:
    """The page as HTML with everything inlined: styles, scripts, and the data of /api/v1/runs/{run_id}/data.

    The data is compressed and base64, so nothing in it can end its element. The page's own content security policy
    names the hashes of its scripts and styles and allows no connection.
    """
    head, tail = _around_data("index.html")
    return f"{head}{_run_data(data_json)}{tail}"


def report_file(facts_json: str, data_json: str | None = None, page: str = "report.html") -> str:
    """The report of a run as one such file, or another page of facts. data_json: None if nothing was pushed.

    ValueError if the facts have what could end their element: `as_json` of run_data makes what has not.
    """
    if "<" in facts_json:
        raise ValueError("the facts have a <; escape it")
    head, tail = _around_data(page)
    facts = f'<script type="application/json" id="report-data">{facts_json}</script>\n'
    return f"{head}{facts}{_run_data(data_json) if data_json is not None else ''}{tail}"


def _run_data(data_json: str) -> str:
    data = b64encode(gzip.compress(data_json.encode(), compresslevel=6, mtime=0)).decode()
    return f'<script type="application/gzip" id="run-data">{data}</script>\n'


@cache
def _around_data(page: str) -> tuple[str, str]:
    """What stands before and after the data."""
    index = (STATIC / page).read_text("utf-8")
    styles = [_text(name) for name in _STYLE.findall(index)]
    scripts = [_text(name) for name in _SCRIPT.findall(index)]
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; img-src data:; "
        f"base-uri 'none'; form-action 'none'"
    )
    bare = _SCRIPT.sub("", _STYLE.sub("", index))
    before, after = bare.split("</body>")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    inlined = "".join(f"<style>{style}</style>\n" for style in styles)
    charset = '<meta charset="utf-8">\n'
    head = before.replace("</head>", f"{inlined}</head>").replace(charset, charset + meta)
    return head, "".join(f"<script>{script}</script>\n" for script in scripts) + "</body>" + after


def _text(name: str) -> str:
    text = (STATIC / name).read_text("utf-8")
    if re.search(r"</(?:script|style)|<!--|\r", text):
        raise ValueError(f"{name} has what cannot stand inside an element of a page")
    return text


def _hashes(texts: list[str]) -> str:
    return " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts)
