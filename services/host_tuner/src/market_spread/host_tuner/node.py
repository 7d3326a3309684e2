"""What the node's object in Kubernetes says of the tuning: condition, annotation, no startup taint once it is right."""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime

from market_spread.common.clock import Clock
from market_spread.common.errors import UnavailableError
from market_spread.common.logs import log_event
from market_spread.host_tuner.cluster import CONDITION, KubernetesNode
from market_spread.host_tuner.report import Report

STARTUP_TAINT = "market-spread.io/host-tuning"

# What has not changed is looked at again after so long: someone may have changed the node, or made it anew.
LOOK_AGAIN_NS = 60_000_000_000
HEARTBEAT_NS = 300_000_000_000

_log = logging.getLogger(__name__)


class NodePublisher:
    """Keeps the node's object up to date, with as few calls as that takes."""

    def __init__(self, api: KubernetesNode, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._published: tuple[str, str] | None = None
        self._looked_ns = 0
        self._heartbeat_ns = 0
        self.errors = 0

    def publish(self, report: Report) -> None:
        """Say what the report says. If the API does not answer, the next report is said instead."""
        content = (json.dumps(report.to_mapping()), report.message())
        now_ns = self._clock.monotonic_ns()
        if content == self._published and now_ns - self._looked_ns < LOOK_AGAIN_NS:
            return
        try:
            self._bring_up_to_date(report, *content)
        except UnavailableError as error:
            self.errors += 1
            log_event(_log, "node.not_published", logging.WARNING, reason=str(error))
            return
        self._published, self._looked_ns = content, now_ns

    def withdraw(self) -> None:
        """Leave nothing of the tuner's on the node's object. UnavailableError if the API does not answer."""
        self._published = None
        self._api.annotate(None)
        self._api.remove_condition()

    def _bring_up_to_date(self, report: Report, annotation: str, message: str) -> None:
        node = self._api.read()
        if node.annotation != annotation:
            self._api.annotate(annotation)
        self._set_condition(node.condition, report.ok, message)
        # The last thing: who sees the taint gone finds the rest said.
        if report.ok and STARTUP_TAINT in node.taint_keys:
            self._api.remove_taint(node.taint_keys.index(STARTUP_TAINT), STARTUP_TAINT)
            log_event(_log, "node.released", taint=STARTUP_TAINT)

    def _set_condition(self, old: Mapping[str, str] | None, ok: bool, message: str) -> None:
        status, reason = ("True", "AsWanted") if ok else ("False", "NotAsWanted")
        now_ns = self._clock.monotonic_ns()
        same = old is not None and (old.get("status"), old.get("message")) == (status, message)
        if same and self._heartbeat_ns and now_ns - self._heartbeat_ns < HEARTBEAT_NS:
            return
        now = datetime.fromtimestamp(self._clock.unix_ns() // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        changed = old.get("lastTransitionTime", now) if old is not None and old.get("status") == status else now
        condition = {"type": CONDITION, "status": status, "reason": reason, "message": message}
        self._api.set_condition({**condition, "lastHeartbeatTime": now, "lastTransitionTime": changed})
        self._heartbeat_ns = now_ns or 1
