"""What was judged as JUnit XML, which continuous integration shows: a case for each thing that was looked at.

Failures are what ends a command with status 1, errors what ends it with 3. The format is that of Ant's task, as GitHub,
GitLab and Jenkins read it: https://github.com/testmoapp/junitxml.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from market_spread.controller.analysis.result import Result

FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"
# What XML cannot have, such as the colours in the last words of a process.
_NOT_OF_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that was looked at. ended: FAILURE, ERROR or SKIPPED, for the reason in `text`; None if it holds."""

    group: str
    name: str
    text: str = ""
    ended: str | None = None


def junit_xml(suite: str, cases: Sequence[Case], *, seconds: float | None = None) -> str:
    """The document of one suite. seconds: how long it took."""
    ends = Counter(case.ended for case in cases)
    counts = {"tests": len(cases), "failures": ends[FAILURE], "errors": ends[ERROR], "skipped": ends[SKIPPED]}
    told = {name: str(count) for name, count in counts.items()} | ({} if seconds is None else {"time": f"{seconds:g}"})
    root = ElementTree.Element("testsuites", told)
    element = ElementTree.SubElement(root, "testsuite", {"name": suite, **told})
    for case in cases:
        of_case = ElementTree.SubElement(element, "testcase", {"classname": f"{suite}.{case.group}", "name": case.name})
        if case.ended:
            text = _NOT_OF_XML.sub("\ufffd", case.text)
            ElementTree.SubElement(of_case, case.ended, {"message": text}).text = text  # GitLab shows what is inside
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def junit_of_run(result: Result) -> str:
    """Every check of a run. What failed without deciding, as another fault explains it, is skipped."""
    ends = {"valid": ERROR}
    cases = [
        Case(
            question,
            each["check"],
            each["text"],
            None if each["holds"]
            else ends.get(question, FAILURE) if each["holds"] is False and each["check"] in result.decisive
            else SKIPPED,
        )
        for question, verdict in result.verdicts.items()
        for each in verdict["evidence"]
    ]  # fmt: skip
    return junit_xml(f"market-spread.{result.workload}", cases, seconds=result.duration_s)
