"""What the tuner shows of itself: metrics, report, health."""

from http import HTTPStatus

import pytest

from market_spread.host_tuner.cluster import Resources
from market_spread.host_tuner.config import Applied, TuningProfile
from market_spread.host_tuner.running import HostWatch
from market_spread.host_tuner.tuner import Tuner
from tests.support.clock import ManualClock
from tests.unit.host_tuner.fakes import THP, FakeKernel, FakeKubelet, FakeRecord, host, originals, socket, tree

PROFILE = TuningProfile(frozenset({0}), Applied(transparent_hugepages="never"))
EXCLUSIVE = Resources({"spark/executor-1/executor": frozenset({2, 3})}, frozenset({1, 2, 3}))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def watch_over(kernel: FakeKernel, clock: ManualClock) -> HostWatch:
    tuner = Tuner(PROFILE, tree(kernel), originals(FakeRecord()), socket(FakeKubelet(EXCLUSIVE)))
    return HostWatch(tuner, None, clock=clock, interval_s=10, dry_run=False)


def page(watch: HostWatch, path: str) -> str:
    return watch.pages()[path]().body.decode()


def test_metrics_tell_settings_drift_writes_errors_and_exclusive_cpus(clock: ManualClock) -> None:
    kernel = FakeKernel(host())
    watch = watch_over(kernel, clock)
    watch.look()
    kernel.files[f"{THP}/enabled"] = "[always] madvise never\n"
    kernel.write_faults = {f"{THP}/enabled": 13}
    watch.look()

    lines = page(watch, "/metrics").splitlines()

    assert 'market_spread_host_tuner_setting_ok{setting="transparent_hugepages"} 0.0' in lines
    assert 'market_spread_host_tuner_setting_ok{setting="originals"} 1.0' in lines
    assert 'market_spread_host_tuner_drift_total{setting="transparent_hugepages"} 1.0' in lines
    assert 'market_spread_host_tuner_writes_total{setting="transparent_hugepages"} 2.0' in lines
    assert 'market_spread_host_tuner_apply_errors_total{setting="transparent_hugepages"} 1.0' in lines
    assert "market_spread_host_tuner_pinned_exclusive_cpus 2.0" in lines
    assert "market_spread_host_tuner_verified_timestamp_seconds 1.7e+09" in lines
    assert "market_spread_host_tuner_publish_errors_total 0.0" in lines


def test_the_report_is_a_table_with_what_is_wrong(clock: ManualClock) -> None:
    kernel = FakeKernel(host(), write_faults={f"{THP}/enabled": 13})
    watch = watch_over(kernel, clock)

    watch.look()

    assert page(watch, "/report").splitlines() == [
        "setting                wanted        found                               set           ok",
        "transparent_hugepages  never         always on enabled, never on defrag  by the tuner  NO",
        "originals              saved         2 files                             by the tuner  yes",
        "housekeeping_cpus      0 and others  online are 0-3                      at launch     yes",
        f"transparent_hugepages: {THP}/enabled cannot be written: Permission denied",
        "exclusive: spark/executor-1/executor has 2-3",
        "1 of 3 settings are not as wanted",
    ]


def test_a_tuner_that_hangs_is_not_healthy(clock: ManualClock) -> None:
    watch = watch_over(FakeKernel(host()), clock)
    before = watch.pages()["/healthz"]()
    watch.look()
    after = watch.pages()["/healthz"]()

    clock.advance_ns(61_000_000_000)
    hanging = watch.pages()["/healthz"]()

    assert (before.status, after.status) == (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.OK)
    assert (hanging.status, hanging.body) == (HTTPStatus.SERVICE_UNAVAILABLE, b"no look for 61 s\n")
