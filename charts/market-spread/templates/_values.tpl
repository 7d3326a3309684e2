{{/* Values of the wrong kind that a schema cannot tell, a sentence for each: addresses, folders, sizes, what the chart says itself. */}}

{{- define "market-spread.checks.addresses" -}}
{{- $octet := "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])" }}
{{- $policy := .Values.networkPolicy }}
{{- $lists := dict "networkPolicy.dns.cidrs" $policy.dns.cidrs "networkPolicy.apiServer.cidrs" $policy.apiServer.cidrs "networkPolicy.kafka.cidrs" $policy.kafka.cidrs "networkPolicy.tokens.cidrs" (dig "tokens" "cidrs" (list) $policy) }}
{{- range $name, $cidrs := $lists }}
{{- range $cidrs }}
{{- $address := splitList "/" . | first }}
{{- $bits := splitList "/" . | last | int }}
{{- if regexMatch (printf `^(%s\.){3}%s/([12]?[0-9]|3[0-2])$` $octet $octet) . }}
{{- $base := include "market-spread.network4" (dict "address" $address "bits" $bits) | int }}
{{- if ne (toString $base) (include "market-spread.network4" (dict "address" $address "bits" 32)) }}
{{- $meant := printf "%d.%d.%d.%d/%d" (div $base 16777216) (mod (div $base 65536) 256) (mod (div $base 256) 256) (mod $base 256) $bits }}
- {{ printf "%s has %s, an address within the network %s; use one of the two: %s, or %s/32" $name . $meant $meant $address | quote }}
{{- end }}
{{- else if not (include "market-spread.isNetwork6" .) }}
- {{ printf "%s has %s, which is no network of IPv4 or IPv6; write it as 10.1.0.0/16 or fd00:1::/64" $name . | quote }}
{{- else }}
{{- $base := include "market-spread.network6" (dict "address" $address "bits" $bits) }}
{{- if ne $base (include "market-spread.network6" (dict "address" $address "bits" 128)) }}
- {{ printf "%s has %s, an address within the network %s/%d; use one of the two: %s/%d, or %s/128" $name . $base $bits $base $bits $address | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $brokers := splitList "," (lower .Values.kafka.external.bootstrap) }}
{{- if ne (len $brokers) (len (uniq $brokers)) }}
- {{ printf "kafka.external.bootstrap=%s names a broker twice; name each once" .Values.kafka.external.bootstrap | quote }}
{{- end }}
{{- range $brokers }}
{{- if gt (len (splitList ":" . | first)) 253 }}
- {{ printf "kafka.external.bootstrap has %s, a host name of more than 253 characters, which no DNS has; correct it" . | quote }}
{{- end }}
{{- if regexMatch `^(localhost|127\.[0-9.]+|0\.0\.0\.0):` . }}
- {{ printf "kafka.external.bootstrap has %s, which is each pod itself; name the broker as pods reach it" . | quote }}
{{- else if and $policy.enabled (regexMatch `^([0-9]+\.){3}[0-9]+:` .) }}
{{- $broker := splitList ":" . | first }}
{{- $reached := list }}
{{- range $policy.kafka.cidrs }}
{{- $bits := splitList "/" . | last | int }}
{{- $base := splitList "/" . | first }}
{{- if and (not (contains ":" .)) (eq (include "market-spread.network4" (dict "address" $base "bits" $bits)) (include "market-spread.network4" (dict "address" $broker "bits" $bits))) }}
{{- $reached = append $reached . }}
{{- end }}
{{- end }}
{{- if not $reached }}
- {{ printf "kafka.external.bootstrap has %s, and networkPolicy.kafka.cidrs=%s lets no pod reach it; add %s/32 or its network" . (join "," $policy.kafka.cidrs) $broker | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The first address of an IPv4 address's network, as a number: (address, bits). */}}
{{- define "market-spread.network4" -}}
{{- $number := 0 }}
{{- range splitList "." .address }}{{ $number = add (mul $number 256) (int .) }}{{ end }}
{{- $size := 1 }}
{{- range until (int (sub 32 .bits)) }}{{ $size = mul $size 2 }}{{ end }}
{{- sub $number (mod $number $size) }}
{{- end }}

{{/* "yes" for a network of IPv6: groups of four digits, :: at most once and for one group at least. */}}
{{- define "market-spread.isNetwork6" -}}
{{- $address := splitList "/" . | first }}
{{- $groups := splitList ":" $address | compact }}
{{- $written := regexMatch `^([0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4})*)?(::)?([0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4})*)?$` $address }}
{{- $whole := contains "::" $address | ternary (lt (len $groups) 8) (eq (len $groups) 8) }}
{{- if and $written $whole (regexMatch `/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$` .) }}yes{{ end }}
{{- end }}

{{/* The first address of an IPv6 address's network, as Kubernetes writes it but for inner zeros: (address, bits). */}}
{{- define "market-spread.network6" -}}
{{- $halves := splitList "::" .address }}
{{- $groups := splitList ":" (first $halves) | compact }}
{{- if gt (len $halves) 1 }}
{{- $after := splitList ":" (last $halves) | compact }}
{{- range until (sub 8 (add (len $groups) (len $after)) | int) }}{{ $groups = append $groups "0" }}{{ end }}
{{- $groups = concat $groups $after }}
{{- end }}
{{- $written := list }}
{{- $left := int .bits }}
{{- range $groups }}
{{- $number := 0 }}
{{- range splitList "" (lower .) }}{{ $number = add (mul 16 $number) (index (dict "a" 10 "b" 11 "c" 12 "d" 13 "e" 14 "f" 15) . | default (int .)) }}{{ end }}
{{- $size := 1 }}
{{- range until (int (sub 16 (min 16 (max 0 $left)))) }}{{ $size = mul 2 $size }}{{ end }}
{{- $written = append $written (printf "%x" (sub $number (mod $number $size))) }}
{{- $left = sub $left 16 }}
{{- end }}
{{- regexReplaceAll "(^|:)0(:0)+$" (join ":" $written) "::" }}
{{- end }}

{{/* Folders of a node that belong to the system: a volume there would be lost, or would break the node. */}}
{{- define "market-spread.checks.folders" -}}
{{- $folders := dict "receiver.ledgers" .Values.receiver.ledgers "metricsAggregator.runs" .Values.metricsAggregator.runs "job.checkpoint" .Values.job.checkpoint "kafka.data" .Values.kafka.data }}
{{- range $name, $volume := $folders }}
{{- if regexMatch "^/((etc|proc|sys|dev|boot|bin|sbin|lib|lib32|lib64|usr|root|run|var/run)(/.*)?|(home|mnt|media|opt|srv|tmp|var|var/lib|var/log|var/tmp)|var/(lib/(kubelet|containerd|docker|etcd|cni|rancher)|log/(pods|containers))(/.*)?)$" $volume.hostPath }}
- {{ printf "%s.hostPath=%s is a folder of the node's own system; use one of yours, such as /var/lib/market-spread/%s" $name $volume.hostPath (splitList "." $name | last) | quote }}
{{- end }}
{{- if and $volume.storageClass (ne $volume.kind "claim") }}
- {{ printf "%s.storageClass=%s is of no use with kind=%s; use kind=claim or leave it empty" $name $volume.storageClass $volume.kind | quote }}
{{- end }}
{{- if and $volume.keep (ne $volume.kind "claim") }}
- {{ printf "%s.keep=true is of no use with kind=%s, which the chart never removes; leave it false" $name $volume.kind | quote }}
{{- end }}
{{- if and (ne $volume.accessMode "ReadWriteOnce") (not (has $volume.kind (list "claim" "existingClaim"))) }}
- {{ printf "%s.accessMode=%s is of no use with kind=%s; use a claim, or leave ReadWriteOnce" $name $volume.accessMode $volume.kind | quote }}
{{- end }}
{{- if and (eq $volume.kind "claim") (eq $volume.accessMode "ReadWriteMany") (not $volume.storageClass) }}
- {{ printf "%s.accessMode=ReadWriteMany with storageClass=%q: the cluster's default class is mostly of disks that one node mounts, and the claim would stay Pending; name a class of shared storage, such as efs" $name $volume.storageClass | quote }}
{{- end }}
{{- end }}
{{- $given := dict }}
{{- range $name, $volume := $folders }}
{{- range list "existingClaim" "hostPath" }}
{{- $place := index $volume . }}
{{- if and $place (eq $volume.kind .) }}
{{- if hasKey $given $place }}
- {{ printf "%s.%s=%s is that of %s.%s, too: they would write over each other; give each its own" $name . $place (get $given $place) . | quote }}
{{- end }}
{{- range $other, $owner := $given }}
{{- if or (hasPrefix (printf "%s/" $other) $place) (hasPrefix (printf "%s/" $place) $other) }}
- {{ printf "%s.hostPath=%s and %s.hostPath=%s are one within the other; give each a folder of its own" $name $place $owner $other | quote }}
{{- end }}
{{- end }}
{{- $_ := set $given $place $name }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What a toleration and a node selector may say together. */}}
{{- define "market-spread.checks.scheduling" -}}
{{- range .Values.tolerations }}
{{- $said := toJson . }}
{{- $exists := eq (.operator | default "Equal") "Exists" }}
{{- if and (not .key) (not $exists) }}
- {{ printf "tolerations has %s, without a key: only operator Exists tolerates all of them; name the key" $said | quote }}
{{- end }}
{{- if and .value $exists }}
- {{ printf "tolerations has %s: operator Exists takes no value; leave it out, or use Equal" $said | quote }}
{{- end }}
{{- if and (eq (.key | default "") "market-spread.io/host-tuning") (include "market-spread.pinnedPods" $ | trim) }}
- {{ printf "tolerations has %s, the taint of nodes that are not tuned yet, and pods are pinned; leave it out, or use hostTuning.enabled=false of charts/node-pools" $said | quote }}
{{- end }}
{{- if and (hasKey . "tolerationSeconds") (ne (.effect | default "") "NoExecute") }}
- {{ printf "tolerations has %s: tolerationSeconds are of the effect NoExecute alone; leave them out, or name that effect" $said | quote }}
{{- end }}
{{- end }}
{{- $selector := .Values.nodeSelector }}
{{- range $label, $value := $selector }}
{{- if and (regexMatch "^(beta[.])?kubernetes[.]io/os$" $label) (ne $value "linux") }}
- {{ printf "nodeSelector has %s=%s, and all images are of linux; leave it out" $label $value | quote }}
{{- else if and (regexMatch "^(beta[.])?kubernetes[.]io/arch$" $label) (not (has $value (list "amd64" "arm64" "ppc64le" "s390x" "riscv64"))) }}
- {{ printf "nodeSelector has %s=%s, as Kubernetes calls no machine; use amd64 for x86_64, or arm64 for aarch64" $label $value | quote }}
{{- end }}
{{- end }}
{{- $pool := get $selector "market-spread.io/pool" }}
{{- $pools := dict "sender" .Values.sender.pool "receiver" .Values.receiver.pool "metricsAggregator" .Values.metricsAggregator.pool "job.driver" .Values.job.driver.pool "job.executors" .Values.job.executors.pool "kafka" .Values.kafka.pool }}
{{- if $pool }}
{{- if not (has $pool (list "engine" "broker" "load")) }}
- {{ printf "nodeSelector has market-spread.io/pool=%s, which no pool has; use engine, broker or load" $pool | quote }}
{{- end }}
{{- range $name, $other := $pools }}
{{- if and $other (ne $other $pool) }}
- {{ printf "nodeSelector has market-spread.io/pool=%s, and %s.pool=%s: no node is of both; leave it out, pools have their own selectors" $pool $name $other | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- $class := .Values.priorityClassName | default "" }}
{{- if and (hasPrefix "system-" $class) (not (has $class (list "system-node-critical" "system-cluster-critical"))) }}
- {{ printf "priorityClassName=%s: names that begin with system- are Kubernetes's own, system-node-critical and system-cluster-critical; use another" $class | quote }}
{{- end }}
{{- end }}

{{/* Labels, annotations and variables that are the chart's or the platform's own. */}}
{{- define "market-spread.checks.extensions" -}}
{{- range $label, $value := .Values.podLabels }}
{{- if regexMatch "^((app|apps|statefulset|batch)[.]kubernetes[.]io/.*|helm[.]sh/.*|market-spread[.]io/.*|spark-.*|controller-(revision-hash|uid)|pod-template-(hash|generation)|job-name)$" $label }}
- {{ printf "podLabels has %s=%s, which the chart or Kubernetes sets itself; leave it out" $label $value | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.podAnnotations }}
{{- if regexMatch "^((meta[.])?helm[.]sh/.*|checksum/.*)$" (lower $name) }}
- {{ printf "podAnnotations has %s=%s, which the chart or Helm sets itself; leave it out" $name $value | quote }}
{{- end }}
{{- end }}
{{- /* An expression of the admission policy has those of pods, and 100,000 characters at most; annotations of an object have 256 KiB. */}}
{{- range $name, $most := dict "podAnnotations" 64000 "serviceAccountAnnotations" 256000 }}
{{- $long := get $.Values $name | default dict | toJson | len }}
{{- if gt $long $most }}
- {{ printf "%s has %d characters in all, and Kubernetes takes %d; shorten them, or use a ConfigMap" $name $long $most | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.serviceAccountAnnotations }}
{{- if regexMatch "^(meta[.]helm[.]sh/.*|helm[.]sh/hook.*)$" (lower $name) }}
- {{ printf "serviceAccountAnnotations has %s=%s, by which Helm would not take the ServiceAccount for one of the release; leave it out" $name $value | quote }}
{{- else if and (eq $name "eks.amazonaws.com/role-arn") (not (regexMatch "^arn:aws[a-z-]*:iam::[0-9]+:role/.+$" $value)) }}
- {{ printf "serviceAccountAnnotations has %s=%s, which is no role; use its whole ARN, such as arn:aws:iam::123456789012:role/spread" $name $value | quote }}
{{- else if and (eq $name "iam.gke.io/gcp-service-account") (not (regexMatch "^[a-z0-9-]+@[a-z0-9.-]+[.]iam[.]gserviceaccount[.]com$" $value)) }}
- {{ printf "serviceAccountAnnotations has %s=%s, which is no service account; use its address, such as spread@project.iam.gserviceaccount.com" $name $value | quote }}
{{- end }}
{{- end }}
{{- range dig "tokenAudiences" list (.Values.admissionPolicy | default dict) }}
{{- if regexMatch "^(https://)?kubernetes[.]default([.]svc([.].*)?)?/?$" . }}
- {{ printf "admissionPolicy.tokenAudiences has %s, the API server's own: an executor with such a token could call it; leave it out" . | quote }}
{{- end }}
{{- end }}
{{- $named := dict }}
{{- range .Values.extraEnv }}
{{- if regexMatch "^(MARKET_SPREAD_.*|PYTHONPATH|PYTHONHOME|PATH|HOME|HOSTNAME|JAVA_HOME|KAFKA_.*|SPARK_.*|LOG_DIR|EXTRA_ARGS)$" .name }}
- {{ printf "extraEnv has %s=%s, which the chart or the image sets itself; leave it out" .name .value | quote }}
{{- end }}
{{- if hasKey $named .name }}
- {{ printf "extraEnv has %s twice (%s); name it once" .name .value | quote }}
{{- end }}
{{- $_ := set $named .name true }}
{{- end }}
{{- $spread := .Values.job.executors.spread | default "none" }}
{{- if and (ne $spread "none") (include "market-spread.checkpointNode" .) }}
- {{ printf "job.executors.spread=%s with a checkpoint that one node can write; use ReadWriteMany, or none" $spread | quote }}
{{- end }}
{{- end }}

{{/* What the programs need to start at all. */}}
{{- define "market-spread.checks.sizes" -}}
{{- range $name, $memory := dict "sender" .Values.sender.memory "receiver" .Values.receiver.memory "metricsAggregator" .Values.metricsAggregator.memory }}
{{- if lt (include "market-spread.mebibytes" $memory | int) 128 }}
- {{ printf "%s.memory=%s, and the process needs 128Mi to start; use more" $name $memory | quote }}
{{- end }}
{{- end }}
{{- $job := .Values.job }}
{{- range $name, $heap := dict "job.driver" $job.driver.heap "job.executors" $job.executors.heap }}
{{- if lt (include "market-spread.mebibytes" $heap | int) 472 }}
- {{ printf "%s.heap=%s, and Spark does not start with less than 472m; use more" $name $heap | quote }}
{{- end }}
{{- end }}
{{- $overhead := include "market-spread.mebibytes" $job.executors.memoryOverhead | int }}
{{- $least := max 384 (mul 32 $job.executors.slots) | int }}
{{- if lt $overhead $least }}
- {{ printf "job.executors.memoryOverhead=%s is less than %dm, 384m or 32m for each of slots=%d; use more" $job.executors.memoryOverhead $least (int $job.executors.slots) | quote }}
{{- end }}
{{- if lt (include "market-spread.mebibytes" .Values.kafka.heap | int) 128 }}
- {{ printf "kafka.heap=%s, and the broker needs 128m; use more" .Values.kafka.heap | quote }}
{{- end }}
{{- end }}

{{/* An image that is another one tomorrow. */}}
{{- define "market-spread.checks.images" -}}
{{- if eq .Values.images.tag "latest" }}
- "images.tag=latest is another image tomorrow; name a version"
{{- end }}
{{- if regexMatch "^((index[.]|registry-1[.])?docker[.]io|ghcr[.]io|quay[.]io|gcr[.]io|public[.]ecr[.]aws|registry[.]gitlab[.]com)$" (.Values.images.registry | default "") }}
- {{ printf "images.registry=%s is a public registry, in which anyone could hold the name market-spread; add the path that is yours, such as %s/team" .Values.images.registry .Values.images.registry | quote }}
{{- end }}
{{- /* A container runtime takes a first part without a dot or a port for a name in a public registry. */}}
{{- $registry := .Values.images.registry | default "" }}
{{- if not (regexMatch "^(localhost|[^/]*[.:][^/]*)(/|$)" $registry) }}
{{- $unnamed := list }}
{{- range $name := list "sender" "receiver" "metricsAggregator" "runController" "spark" }}
{{- if not (or (index $.Values.images $name) (and (eq $name "spark") $.Values.job.pipeline.image)) }}
{{- $unnamed = append $unnamed $name }}
{{- end }}
{{- end }}
{{- if $unnamed }}
- {{ printf "images.registry=%q names no registry, and in a public one anyone could supply our images; use the one that they were pushed to, such as registry.example.com/team, or localhost for images that were loaded onto the nodes" $registry | quote }}
{{- end }}
{{- end }}
{{- range $name := list "sender" "receiver" "metricsAggregator" "spark" "runController" "kafka" }}
{{- $image := index $.Values.images $name | default "" }}
{{- if hasSuffix ":latest" $image }}
- {{ printf "images.%s=%s is another image tomorrow; name a version or a digest" $name $image | quote }}
{{- end }}
{{- end }}
{{- if hasSuffix ":latest" .Values.job.pipeline.image }}
- {{ printf "job.pipeline.image=%s is another image tomorrow; name a version or a digest" .Values.job.pipeline.image | quote }}
{{- end }}
{{- end }}

{{/* What the chart and Spark say themselves cannot be said again. */}}
{{- define "market-spread.checks.properties" -}}
{{- $kafka := .Values.kafka }}
{{- $known := .Files.Get "files/kafka-properties.yaml" | fromYaml }}
{{- /* What topics have and brokers do not is misspelt, too. */}}
{{- $groups := list "cleanup" "segment" "retention" "preallocate" "file" }}
{{- range $name, $_ := $known }}{{ $groups = append $groups (splitList "." $name | first) }}{{ end }}
{{- $written := dict }}
{{- range include "market-spread.kafkaOwn" . | splitList "\n" }}
{{- $_ := set $written (splitList "=" . | first) true }}
{{- end }}
{{- range $name, $value := $kafka.properties }}
{{- if or (hasKey $written $name) (regexMatch "^(log[.]dir|metadata[.]log[.]dir|broker[.]id.*|node[.]id|host[.]name|port|inter[.]broker[.]listener[.]name|early[.]start[.]listeners|controller[.].*|zookeeper[.].*|log[.]retention[.](ms|minutes)|(.*[.])?listener[.].*|process[.]roles|security[.]inter[.]broker[.]protocol)$" $name) }}
- {{ printf "kafka.properties has %s=%v, which the chart sets itself; leave it out (kafka.data says where the topics are, kafka.retentionHours how long records stay)" $name $value | quote }}
{{- else if and (regexMatch "(replication[.]factor|min[.]isr|min[.]insync[.]replicas)$" $name) (ne (toString $value) "1") }}
- {{ printf "kafka.properties has %s=%v, and there is one trial broker; use 1" $name $value | quote }}
{{- else if regexMatch "(?i)^[+-]?(nan|inf(inity)?)$" (toString $value) }}
- {{ printf "kafka.properties has %s=%v, which is no number; correct it" $name $value | quote }}
{{- else if hasKey $known $name }}
{{- with include "market-spread.wrongProperty" (dict "value" $value "is" (get $known $name)) }}
- {{ printf "kafka.properties has %s=%v; %s" $name $value . | quote }}
{{- end }}
{{- else if has (splitList "." $name | first) $groups }}
- {{ printf "kafka.properties has %s=%v, a name that no broker of Kafka 4.1 knows; correct it (files/kafka-properties.yaml has those)" $name $value | quote }}
{{- end }}
{{- end }}
{{- $jvm := contains "-XX:" (print .Values.job.driver.javaOptions .Values.job.executors.javaOptions) | ternary (.Files.Get "files/jvm-options.yaml" | fromYaml) dict }}
{{- range $name, $options := dict "job.driver" .Values.job.driver.javaOptions "job.executors" .Values.job.executors.javaOptions }}
{{- range splitList " " $options }}
{{- if regexMatch "^-(Xm[sx]|XX:(Max|Initial|Min)HeapSize=|XX:(Max|Initial|Min)RAM|Dspark[.]|cp$|classpath$|jar$)" . }}
- {{ printf "%s.javaOptions has %s, which Spark or the chart sets itself; use %s.heap for the memory" $name . $name | quote }}
{{- else if and (hasPrefix "-XX:" .) (not (regexMatch "^-XX:([+-][A-Z][A-Za-z0-9]*|[A-Z][A-Za-z0-9]*=.+)$" .)) }}
- {{ printf "%s.javaOptions has %s, with which a JVM does not start; write -XX:+Name, -XX:-Name or -XX:Name=value" $name . | quote }}
{{- else if regexMatch "^(-d(32|64)|-XX:[+-](UseConcMarkSweepGC|UseParNewGC|PrintGC(Date|Time)Stamps|UseGCLogFileRotation)|--?|--X.*|-(javaagent|agentlib|agentpath):?)$" . }}
- {{ printf "%s.javaOptions has %s, which Java 17 does not know and does not start with; correct it or leave it out" $name . | quote }}
{{- else if and (hasPrefix "-X" .) (not (hasPrefix "-XX:" .)) (not (regexMatch "^-X(batch|int|mixed|comp|noclassgc|rs|debug|noagent|future|check(:.+)?|diag|internalversion|log(:.+)?|loggc:.+|(mn|ss)[0-9]+[kKmMgG]?|share:(auto|on|off)|verify(:(all|remote|none))?|bootclasspath/a:.+|runjdwp:.+)$" .)) }}
- {{ printf "%s.javaOptions has %s, which Java 17 does not know or which starts nothing; correct it or leave it out" $name . | quote }}
{{- else if regexMatch "^(--?(version|fullversion|help|help-extra|dry-run|validate-modules|list-modules)|-h|-[?])$" . }}
- {{ printf "%s.javaOptions has %s, with which a JVM says something and ends; leave it out" $name . | quote }}
{{- else if hasPrefix "-XX:" . }}
{{- with include "market-spread.wrongOption" (dict "option" . "options" $options "jvm" $jvm) }}
- {{ printf "%s.javaOptions has %s" $name . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- range $quote := list "\"" "'" }}
{{- if eq 0 (mod (splitList $quote $options | len) 2) }}
- {{ printf "%s.javaOptions=%s has a %s that is not closed, and Spark would not start; close it" $name $options $quote | quote }}
{{- end }}
{{- end }}
{{- $collectors := regexFindAll "-XX:[+]Use(Serial|Parallel|G1|Z|Shenandoah|Epsilon|ConcMarkSweep)GC" $options -1 | uniq }}
{{- if gt (len $collectors) 1 }}
- {{ printf "%s.javaOptions has %s: a JVM has one collector, and does not start with two; name one" $name (join " and " $collectors) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* What is wrong with an option -XX, and what to use: (option, options, jvm, those that are known); nothing if it is right. */}}
{{- define "market-spread.wrongOption" -}}
{{- $name := regexReplaceAll "^-XX:[+-]?([A-Za-z0-9]+).*$" .option "${1}" }}
{{- $is := get .jvm $name | default list }}
{{- $switch := regexMatch "^-XX:[+-]" .option }}
{{- $value := splitList "=" .option | rest | join "=" }}
{{- if not $is }}
{{- if not (contains "-XX:+IgnoreUnrecognizedVMOptions" .options) }}{{ .option }}, a name that Java 17 does not know and does not start with; correct it (files/jvm-options.yaml has those) or leave it out{{ end }}
{{- else if ne $switch (eq (first $is) "boolean") }}{{ .option }}; it is {{ $switch | ternary (printf "no switch, so write -XX:%s=value" $name) (printf "a switch, so write -XX:+%s or -XX:-%s" $name $name) }}
{{- else if and (eq (first $is) "unsigned") (not (regexMatch "^(0x[0-9a-fA-F]+|[0-9]+)[kKmMgGtT]?$" $value)) }}{{ .option }}; use a whole number, such as 10 or 64m
{{- else if and (eq (first $is) "signed") (not (regexMatch "^-?(0x[0-9a-fA-F]+|[0-9]+)[kKmMgGtT]?$" $value)) }}{{ .option }}; use a whole number, such as 10 or 64m
{{- else if and (eq (first $is) "number") (not (regexMatch "^-?[0-9]+([.][0-9]+)?$" $value)) }}{{ .option }}; use a number, such as 1.5
{{- else if gt (len $is) 1 }}
{{- $unlock := printf "-XX:+Unlock%sVMOptions" (last $is) }}
{{- if not (contains $unlock .options) }}{{ .option }}, with which a JVM starts only after {{ $unlock }}; put that first, or leave it out{{ end }}
{{- end }}
{{- end }}

{{/* What a property's value is not, and what to use: (value, is), where is begins with the kind; nothing if it is right. */}}
{{- define "market-spread.wrongProperty" -}}
{{- $said := toString .value }}
{{- $kind := first .is }}
{{- $allowed := rest .is }}
{{- if eq $kind "boolean" }}
{{- if not (has (lower $said) (list "true" "false")) }}it is true or false, so use one of them{{ end }}
{{- else if has $kind (list "one of" "some of") }}
{{- range eq $kind "one of" | ternary (list $said) (splitList "," $said) }}
{{- if not (has (trim .) $allowed) }}use {{ $kind }} {{ join ", " $allowed }}{{ end }}
{{- end }}
{{- else if has $kind (list "whole" "number") }}
{{- $number := float64 .value }}
{{- $shown := eq $kind "whole" | ternary "%.0f" "%v" }}
{{- if and (not (kindIs "string" .value)) (or (gt $number 9007199254740992.0) (lt $number -9007199254740992.0)) }}Helm would round it; put it into quotes, as text
{{- else if or (and (kindIs "string" .value) (not (regexMatch "^-?[0-9]+([.][0-9]+)?$" .value))) (and (eq $kind "whole") (ne $number (floor $number))) }}use a {{ $kind }} number, without a unit
{{- else if and $allowed (lt $number (first $allowed | float64)) }}use {{ printf $shown (first $allowed | float64) }} or more
{{- else if and (gt (len $allowed) 1) (gt $number (last $allowed | float64)) }}use {{ printf $shown (last $allowed | float64) }} at most
{{- end }}
{{- end }}
{{- end }}

{{/* What `helm test` and a run with the release can do in their time. */}}
{{- define "market-spread.checks.runs" -}}
{{- $tests := .Values.tests }}
{{- $batchS := .Values.job.batchS }}
{{- if gt (float64 $batchS) (float64 (mul 30 $tests.durationS)) }}
- {{ printf "job.batchS=%v with tests.durationS=%d: `helm test` waits for the batch that runs, much longer than it measures; use batches of %d s at most, or a longer test" $batchS (int $tests.durationS) (int (mul 30 $tests.durationS)) | quote }}
{{- end }}
{{- $kafka := .Values.kafka }}
{{- $testMi := div (mul $tests.messagesPerS $tests.durationS 200) 1048576 | int }}
{{- if and (not $kafka.external.bootstrap) (not (hasSuffix "Ti" $kafka.data.size)) (ne $kafka.data.kind "hostPath") (gt $testMi (include "market-spread.mebibytes" $kafka.data.size | int)) }}
- {{ printf "tests.messagesPerS=%d for tests.durationS=%d are %dMi, and kafka.data.size=%s; use fewer, or a larger volume" (int $tests.messagesPerS) (int $tests.durationS) $testMi $kafka.data.size | quote }}
{{- end }}
{{- $text := trim .Values.run.workload }}
{{- if regexMatch "(?m)^ *\t" .Values.run.workload }}
- "run.workload has a line that begins with a tab, which YAML does not allow; use blanks"
{{- else if $text }}
{{- $workload := fromYaml $text }}
{{- if or (hasKey $workload "Error") (not (hasKey $workload "name")) }}
- {{ printf "run.workload=%q is no workload, a mapping with a name; give it the contents of a file: --set-file run.workload=loadgen/workloads/quick.yaml" (trunc 60 $text) | quote }}
{{- else }}
{{- range keys $workload | sortAlpha }}
{{- if not (has . (list "name" "purpose" "seed" "load" "market" "decisions" "frames" "job" "warm_up" "limits" "slo" "void" "preflight" "machine" "faults")) }}
- {{ printf "run.workload has %s, which no workload has; correct it (docs/workloads.md has all keys)" . | quote }}
{{- else if and (has . (list "load" "market" "frames" "job" "warm_up" "limits" "slo" "void" "machine" "faults")) (not (kindIs "map" (get $workload . | default dict))) }}
- {{ printf "run.workload has %s: %v, and there is a section; correct it (docs/workloads.md has its keys)" . (get $workload .) | quote }}
{{- end }}
{{- end }}
{{- if not (regexMatch "^[a-z0-9][a-z0-9-]{0,99}$" (toString $workload.name)) }}
- {{ printf "run.workload has name: %v, and it becomes a part of names; use at most 100 small letters, digits and hyphens, and no hyphen first" $workload.name | quote }}
{{- end }}
{{- $job := $.Values.job }}
{{- $asked := get $workload "job" | default dict }}
{{- $asked = kindIs "map" $asked | ternary $asked dict }}
{{- $market := get $workload "market" | default dict }}
{{- $market = kindIs "map" $market | ternary $market dict }}
{{- $pairs := list (list "job.mode" (get $asked "mode") "job.mode" $job.mode) (list "job.batch_s" (get $asked "batch_s") "job.batchS" $job.batchS) (list "job.shuffle_partitions" (get $asked "shuffle_partitions") "job.shufflePartitions" $job.shufflePartitions) (list "job.replicas" (get $asked "replicas") "job.replicas" $job.replicas) (list "market.partitions" (get $market "partitions") "topics.partitions" $.Values.topics.partitions) }}
{{- range $pairs }}
{{- if and (index . 1) (ne (index . 1 | toString) (index . 3 | toString)) }}
- {{ printf "run.workload has %s: %v, and the release has %s=%v; the run would refuse it, so use the same" (index . 0) (index . 1) (index . 2) (index . 3) | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whose certificates, and where they are from. */}}
{{- define "market-spread.checks.tls" -}}
{{- with .Values.tls }}
{{- $tls := . }}
{{- range $name := list "sender" "receiver" "job" "metricsAggregator" "run" }}
{{- $secret := get ($tls.secrets | default dict) $name | default "" }}
{{- if and (eq $tls.source "secret") (not $secret) }}
- {{ printf "tls.secrets.%s=%q with tls.source=secret; name the Secret with its ca.crt, tls.crt and tls.key, or use helm or certManager" $name $secret | quote }}
{{- else if and (ne $tls.source "secret") $secret }}
- {{ printf "tls.secrets.%s=%s is of no use with tls.source=%s; use secret, or leave it empty" $name $secret $tls.source | quote }}
{{- end }}
{{- end }}
{{- if and $tls.issuer (ne $tls.source "certManager") }}
- {{ printf "tls.issuer=%s is of no use with tls.source=%s; use certManager, or leave it empty" $tls.issuer $tls.source | quote }}
{{- end }}
{{- if and (ne ($tls.issuerKind | default "Issuer") "Issuer") (not $tls.issuer) }}
- {{ printf "tls.issuerKind=%s without tls.issuer; name the issuer, or leave Issuer for the one that the chart makes" $tls.issuerKind | quote }}
{{- end }}
{{- end }}
{{- end }}
