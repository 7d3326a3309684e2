"""One look at the host, and what it takes to make it right."""

from collections import Counter
from collections.abc import Iterable

from market_spread.host_tuner.checks import checks
from market_spread.host_tuner.cluster import KubeletSocket, Resources
from market_spread.host_tuner.config import TuningProfile
from market_spread.host_tuner.settings import REFUSALS, Setting, SettingFile, host_cpus, settings
from market_spread.host_tuner.tree import HostTree, Originals
from market_spread.host_tuner.values import APPLIED, Report, SettingOutcome, shown_together

# Outcomes of their own: the files as they were, and the host as a whole when not even its CPUs can be read.
ORIGINALS, HOST = "originals", "host"


class Tuner:
    """Looks at the host again and again. Without originals (a dry run) it writes nothing, to the host or elsewhere.

    Since it started, by setting: drifts: files that were right and were found changed; errors: reads and writes that
    failed; written: writes.
    """

    def __init__(
        self, profile: TuningProfile, tree: HostTree, originals: Originals | None, kubelet: KubeletSocket | None
    ) -> None:
        self._profile, self._tree = profile, tree
        self._originals, self._kubelet = originals, kubelet
        self._right: set[str] = set()
        self._refused: set[str] = set()
        self.drifts, self.errors, self.written = Counter[str](), Counter[str](), Counter[str]()

    def cycle(self) -> Report:
        """Look at everything, put right what is wrong, and say how it is then. No error of a single file ends it."""
        try:
            cpus = host_cpus(self._profile, self._tree)
            wanted = settings(self._profile, self._tree, cpus)
        except (OSError, ValueError) as error:
            self.errors[HOST] += 1
            reason = f"the host cannot be looked at: {error}"
            return Report((SettingOutcome(HOST, "readable", "unreadable", APPLIED, ok=False, errors=(reason,)),))
        looks = [self._look(setting) for setting in wanted]
        outcomes: list[SettingOutcome] = []
        if self._originals is not None:
            noted = self._note(self._originals, looks)
            outcomes.append(noted)
            if noted.ok:
                self._mend_all(self._originals, looks)
        found = self._kubelet.resources() if self._kubelet else Resources(error="the kubelet's socket is not set")
        verified = checks(self._profile, self._tree, cpus, found)
        self._right = {file.path for look in looks for file in look.right()}
        return Report((*(look.outcome() for look in looks), *outcomes, *verified), found.exclusive)

    def _look(self, setting: Setting) -> "_Look":
        """Read the files of a setting, and count those that someone has changed since they were right."""
        look = _Look(setting)
        for file in setting.files:
            self._read(look, file)
        look.refused = self._refused & {file.path for file in setting.files}
        self.drifts[setting.name] += sum(file.path in self._right for file in look.wrong())
        return look

    def _note(self, originals: Originals, looks: "Iterable[_Look]") -> SettingOutcome:
        """Keep how files are before they are written for the first time, and put back those that no one wants."""
        unwanted = originals.paths - {file.path for look in looks for file in look.setting.files}
        try:
            _, problems = originals.put_back(self._tree, unwanted)
            texts = {path: text for look in looks for path, text in look.texts.items() if path not in look.refused}
            originals.note(texts)
        except OSError as error:
            self.errors[ORIGINALS] += 1
            reason = f"originals cannot be saved, so nothing was written: {error.strerror}"
            return SettingOutcome(ORIGINALS, "saved", "not saved", APPLIED, ok=False, errors=(reason,))
        self.errors[ORIGINALS] += len(problems)
        return SettingOutcome(ORIGINALS, "saved", f"{len(originals)} files", APPLIED, ok=True, errors=problems)

    def _mend_all(self, originals: Originals, looks: "Iterable[_Look]") -> None:
        for look in looks:
            for file in look.wrong():
                self._mend(look, file)
        refused = {path for look in looks for path in look.refused}
        if refused - self._refused:
            originals.forget(refused)
        self._refused = refused

    def _mend(self, look: "_Look", file: SettingFile) -> None:
        name = look.setting.name
        try:
            if look.setting.refusable and not self._tree.writable(file.path):
                look.refused.add(file.path)
                return
            self._tree.write(file.path, f"{file.value.written}\n")
            self.written[name] += 1
        except OSError as error:
            if look.setting.refusable and error.errno in REFUSALS:
                look.refused.add(file.path)
            else:
                self._failed(look, f"{file.path} cannot be written: {error.strerror}")
            return
        self._read(look, file)
        if file in look.wrong():
            self._failed(look, f"{file.path} reads {look.texts[file.path].strip()!r} after {file.value.written!r}")

    def _read(self, look: "_Look", file: SettingFile) -> None:
        look.texts.pop(file.path, None)
        try:
            look.texts[file.path] = self._tree.read(file.path)
        except OSError as error:
            self._failed(look, f"{file.path} cannot be read: {error.strerror}")

    def _failed(self, look: "_Look", reason: str) -> None:
        look.errors.append(reason)
        self.errors[look.setting.name] += 1


class _Look:
    """The files of a setting as they were read last."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.texts: dict[str, str] = {}
        self.errors: list[str] = []
        self.refused: set[str] = set()

    def wrong(self) -> list[SettingFile]:
        """Those that were read, are not as wanted, and are ours to set."""
        return [file for file in self._ours() if not file.value.accepts(self.texts[file.path])]

    def right(self) -> list[SettingFile]:
        return [file for file in self._ours() if file.value.accepts(self.texts[file.path])]

    def _ours(self) -> list[SettingFile]:
        return [file for file in self.setting.files if file.path in self.texts and file.path not in self.refused]

    def outcome(self) -> SettingOutcome:
        name, wanted, files = self.setting.name, self.setting.wanted, self.setting.files
        if not files:
            reason = f"this host has no {name}; leave it out of the profile"
            return SettingOutcome(name, wanted, "nothing to set", APPLIED, ok=False, errors=(reason,))
        ok = len(self.right()) + len(self.refused) == len(files) and not self.errors
        return SettingOutcome(name, wanted, self._found(), APPLIED, ok=ok, errors=tuple(self.errors))

    def _found(self) -> str:
        shown = [(file.label, file.value.shown(self.texts[file.path])) for file in self._ours()]
        unread = [(file.label, "unreadable") for file in self.setting.files if file.path not in self.texts]
        kept = f"{len(self.refused)} kept by the kernel" if self.refused else ""
        return ", ".join(part for part in (shown_together([*shown, *unread]), kept) if part)
