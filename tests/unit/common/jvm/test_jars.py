"""The jars: their lock, and what a cache says of one that is missing or altered."""

import re
from pathlib import Path

import pytest

from market_spread.common.errors import UsageError
from market_spread.common.jvm.jars import LOCK, Jar, JarCache, Java, read_lock

EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
ABC_SHA256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
CLIENTS = Jar("connector", "org.apache.kafka", "kafka-clients", "3.9.2", ABC_SHA256)
SERVER = Jar("broker", "org.apache.kafka", "kafka_2.13", "4.1.0", EMPTY_SHA256)
NO_JAVA = Java(Path("/nowhere/java"), 17)


@pytest.fixture
def cache(tmp_path: Path) -> JarCache:
    """Two jars as they are pinned: one holds `abc`, the other nothing."""
    (tmp_path / "org.apache.kafka+kafka-clients-3.9.2.jar").write_bytes(b"abc")
    (tmp_path / "org.apache.kafka+kafka_2.13-4.1.0.jar").write_bytes(b"")
    return JarCache(tmp_path, (CLIENTS, SERVER))


def test_lock_has_a_jar_a_line_and_comments() -> None:
    text = (
        "# a comment\n"
        "\n"
        f"connector org.apache.kafka:kafka-clients:3.9.2 {ABC_SHA256}\n"
        f"broker org.apache.kafka:kafka_2.13:4.1.0 {EMPTY_SHA256}\n"
    )

    assert read_lock(text) == (CLIENTS, SERVER)


def test_file_name_is_made_of_the_coordinates() -> None:
    assert CLIENTS.file_name == "org.apache.kafka+kafka-clients-3.9.2.jar"


def test_paths_are_those_of_the_group(cache: JarCache) -> None:
    assert cache.paths("connector") == [cache.folder / "org.apache.kafka+kafka-clients-3.9.2.jar"]
    assert cache.paths("broker") == [cache.folder / "org.apache.kafka+kafka_2.13-4.1.0.jar"]
    assert cache.missing() == []


def test_nothing_is_fetched_while_nothing_is_missing(cache: JarCache) -> None:
    assert cache.fetch(NO_JAVA) == 0


def test_missing_jar_is_one_sentence_with_the_remedy(cache: JarCache) -> None:
    path = cache.folder / CLIENTS.file_name
    path.unlink()

    with pytest.raises(UsageError) as raised:
        cache.paths("connector")

    assert str(raised.value) == f"the jar {path} is missing; fetch it with: make setup"
    assert cache.missing() == [CLIENTS]


def test_altered_jar_is_one_sentence_with_the_remedy(cache: JarCache) -> None:
    path = cache.folder / CLIENTS.file_name
    path.write_bytes(b"")

    with pytest.raises(UsageError) as raised:
        cache.paths("connector")

    assert str(raised.value) == (
        f"the jar {path} has SHA-256 {EMPTY_SHA256}, pinned is {ABC_SHA256}; "
        "delete it and fetch it again with: make setup"
    )
    assert cache.missing() == [CLIENTS]


def test_fault_in_one_group_does_not_touch_the_other(cache: JarCache) -> None:
    (cache.folder / CLIENTS.file_name).unlink()

    assert len(cache.paths("broker")) == 1


def test_folder_that_does_not_exist_has_no_jar(tmp_path: Path) -> None:
    cache = JarCache(tmp_path / "none", (CLIENTS, SERVER))

    assert cache.missing() == [CLIENTS, SERVER]


def test_pinned_jars_have_a_sha_256_each_and_no_address() -> None:
    text = LOCK.read_text()
    jars = read_lock(text)

    assert "://" not in text
    assert {jar.group for jar in jars} == {"broker", "connector", "metrics"}
    assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) for jar in jars)
    for group in ("broker", "connector"):
        names = [(jar.organisation, jar.name) for jar in jars if jar.group == group]
        assert len(names) == len(set(names))
    assert {jar.name for jar in jars if jar.group == "connector"} == {
        "commons-pool2",
        "hadoop-bare-naked-local-fs",
        "kafka-clients",
        "spark-avro_2.13",
        "spark-sql-kafka-0-10_2.13",
        "spark-token-provider-kafka-0-10_2.13",
    }
