"""Where runs are kept: a folder, or anything else that fsspec has a file system for, such as S3."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from market_spread.common.documents import json_object
from market_spread.common.errors import UsageError, usage_errors
from market_spread.common.hdr.histogram import CLUSTERS_MIN
from market_spread.common.words import counted, in_columns
from market_spread.controller.analysis.result import SCHEMA_VERSION, outcome_text
from market_spread.controller.run_folder import State, is_locked

# What the processes of a run left for themselves.
_NOT_COPIED = {"processes", ".lock", "timeline.arrows", ".unfinished"}
# What a list has of a result as it is there, and of which kinds it must be.
_LISTED: Mapping[str, tuple[type, ...]] = {
    "workload": (str,), "verdict": (str,), "cause": (str,), "latencies_void": (bool,),
    "offered_rate_per_s": (int, float), "cpu_us_per_message": (int, float),
}  # fmt: skip
# OSError: some of them, as FTP's, connect at once.
_CHECK, _NOT_USABLE = "check the address and its rights", (OSError, ValueError, TypeError, LookupError)
_COLUMNS = ("run", "verdict", "offered/s", "p50 ms", "p99 ms", "CPU us", "step")

Summary = dict[str, Any]


class RunStore:
    """Runs below an address. Errors of the file system are UsageErrors that name the address."""

    def __init__(self, address: str) -> None:
        """The address of a folder: a path, or `protocol://…`; the protocol's package must be installed."""
        self._address = address
        remedy = "install what it needs, or name a folder"
        with usage_errors(f"the store {address} cannot be used", remedy, (ImportError, *_NOT_USABLE)):
            self._files, self._root = fsspec.core.url_to_fs(address)

    def run_ids(self) -> list[str]:
        """The runs that there are, newest first by their names."""
        with usage_errors(f"the store {self._address} cannot be read", _CHECK, _NOT_USABLE):
            if not self._files.isdir(self._root):
                raise UsageError(f"there is no folder {self._address}; name one that holds runs")
            found = [path for name in ("state", "result") for path in self._files.glob(f"{self._root}/*/{name}.json")]
        return sorted({str(path).rsplit("/", 2)[-2] for path in found}, reverse=True)

    def text(self, run_id: str, name: str) -> str:
        """A file of a run. UsageError if there is none."""
        what = f"{name} of the run {run_id} cannot be read"
        with usage_errors(what, "take it from another copy", (OSError, ValueError)):
            try:
                return str(self._files.cat_file(f"{self._root}/{run_id}/{name}").decode())
            except FileNotFoundError as error:
                raise UsageError(
                    f"there is no {name} of a run {run_id} in {self._address}; "
                    f"market-spread list {self._address} shows the runs that there are"
                ) from error

    def summaries(self) -> list[Summary]:
        """What a list says of each run; of one that has not ended, the step that it is or was at."""
        return [self.summary(run_id) for run_id in self.run_ids()]

    def put(self, folder: Path) -> tuple[int, int]:
        """Copy a run into the store; how many files, and their bytes. The result comes last: then all is there."""
        if not (folder / "result.json").exists():
            raise UsageError(f"{folder} holds no run that has a result; name one that has ended")
        files = [
            path
            for path in sorted(folder.rglob("*"), key=lambda path: (path.name == "result.json", path))
            if S_ISREG(path.lstat().st_mode) and not {path.suffix, path.relative_to(folder).parts[0]} & _NOT_COPIED
        ]
        with usage_errors(f"the run cannot be copied to {self._address}", _CHECK, (OSError, ValueError)):
            for path in files:
                target = f"{self._root}/{folder.name}/{path.relative_to(folder).as_posix()}"
                self._files.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
                self._files.put_file(str(path), target)
        return len(files), sum(path.stat().st_size for path in files)

    def summary(self, run_id: str) -> Summary:
        """What a list says of the run; note: what is wrong with its documents, or that it is of another schema."""
        damaged = []

        def document(name: str) -> Any:
            try:
                return json_object(self._files.cat_file(f"{self._root}/{run_id}/{name}"))
            except FileNotFoundError:
                pass
            except (OSError, ValueError):
                damaged.append(f"{name} cannot be read")
            return {}

        def of(values: Any, name: str, *kinds: type) -> Any:
            value = values.get(name)
            if value is None or type(value) in kinds:
                return value
            damaged.append(f"its {name} is damaged")
            return {} if dict in kinds else None

        result, state = document("result.json"), document("state.json")
        latency = of(result, "latency_ns", dict) or {}
        clusters = of(of(result, "latency_clusters", dict) or {}, "latency_ns", dict) or {}
        version = of(result, "schema_version", int)
        summary = {
            "run_id": run_id,
            **{name: of(result, name, *kinds) for name, kinds in _LISTED.items()},
            **{f"{name}_ns": of(latency, name, int, float) for name in ("p50", "p99")},
            "p99_clusters": of(clusters, "p99", int),
            "step": of(state, "step", str),
        }
        is_ours = isinstance(self._files, LocalFileSystem)  # elsewhere nobody can tell whether it goes on
        has_ended = summary["step"] in (None, State.DONE)
        summary["interrupted"] = is_ours and not has_ended and not is_locked(Path(self._root, run_id))
        verdict, cause, void = (summary[name] for name in ("verdict", "cause", "latencies_void"))
        summary["outcome"] = verdict and outcome_text(verdict, cause, latencies_void=bool(void))
        notes = [*([] if version in (None, SCHEMA_VERSION) else [f"schema {version}"]), *damaged[:1]]
        return {**summary, "note": ", ".join(notes)}


def listing(summaries: Sequence[Summary]) -> str:
    """The list as a table of text."""
    return "\n".join(in_columns([_COLUMNS, *map(_cells, summaries)])) if summaries else "no runs"


def _cells(summary: Summary) -> tuple[str, ...]:
    def number(value: object, text: str, scale: float = 1.0) -> str:
        return text.format(value * scale) if isinstance(value, int | float) else "-"

    broke_off = ", interrupted" if summary["interrupted"] else ""
    return (
        summary["run_id"],
        summary["outcome"] or "-",
        number(summary["offered_rate_per_s"], "{:,.0f}"),
        number(summary["p50_ns"], "{:,.1f}", 1e-6),
        f"– ({counted(few, 'cluster')})"
        if isinstance(few := summary["p99_clusters"], int) and few < CLUSTERS_MIN
        else number(summary["p99_ns"], "{:,.1f}", 1e-6),
        number(summary["cpu_us_per_message"], "{:.2f}"),
        " ".join(each for each in (f"{summary['step'] or '-'}{broke_off}", summary["note"]) if each),
    )
