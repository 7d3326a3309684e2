"""A comparison as JSON, for programs."""

import json
from dataclasses import asdict
from typing import Any

from market_spread.controller.compare.comparison import Comparison, Judged, void_counts
from market_spread.controller.compare.differences import differences_of, warnings_of

SCHEMA_VERSION = 2


def comparison_json(comparison: Comparison) -> str:
    """The document, versioned by `schema_version`. Values have the units of the result's fields, shifts are shares."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "exit_status": comparison.exit_status,
        "forced": comparison.is_forced,
        "groups": [
            {
                "name": group.name,
                "runs": [run.run_id for run in group.runs],
                "left_out": [run.run_id for run in group.left_out],
                "unreadable": list(group.unreadable),
                "void": void_counts(group)[0],
            }
            for group in comparison.groups
        ],
        "contrasts": [
            {
                "first": contrast.first.name,
                "other": contrast.other.name,
                "pairs": contrast.pairs,
                "obstacle": contrast.obstacle,
                "verdict": contrast.change.value,
                "figures": [_figure(judged) for judged in contrast.judged],
            }
            for contrast in comparison.contrasts
        ],
        "differences": {
            difference.name: [dict(counted) for counted in difference.values]
            for difference in differences_of(comparison.groups)
        },
        "warnings": list(warnings_of(comparison.groups)),
    }
    return json.dumps(document, indent=2) + "\n"


def _figure(judged: Judged) -> dict[str, Any]:
    values = asdict(judged)
    figure, change = judged.figure, values.pop("change")
    return {**values, "figure": figure.path, "verdict": change.value, "least_share": figure.least_share}
