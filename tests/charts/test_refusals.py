"""What cannot work is refused before anything is installed, in a sentence with the value and the remedy."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.charts.catalog import C4, CI, DEFAULT, Profile, try_rendering

POOLS = Profile("node-pools")
MONITORING = Profile("monitoring")
HOSTS = Profile("host-tuning")
Values = Mapping[str, Any]

SASL = {"kafka.external.bootstrap": "b1:9092", "kafka.external.security.protocol": "SASL_SSL"}
SSL = {"kafka.external.bootstrap": "b1:9092", "kafka.external.security.protocol": "SSL"}
TOKENS = {
    **SASL, "kafka.external.security.saslMechanism": "OAUTHBEARER", "kafka.external.security.username": "u",
    "kafka.external.security.passwordSecret": "p",
}  # fmt: skip
PLAIN = {"kafka.external.bootstrap": "b1:9092"}
PIPELINE = {"job.pipeline.configMap": "fares", "job.pipeline.file": "fares.py", "job.pipeline.function": "fares"}

# A character more than a label's prefix may have.
LONG = {f"{'a' * 254}/x": "y"}
LONG_KEY = next(iter(LONG))

# Values that contradict each other, or the nodes: the chart's own sentences.
CONTRADICTIONS: list[tuple[Profile, Values, str]] = [
    (C4, {"sender.cpu": "1.5"}, 'sender.cpu="1.5", and sender is pinned; exclusive CPUs are whole'),
    (C4, {"sender.cpu": "500m"}, 'sender.cpu="500m", and sender is pinned'),
    (C4, {"sender.cpu": ""}, 'sender.cpu="", and sender is pinned'),
    (C4, {"receiver.cpu": "0.5"}, 'receiver.cpu="0.5", and receiver is pinned'),
    (C4, {"kafka.cpu": "2500m"}, 'kafka.cpu="2500m", and kafka is pinned'),
    (C4, {"job.executors.cpu": "6.5"}, 'job.executors.cpu="6.5", and job.executors is pinned'),
    (C4, {"job.executors.cpu": "9"}, "job.executors.cpu=9, and a NUMA node has 8 for pods"),
    (C4, {"kafka.cpu": "16"}, "kafka.cpu=16, and a NUMA node has 8"),
    (CI, {"job.executors.cpu": "2"}, "job.executors.cpu=2, and a NUMA node has 1"),
    (C4, {"kafka.memory": "30Gi"}, "kafka takes 30720Mi, more than nodes.memoryPerNumaNode=26Gi"),
    (C4, {"job.executors.heap": "24g"}, "job.executors takes 28672Mi, more than nodes.memoryPerNumaNode=26Gi"),
    (C4, {"sender.pool": "", "receiver.pool": ""}, "sender is pinned and has no pool"),
    (C4, {"kafka.pool": ""}, "kafka is pinned and has no pool"),
    (C4, {"job.executors.pool": ""}, "job.executors is pinned and has no pool"),
    (C4, {"sender.replicas": 4}, "sender and receiver, which share a node, need 18 exclusive CPUs, and a node has 15"),
    (C4, {"job.executors.count": 3}, "on the one node of a ReadWriteOnce checkpoint, need 21 exclusive CPUs"),
    (
        C4,
        {"job.replicas": 2, "job.spread": "none"},
        "on the one node of a ReadWriteOnce checkpoint, need 28 exclusive CPUs",
    ),
    (
        DEFAULT,
        {
            "job.checkpoint.kind": "hostPath",
            "job.checkpoint.hostPath": "/data/x",
            "job.executors.count": 2,
            "job.executors.onePerNode": True,
        },
        "job.checkpoint of hostPath with executors on several nodes (job.executors.onePerNode): only one node could",
    ),
    (
        DEFAULT,
        {"job.replicas": 2, "job.checkpoint.kind": "existingClaim", "job.checkpoint.existingClaim": "x"},
        "job.replicas=2 on several nodes (job.spread=node) with job.checkpoint.kind=existingClaim, which is",
    ),
    (C4, {"nodes.reservedCpus": 17}, "nodes.cpus=18 leaves nothing after reservedCpus=17 and daemonSetCpus=1"),
    (CI, {"nodes.strictCpuReservation": True}, 'does not start again ("default cpuset cannot be empty")'),
    (
        C4,
        {"job.executors.onePerNode": True},
        "ReadWriteOnce with executors on several nodes (job.executors.onePerNode)",
    ),
    (DEFAULT, {"job.checkpoint.accessMode": "ReadWriteOncePod"}, "driver and executors all write the checkpoint"),
    (C4, {"job.driver.pool": "load"}, "job.driver.pool=load and job.executors.pool=engine with a ReadWriteOnce"),
    (C4, {"job.driver.pool": ""}, 'job.driver.pool="" and job.executors.pool=engine with a ReadWriteOnce checkpoint'),
    (DEFAULT, {"job.checkpoint.kind": "existingClaim"}, "job.checkpoint.existingClaim is empty; name it"),
    (DEFAULT, {"job.checkpoint.kind": "hostPath"}, "job.checkpoint.hostPath is empty; name it"),
    (DEFAULT, {"kafka.data.existingClaim": "old"}, "kafka.data.existingClaim=old is of no use with kind=claim"),
    (CI, {"receiver.ledgers.hostPath": "/x"}, "receiver.ledgers.hostPath=/x is of no use with kind=emptyDir"),
    (DEFAULT, {"job.executors.slots": 2}, "job.executors has 2 slots (count x slots)"),
    (DEFAULT, {"topics.partitions": 4}, "2 x topics.partitions + job.shufflePartitions = 9; use as many"),
    (DEFAULT, {"job.batchS": 1}, "job.batchS=1; real-time takes 5 or more"),
    (DEFAULT, {"images.sender": "a/sender:latest"}, "images.sender=a/sender:latest is another image tomorrow"),
    (DEFAULT, {"images.tag": "latest"}, "images.tag=latest is another image tomorrow; name a version"),
    (DEFAULT, {"job.pipeline.image": "fares:latest"}, "job.pipeline.image=fares:latest is another image tomorrow"),
    (
        DEFAULT,
        {"job.executors.javaOptions": "-Xmx4g"},
        "job.executors.javaOptions has -Xmx4g, which Spark or the chart",
    ),
    (
        C4,
        {"metricsAggregator.cpu": "12"},
        "in pool load share a node, request 18000m CPUs (sender.cpu=4, receiver.cpu=2",
    ),
    (DEFAULT, {"job.batchS": 3600, "tests.durationS": 5}, "use batches of 150 s at most, or a longer test"),
    (DEFAULT, {"networkPolicy.kafka.cidrs": ["10.1.2.3/16"]}, "10.1.2.3/16, an address within the network 10.1.0.0/16"),
    (DEFAULT, {"run.workload": "nonsense", "run.enabled": True}, 'run.workload="nonsense" is no workload'),
    (DEFAULT, {"job.replicas": 2, "job.batchS": 10}, "job.batchS=10 with job.replicas=2; use 20 or more"),
    (DEFAULT, {"job.driver.heap": "2g"}, "job.driver.memory=2Gi holds the heap of 2g and less than 768Mi besides"),
    (DEFAULT, {"kafka.heap": "1400m"}, "kafka.memory=1536Mi holds the heap of 1400m and less than 384Mi besides"),
    (DEFAULT, {"run.enabled": True}, "run.enabled=true, and run.workload is empty"),
    (DEFAULT, {"sender.pool": "load"}, 'sender.pool="load" and receiver.pool="": the two share a node'),
    (
        DEFAULT,
        {"kafka.external.security.protocol": "SSL"},
        "kafka.external.security is set (protocol=SSL), and kafka.external.bootstrap is empty: the trial broker speaks "
        "PLAINTEXT alone; name your brokers",
    ),
    (DEFAULT, {"kafka.external.security.caSecret": "ca"}, "is set (protocol=PLAINTEXT), and kafka.external.bootstrap"),
    (DEFAULT, {"tls.source": "secret"}, 'tls.secrets.job="" with tls.source=secret; name the Secret with its ca.crt'),
    (
        DEFAULT,
        {"tls.source": "helm", "tls.secrets.run": "x"},
        "tls.secrets.run=x is of no use with tls.source=helm",
    ),
    (
        DEFAULT,
        {"tls.issuer": "x"},
        "tls.issuer=x is of no use with tls.source=none; use certManager",
    ),
    (
        DEFAULT,
        {"tls.source": "certManager", "tls.issuerKind": "ClusterIssuer"},
        "tls.issuerKind=ClusterIssuer without tls.issuer; name the issuer, or leave Issuer for the one",
    ),
    (DEFAULT, SASL, "SASL_SSL needs kafka.external.security.username and passwordSecret; set both"),
    (DEFAULT, {**SASL, "kafka.external.security.username": "u"}, "needs kafka.external.security.username and password"),
    (DEFAULT, TOKENS, "saslMechanism=OAUTHBEARER needs kafka.external.security.tokenEndpoint; name the https URL"),
    (
        DEFAULT,
        {**TOKENS, "kafka.external.security.tokenEndpoint": "https://127.0.0.1:8443/token"},
        "kafka.external.security.tokenEndpoint=https://127.0.0.1:8443/token is each pod itself; name it as pods",
    ),
    (
        DEFAULT,
        {**TOKENS, "kafka.external.security.saslMechanism": "PLAIN", "kafka.external.security.tokenScope": "x"},
        "with protocol=SASL_SSL and saslMechanism=PLAIN, which takes no tokens; use OAUTHBEARER with SASL_SSL",
    ),
    (
        DEFAULT,
        {"kafka.external.security.tokenEndpoint": "https://login.example.com/token"},
        "kafka.external.security is set (protocol=PLAINTEXT), and kafka.external.bootstrap is empty",
    ),
    (DEFAULT, {**SSL, "kafka.external.security.username": "u"}, "protocol=SSL, which knows no users; use SASL_SSL"),
    (DEFAULT, {**PLAIN, "kafka.external.security.username": "u"}, "protocol=PLAINTEXT, which knows no users"),
    (DEFAULT, {**PLAIN, "kafka.external.security.caSecret": "ca"}, "protocol=PLAINTEXT, which does not encrypt"),
    (
        DEFAULT,
        {**PIPELINE, "job.pipeline.image": "registry.example.com/fares:1"},
        "job.pipeline.image=registry.example.com/fares:1 and job.pipeline.configMap=fares: the file is in one of the",
    ),
    (
        DEFAULT,
        {**PIPELINE, "job.pipeline.function": ""},
        "job.pipeline.file=fares.py, and job.pipeline.function is empty; name the function that returns the pipeline",
    ),
    (DEFAULT, {**PIPELINE, "job.pipeline.file": ""}, "job.pipeline has no file; name it, or leave"),
    (DEFAULT, {"job.pipeline.configMap": "fares"}, "job.pipeline has no file; name it, or leave"),
    (DEFAULT, {"job.pipeline.image": "fares:1"}, "job.pipeline has no file; name it, or leave"),
    (
        DEFAULT,
        {**PIPELINE, "job.pipeline.configMap": ""},
        "job.pipeline.file=fares.py is nowhere; name the job.pipeline.image or job.pipeline.configMap that has it",
    ),
    (
        DEFAULT,
        {**PIPELINE, "job.pipeline.file": "/opt/fares.py"},
        "job.pipeline.file=/opt/fares.py with a ConfigMap, whose keys are no paths; use fares.py",
    ),
    (
        DEFAULT,
        {**PIPELINE, "job.pipeline.configMap": "", "job.pipeline.image": "fares:1"},
        "job.pipeline.file=fares.py with an image; name its whole path there, such as /opt/fares/fares.py",
    ),
    (
        DEFAULT,
        {**PIPELINE, "job.decisions": "all"},
        "job.decisions=all with job.pipeline: decisions are those of Market",
    ),
    (DEFAULT, {**PIPELINE, "job.replicas": 2}, "job.replicas=2 with job.pipeline: every output would come as often"),
    (DEFAULT, {**PIPELINE, "run.enabled": True, "run.workload": "x"}, "put all into job.pipeline.configMap, and name"),
    (DEFAULT, {"run.enabled": True, "run.workload": "x", "run.file": "w.yaml"}, "run.file=w.yaml is of a pipeline's"),
    (DEFAULT, {**PIPELINE, "topics.partitions": 4}, "has 3 slots (count x slots), and each of topics.partitions=4"),
    (DEFAULT, {"topics.replicas": 3}, "topics.replicas=3 with the one trial broker"),
    (DEFAULT, {"sender.realtime.enabled": True}, "sender.realtime.enabled=true, and sender is not pinned"),
    (DEFAULT, {"receiver.realtime.enabled": True}, "receiver.realtime.enabled=true, and receiver is not pinned"),
    (
        DEFAULT,
        {"networkPolicy.apiServer.cidrs": ["fd00:0:0:1f::/58"]},
        "fd00:0:0:1f::/58, an address within the network fd00::/58; use one of the two: fd00::/58, or fd00:0:0:1f::",
    ),
    (DEFAULT, {"kafka.external.bootstrap": f"{'a.' * 126}ab:9092"}, "ab:9092, a host name of more than 253 characters"),
    (
        DEFAULT,
        {"podAnnotations": {"a": "x" * 64000}},
        "podAnnotations has 64008 characters in all, and",
    ),
    (DEFAULT, {"kafka.properties": {"num.io.threads": 3e9}}, "num.io.threads=3e+09; use 2147483647 at most"),
    (
        DEFAULT,
        {"kafka.properties": {"log.retention.bytes": 9223372036854775807}},
        "Helm would round it; put it into quotes, as text",
    ),
    (
        DEFAULT,
        {"job.driver.javaOptions": "-XX:+AggressiveOpts"},
        "-XX:+AggressiveOpts, a name that Java 17 does not",
    ),
    (
        DEFAULT,
        {"job.driver.javaOptions": "-XX:+UseEpsilonGC"},
        "-XX:+UseEpsilonGC, with which a JVM starts only after -XX:+UnlockExperimentalVMOptions; put that first",
    ),
    (
        DEFAULT,
        {"job.driver.javaOptions": "-XX:UseZGC=true"},
        "-XX:UseZGC=true; it is a switch, so write -XX:+UseZGC or -XX:-UseZGC",
    ),
    (
        HOSTS,
        {"profile.apply.sysctls": {"vm.dirty_background_ratio": 20, "vm.dirty_ratio": 10}},
        "has vm.dirty_background_ratio=20 and vm.dirty_ratio=10: the kernel takes vm.dirty_background_ratio below the",
    ),
    (POOLS, {"cluster.name": ""}, "cluster.name is empty"),
    (POOLS, {"cluster.role": ""}, "cluster.role is empty"),
    (POOLS, {"instance.reservedCpus": "0,18"}, "names CPU 18, and with SMT off there are 18 from 0"),
    (POOLS, {"instance.reservedCpus": "0"}, "are not spread evenly over 2 NUMA nodes"),
    (POOLS, {"kubelet.pinnedCpus": 17}, "kubelet.pinnedCpus=17, and 16 of 18 cores are left"),
    (POOLS, {"kubelet.pinnedCpus": 16}, "leaves nothing for the requests of DaemonSets; use 15 at most"),
    (POOLS, {"kubelet.pinnedCpus": 16, "kubelet.strictCpuReservation": True}, "the kubelet would not start again"),
    (POOLS, {"instance.placementGroup": "pg"}, "instance.placementGroup=pg with no instance.zone"),
]

# Values out of their range: the schema's sentences, which name the place.
MALFORMED: list[tuple[Profile, Values, str]] = [
    (DEFAULT, {"sendr.replicas": 2}, "sendr"),
    (DEFAULT, {"job.executors.cores": 2}, "cores"),
    (DEFAULT, {"sender.replicas": 0}, "sender/replicas"),
    (DEFAULT, {"sender.pool": "gpu"}, "sender/pool"),
    (DEFAULT, {"sender.cpu": 2}, "sender/cpu"),
    (DEFAULT, {"sender.memory": "1GB"}, "sender/memory"),
    (DEFAULT, {"sender.realtime.priority": 100}, "sender/realtime/priority"),
    (DEFAULT, {"sender.realtime.by": "sudo"}, "sender/realtime/by"),
    (DEFAULT, {"images.sender": "registry.example.com/sender"}, "images/sender"),
    (DEFAULT, {"images.sender": "sender@sha256:abc"}, "images/sender"),
    (DEFAULT, {"images.registry": "registry.example.com/"}, "images/registry"),
    (DEFAULT, {"images.pullPolicy": "never"}, "images/pullPolicy"),
    (DEFAULT, {"images.kafka": ""}, "images/kafka"),
    (DEFAULT, {"topics.partitions": 0}, "topics/partitions"),
    (DEFAULT, {"job.mode": "realtime"}, "job/mode"),
    (DEFAULT, {"job.replicas": 3}, "job/replicas"),
    (DEFAULT, {"job.checkpoint.kind": "emptyDir"}, "job/checkpoint/kind"),
    (DEFAULT, {"job.checkpoint.accessMode": "RWX"}, "job/checkpoint/accessMode"),
    (DEFAULT, {"job.executors.cpu": ""}, "job/executors/cpu"),
    (DEFAULT, {"job.driver.heap": "1Gi"}, "job/driver/heap"),
    (DEFAULT, {"job.pipeline.file": "fares"}, "job/pipeline/file"),
    (DEFAULT, {"job.pipeline.file": "../fares.py"}, "job/pipeline/file"),
    (DEFAULT, {"job.pipeline.function": "fares.py:fares"}, "job/pipeline/function"),
    (DEFAULT, {"job.pipeline.configmap": "fares"}, "configmap"),
    (DEFAULT, {"kafka.external.bootstrap": "b1"}, "kafka/external/bootstrap"),
    (DEFAULT, {"kafka.external.security.password": "secret"}, "password"),
    (DEFAULT, {"kafka.external.security.protocol": "sasl_ssl"}, "kafka/external/security/protocol"),
    (DEFAULT, {"kafka.external.security.saslMechanism": "GSSAPI"}, "kafka/external/security/saslMechanism"),
    (DEFAULT, {"kafka.prefix": "trial"}, "kafka/prefix"),
    (DEFAULT, {"kafka.prefix": "my trial."}, "kafka/prefix"),
    (DEFAULT, {"networkPolicy.apiServer.cidrs": []}, "networkPolicy/apiServer/cidrs"),
    (DEFAULT, {"networkPolicy.apiServer.ports": [0]}, "networkPolicy/apiServer/ports"),
    (DEFAULT, {"tolerations": [{"key": "a", "operater": "Exists"}]}, "tolerations/0"),
    (DEFAULT, {"nodeSelector": {"disk": 1}}, "nodeSelector/disk"),
    (POOLS, {"ami": "al2@latest"}, "ami"),
    (POOLS, {"instance.reservedCpus": "0-1"}, "instance/reservedCpus"),
    (POOLS, {"instance.zone": "us-east-1"}, "instance/zone"),
    (POOLS, {"pools.engine.realtimePriorityMax": 5}, "realtimePriorityMax"),
    (POOLS, {"pools.gpu.enabled": True}, "gpu"),
    (DEFAULT, {"podLabels": LONG}, f"podLabels/{'a' * 254}"),
    (DEFAULT, {"nodeSelector": LONG}, f"nodeSelector/{'a' * 254}"),
    (DEFAULT, {"networkPolicy.dns.podLabels": LONG}, f"networkPolicy/dns/podLabels/{'a' * 254}"),
    (DEFAULT, {"podAnnotations": LONG}, f"podAnnotations/{'a' * 254}"),
    (DEFAULT, {"tolerations": [{"key": LONG_KEY, "operator": "Exists"}]}, "tolerations/0/key"),
    (HOSTS, {"tolerations": [{"key": LONG_KEY, "operator": "Exists"}]}, "tolerations/0/key"),
    (HOSTS, {"podMonitor.labels": LONG}, f"podMonitor/labels/{'a' * 254}"),
    (MONITORING, {"rules.labels": LONG}, f"rules/labels/{'a' * 254}"),
    (MONITORING, {"rules.enabled": "yes"}, "rules/enabled"),
    (MONITORING, {"monitors.interval": "5"}, "monitors/interval"),
    (MONITORING, {"dashboards.enabled": "auto"}, "dashboards/enabled"),
]


@pytest.mark.parametrize(("profile", "values", "sentence"), CONTRADICTIONS, ids=lambda value: str(value)[:60])
def test_contradictions_are_refused_in_a_sentence(profile: Profile, values: Values, sentence: str) -> None:
    made = try_rendering(profile, "market-spread", values)

    assert made.status != 0
    assert sentence in made.error


@pytest.mark.parametrize(("profile", "values", "place"), MALFORMED, ids=lambda value: str(value)[:60])
def test_malformed_values_are_refused_with_their_place(profile: Profile, values: Values, place: str) -> None:
    made = try_rendering(profile, "market-spread", values)

    assert made.status != 0
    assert place in made.error.replace("'", "")


def test_all_contradictions_are_told_at_once() -> None:
    made = try_rendering(C4, "market-spread", {"sender.cpu": "1.5", "kafka.pool": "", "job.batchS": 1})

    assert "sender.cpu" in made.error
    assert "kafka is pinned and has no pool" in made.error
    assert "job.batchS=1" in made.error


@pytest.mark.parametrize(
    ("profile", "release", "sentence"),
    [
        # The revision of the StatefulSet metrics-aggregator is a label of its pods.
        (DEFAULT, "market-spread-0123456789-0123456789", "has 35 characters, and names made of it would be too long"),
        (DEFAULT, "a" * 20, "-market-spread has 34 characters, and names made of it would be too long; use a shorter"),
        (DEFAULT, "a.b", "a.b-market-spread is no name of a Service, which begins with a letter"),
        (DEFAULT, "1a", "1a-market-spread is no name of a Service, which begins with a letter"),
        # The Job of the removal is made when the release goes.
        (HOSTS, "a" * 44, "-host-tuning has 56 characters, and names made of it would be too long; use a shorter"),
    ],
)
def test_a_release_whose_name_kubernetes_would_refuse_later_is_refused(
    profile: Profile, release: str, sentence: str
) -> None:
    made = try_rendering(profile, release, {})

    assert made.status != 0
    assert sentence in made.error


@pytest.mark.parametrize(
    ("profile", "release"), [(DEFAULT, "a" * 19), (HOSTS, "a" * 43), (POOLS, "a" * 53), (MONITORING, "a" * 53)]
)
def test_the_longest_name_of_a_release_is_taken(profile: Profile, release: str) -> None:
    made = try_rendering(profile, release, {})

    assert made.status == 0, made.error
    for found in made.objects:
        revision = "-0123456789" if found["kind"] == "StatefulSet" else ""
        if found["kind"] in ("StatefulSet", "Service", "Job"):
            assert len(found["metadata"]["name"] + revision) <= 63


def test_a_name_that_would_become_too_long_is_refused() -> None:
    made = try_rendering(DEFAULT, "an-extraordinarily-long-name-of-a-release", {})

    assert made.status != 0
    assert "use a shorter release name" in made.error
