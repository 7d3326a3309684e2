"""Where a pod finds its API server."""

from pathlib import Path

import pytest

from market_spread.common import kubernetes
from market_spread.common.errors import UsageError
from market_spread.common.kubernetes import ApiServer


@pytest.mark.parametrize(("host", "url"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")])
def test_the_server_of_a_pod_is_told_by_its_environment(
    host: str, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kubernetes, "ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    assert ApiServer.of_pod() == ApiServer(url, tmp_path)


def test_without_an_account_there_is_no_kubernetes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kubernetes, "ACCOUNT", tmp_path / "missing")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    with pytest.raises(UsageError, match="there is no Kubernetes here"):
        ApiServer.of_pod()
