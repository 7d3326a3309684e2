"""What the tuner found: an outcome for each setting, for people, for the node's annotation and for its condition."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from market_spread.common.processes import format_cpus
from market_spread.common.words import in_columns
from market_spread.host_tuner.values import Cpus

APPLIED = "by the tuner"
AT_LAUNCH = "at launch"
BY_KUBELET = "by the kubelet"

# A condition's message is read by people, on one line; the report has everything.
_MESSAGE_CHARACTERS_MAX = 1000


@dataclass(frozen=True, slots=True)
class SettingOutcome:
    """A setting as it was found. how: who sets it; errors: what went wrong, a sentence each."""

    setting: str
    wanted: str
    found: str
    how: str
    ok: bool
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """One look at the whole host. exclusive: containers, as namespace/pod/container, and the CPUs that they have."""

    outcomes: tuple[SettingOutcome, ...]
    exclusive: Mapping[str, Cpus] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return all(outcome.ok for outcome in self.outcomes)

    def message(self) -> str:
        """What is wrong, in a line."""
        if self.ok:
            return f"all {len(self.outcomes)} settings are as wanted"
        wrong = (outcome for outcome in self.outcomes if not outcome.ok)
        text = "; ".join(f"{outcome.setting}: wanted {outcome.wanted}, found {outcome.found}" for outcome in wrong)
        return text if len(text) <= _MESSAGE_CHARACTERS_MAX else f"{text[: _MESSAGE_CHARACTERS_MAX - 1]}…"

    def to_mapping(self) -> dict[str, object]:
        """The short report that the node is annotated with; it changes only when the host does."""
        return {
            "ok": self.ok,
            "wrong": {outcome.setting: outcome.found for outcome in self.outcomes if not outcome.ok},
            "exclusive": {name: format_cpus(cpus) for name, cpus in sorted(self.exclusive.items())},
        }

    def table(self) -> str:
        rows = [(each.setting, each.wanted, each.found, each.how, "yes" if each.ok else "NO") for each in self.outcomes]
        lines = in_columns([("setting", "wanted", "found", "set", "ok"), *rows])
        lines += [f"{outcome.setting}: {error}" for outcome in self.outcomes for error in outcome.errors]
        lines += [f"exclusive: {name} has {format_cpus(cpus)}" for name, cpus in sorted(self.exclusive.items())]
        wrong = sum(not outcome.ok for outcome in self.outcomes)
        lines.append(f"{wrong} of {len(rows)} settings are not as wanted" if wrong else self.message())
        return "\n".join(lines)


def shown_together(values: Iterable[tuple[str, str]]) -> str:
    """What several files say, by their labels: `2 on 15, 0 on cpu3`, the most frequent first."""
    labels: dict[str, list[str]] = {}
    for label, value in values:
        labels.setdefault(value, []).append(label)
    groups = sorted(labels.items(), key=lambda group: -len(group[1]))
    if len(groups) <= 1:
        return "".join(value for value, _ in groups)
    few = {value: " ".join(names) if len(names) <= 3 else str(len(names)) for value, names in groups}
    return ", ".join(f"{value} on {names}" for value, names in few.items())
