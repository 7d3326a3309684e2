{{/* What cannot work together is refused before anything is installed: a sentence for each, with the value and the remedy. */}}
{{- define "market-spread.checks" -}}
{{- $problems := list }}
{{- range list "pinned" "node" "fit" "checkpoint" "volumes" "job" "pipeline" "kafka" "realtime" "name" "addresses" "folders" "scheduling" "sizes" "images" "extensions" "properties" "runs" "tls" }}
{{- range include (printf "market-spread.checks.%s" .) $ | fromYamlArray }}
{{- $problems = append $problems . }}
{{- end }}
{{- end }}
{{- if $problems }}
{{- fail (printf "\n%s" (join "\n" $problems)) }}
{{- end }}
{{- end }}

{{/* The pinned pods: value's name, CPUs, memory in MiB, how many, pool. */}}
{{- define "market-spread.pinnedPods" -}}
{{- with .Values.sender }}{{ if .pinned }}
- {name: sender, cpu: {{ .cpu | quote }}, memoryMi: {{ include "market-spread.mebibytes" .memory }}, count: {{ .replicas }}, pool: {{ .pool | quote }}}
{{- end }}{{ end }}
{{- with .Values.receiver }}{{ if .pinned }}
- {name: receiver, cpu: {{ .cpu | quote }}, memoryMi: {{ include "market-spread.mebibytes" .memory }}, count: 1, pool: {{ .pool | quote }}}
{{- end }}{{ end }}
{{- with .Values.kafka }}{{ if and (not .external.bootstrap) .pinned }}
- {name: kafka, cpu: {{ .cpu | quote }}, memoryMi: {{ include "market-spread.mebibytes" .memory }}, count: 1, pool: {{ .pool | quote }}}
{{- end }}{{ end }}
{{- $replicas := .Values.job.replicas }}
{{- with .Values.job.executors }}{{ if .pinned }}
{{- $memory := add (include "market-spread.mebibytes" .heap) (include "market-spread.mebibytes" .memoryOverhead) }}
- {name: job.executors, cpu: {{ .cpu | quote }}, memoryMi: {{ $memory }}, count: {{ mul $replicas .count }}, onNode: {{ include "market-spread.spread" $ | empty | ternary (mul $replicas .count) .count }}, pool: {{ .pool | quote }}}
{{- end }}{{ end }}
{{- end }}

{{/* 512Mi, 2Gi, 512m or 2g in MiB. */}}
{{- define "market-spread.mebibytes" -}}
{{- $number := regexFind "^[0-9]+" . | int -}}
{{- if regexMatch "[Gg]" . }}{{ mul $number 1024 }}{{ else }}{{ $number }}{{ end }}
{{- end }}

{{- define "market-spread.checks.pinned" -}}
{{- $nodes := .Values.nodes }}
{{- $largest := div (sub $nodes.cpus $nodes.reservedCpus) $nodes.numaNodes }}
{{- $memory := include "market-spread.mebibytes" $nodes.memoryPerNumaNode | int }}
{{- range include "market-spread.pinnedPods" . | fromYamlArray }}
{{- if not (regexMatch "^[1-9][0-9]*$" .cpu) }}
- {{ printf "%s.cpu=%q, and %s is pinned; exclusive CPUs are whole, so use 1, 2 and so on, or %s.pinned=false" .name .cpu .name .name | quote }}
{{- else if gt (int .cpu) (int $largest) }}
- {{ printf "%s.cpu=%s, and a NUMA node has %d for pods (nodes.*), so the kubelet would refuse the pod; use fewer" .name .cpu $largest | quote }}
{{- end }}
{{- if gt (int .memoryMi) $memory }}
- {{ printf "%s takes %dMi, more than nodes.memoryPerNumaNode=%s, so the kubelet would refuse the pod; use less" .name (int .memoryMi) $nodes.memoryPerNumaNode | quote }}
{{- end }}
{{- if not .pool }}
- {{ printf "%s is pinned and has no pool, so it may come to a node that gives no exclusive CPUs; set %s.pool, or use %s.pinned=false" .name .name .name | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* 500m, 0.5 or 2 CPUs in thousandths; nothing is 0. */}}
{{- define "market-spread.milliCpus" -}}
{{- if not . }}0{{ else if hasSuffix "m" . }}{{ trimSuffix "m" . }}{{ else }}{{ mulf (float64 .) 1000 | int }}{{ end }}
{{- end }}

{{/* What pods of a pool request must fit on its nodes, whether they are pinned or not; nodes of no pool are not known. */}}
{{- define "market-spread.checks.fit" -}}
{{- $nodes := .Values.nodes }}
{{- $free := mul 1000 (sub (sub $nodes.cpus $nodes.reservedCpus) $nodes.daemonSetCpus) | int }}
{{- $freeMi := mul $nodes.numaNodes (include "market-spread.mebibytes" $nodes.memoryPerNumaNode | int) | int }}
{{- $job := .Values.job }}
{{- $executorMi := add (include "market-spread.mebibytes" $job.executors.heap) (include "market-spread.mebibytes" $job.executors.memoryOverhead) }}
{{- /* Of a pair that is kept apart, each job has a node. */}}
{{- $onNode := include "market-spread.spread" . | empty | ternary $job.replicas 1 }}
{{- $pods := dict }}
{{- range $name, $pod := dict "sender" .Values.sender "receiver" .Values.receiver "metricsAggregator" .Values.metricsAggregator "job.driver" $job.driver "kafka" .Values.kafka }}
{{- $_ := set $pods $name (dict "pool" $pod.pool "cpu" $pod.cpu "mi" (include "market-spread.mebibytes" $pod.memory | int) "memory" (printf "%s.memory=%s" $name $pod.memory) "count" (eq $name "sender" | ternary ($pod.replicas | default 1) 1)) }}
{{- end }}
{{- $_ := set $pods "job.executors" (dict "pool" $job.executors.pool "cpu" $job.executors.cpu "mi" (int $executorMi) "memory" (printf "job.executors.heap=%s with memoryOverhead=%s" $job.executors.heap $job.executors.memoryOverhead) "count" (mul $job.executors.count $onNode)) }}
{{- if .Values.kafka.external.bootstrap }}{{ $_ := unset $pods "kafka" }}{{ end }}
{{- range $name, $pod := $pods }}
{{- $milli := include "market-spread.milliCpus" $pod.cpu | int }}
{{- if and $pod.pool (gt $milli $free) }}
- {{ printf "%s.cpu=%s, and a node of pool %s has %d for pods (nodes.cpus - reservedCpus - daemonSetCpus), so it would stay Pending; use fewer" $name $pod.cpu $pod.pool (div $free 1000) | quote }}
{{- end }}
{{- if and $pod.pool (gt (int $pod.mi) $freeMi) }}
- {{ printf "%s, and a node of pool %s has %dMi (nodes.numaNodes x memoryPerNumaNode), so it would stay Pending; use less" $pod.memory $pod.pool $freeMi | quote }}
{{- end }}
{{- end }}
{{- $groups := list (list "sender" "receiver" "metricsAggregator") }}
{{- if include "market-spread.checkpointNode" . }}{{ $groups = append $groups (list "job.driver" "job.executors") }}{{ end }}
{{- range $names := $groups }}
{{- $pool := (get $pods (first $names)).pool }}
{{- $milli := 0 }}
{{- $mi := 0 }}
{{- range $names }}
{{- $pod := get $pods . }}
{{- if eq $pod.pool $pool }}
{{- $count := ternary $onNode $pod.count (eq . "job.driver") }}
{{- $milli = add $milli (mul $count (include "market-spread.milliCpus" $pod.cpu | int)) }}
{{- $mi = add $mi (mul $count $pod.mi) }}
{{- end }}
{{- end }}
{{- if and $pool (gt (int $milli) $free) }}
- {{ printf "%s in pool %s share a node, request %dm CPUs (%s), and it has %dm (nodes.cpus - reservedCpus - daemonSetCpus); use fewer" (join " and " $names) $pool (int $milli) (include "market-spread.requests" (dict "pods" $pods "names" $names)) $free | quote }}
{{- end }}
{{- if and $pool (gt (int $mi) $freeMi) }}
- {{ printf "%s in pool %s share a node, take %dMi, and it has %dMi (nodes.numaNodes x memoryPerNumaNode); use less" (join " and " $names) $pool (int $mi) $freeMi | quote }}
{{- end }}
{{- end }}
{{- if or (mod $nodes.cpus $nodes.numaNodes) (mod $nodes.reservedCpus $nodes.numaNodes) }}
- {{ printf "nodes.cpus=%d and nodes.reservedCpus=%d are not spread evenly over nodes.numaNodes=%d; correct them" (int $nodes.cpus) (int $nodes.reservedCpus) (int $nodes.numaNodes) | quote }}
{{- end }}
{{- end }}

{{/* What each of them requests, by name: (pods, names). */}}
{{- define "market-spread.requests" -}}
{{- $said := list }}
{{- range .names }}{{ $said = append $said (printf "%s.cpu=%s" . ((get $.pods .).cpu | default "0")) }}{{ end }}
{{- join ", " $said }}
{{- end }}

{{/* What is bound to one node together must fit on it. */}}
{{- define "market-spread.checks.node" -}}
{{- $nodes := .Values.nodes }}
{{- $free := sub (sub $nodes.cpus $nodes.reservedCpus) $nodes.daemonSetCpus | int }}
{{- $groups := dict "sender and receiver, which share a node," (list "sender" "receiver") "kafka" (list "kafka") }}
{{- if include "market-spread.checkpointNode" . }}
{{- $once := eq .Values.job.checkpoint.kind "hostPath" | ternary "hostPath" .Values.job.checkpoint.accessMode }}
{{- $_ := set $groups (printf "job.executors, on the one node of a %s checkpoint," $once) (list "job.executors") }}
{{- end }}
{{- $pods := include "market-spread.pinnedPods" . | fromYamlArray }}
{{- range $group, $names := $groups }}
{{- $sum := 0 }}
{{- range $pods }}
{{- if has .name $names }}{{ $sum = add $sum (mul (int .cpu) (.onNode | default .count)) }}{{ end }}
{{- end }}
{{- if gt (int $sum) $free }}
- {{ printf "%s need %d exclusive CPUs, and a node has %d (nodes.cpus - reservedCpus - daemonSetCpus); use fewer or larger nodes" $group $sum $free | quote }}
{{- end }}
{{- end }}
{{- if le (int $nodes.cpus) (add $nodes.reservedCpus $nodes.daemonSetCpus | int) }}
- {{ printf "nodes.cpus=%d leaves nothing after reservedCpus=%d and daemonSetCpus=%d; correct nodes.cpus, nodes.reservedCpus or nodes.daemonSetCpus" (int $nodes.cpus) (int $nodes.reservedCpus) (int $nodes.daemonSetCpus) | quote }}
{{- end }}
{{- if and (eq (int $nodes.reservedCpus) 0) $pods }}
- "nodes.reservedCpus=0 with pinned pods: a kubelet that gives exclusive CPUs does not start with none reserved (reservedSystemCPUs); reserve one of each NUMA node"
{{- end }}
{{- if and $nodes.strictCpuReservation (eq (int $nodes.daemonSetCpus) 0) $pods }}
- "nodes.strictCpuReservation=true with daemonSetCpus=0: when all CPUs are allocated the kubelet does not start again (\"default cpuset cannot be empty\"); keep a CPU unallocated, or leave strict-cpu-reservation off"
{{- end }}
{{- end }}

{{- define "market-spread.checks.checkpoint" -}}
{{- $job := .Values.job }}
{{- $spread := include "market-spread.spread" . }}
{{- $once := eq $job.checkpoint.kind "hostPath" | ternary "hostPath" $job.checkpoint.accessMode }}
{{- if and $spread (include "market-spread.checkpointNode" .) (ne $job.checkpoint.kind "claim") }}
- {{ printf "job.replicas=%d on several nodes (job.spread=%s) with job.checkpoint.kind=%s, which is of one node; use claim, which each has for itself, shared storage, or job.spread=none" (int $job.replicas) $spread $job.checkpoint.kind | quote }}
{{- end }}
{{- if and $job.checkpoint.shared (ne $job.checkpoint.kind "hostPath") }}
- {{ printf "job.checkpoint.shared=true is of no use with kind=%s; use accessMode=ReadWriteMany, or leave it false" $job.checkpoint.kind | quote }}
{{- end }}
{{- if and (include "market-spread.checkpointNode" .) $job.executors.onePerNode }}
{{- if or (gt (int $job.executors.count) 1) (and (gt (int $job.replicas) 1) (not $spread)) }}
- {{ printf "job.checkpoint of %s with executors on several nodes (job.executors.onePerNode): only one node could write it; use ReadWriteMany, executors on one node, or job.checkpoint.shared=true if a hostPath is one folder on all of them" $once | quote }}
{{- end }}
{{- end }}
{{- if and (ne $job.checkpoint.kind "hostPath") (eq $job.checkpoint.accessMode "ReadWriteOncePod") }}
- "job.checkpoint.accessMode=ReadWriteOncePod: driver and executors all write the checkpoint; use ReadWriteMany, or ReadWriteOnce on one node"
{{- end }}
{{- if and (include "market-spread.checkpointNode" .) (ne $job.driver.pool $job.executors.pool) $job.driver.pool $job.executors.pool }}
- {{ printf "job.driver.pool=%s and job.executors.pool=%s with a %s checkpoint, which one node can write; use one pool, or ReadWriteMany" $job.driver.pool $job.executors.pool $once | quote }}
{{- end }}
{{- /* Executors would have to join their driver on a node whose taint they do not tolerate. */}}
{{- $tolerated := false }}
{{- range .Values.tolerations }}{{ if has (.key | default "") (list "" "market-spread.io/pool") }}{{ $tolerated = true }}{{ end }}{{ end }}
{{- if and (include "market-spread.checkpointNode" .) $job.driver.pool (not $job.executors.pool) (not $tolerated) }}
- {{ printf "job.driver.pool=%s and job.executors.pool=\"\" with a %s checkpoint, which one node can write: executors come to no node of that pool, so they would stay Pending; use one pool, or ReadWriteMany" $job.driver.pool $once | quote }}
{{- end }}
{{- if and (include "market-spread.checkpointNode" .) (not $job.driver.pool) $job.executors.pool (not $tolerated) }}
- {{ printf "job.driver.pool=\"\" and job.executors.pool=%s with a %s checkpoint, which one node can write: the driver comes to no node of that pool, and executors that must join it would stay Pending; use one pool, or ReadWriteMany" $job.executors.pool $once | quote }}
{{- end }}
{{- end }}

{{- define "market-spread.checks.volumes" -}}
{{- $volumes := dict "receiver.ledgers" .Values.receiver.ledgers "metricsAggregator.runs" .Values.metricsAggregator.runs "job.checkpoint" .Values.job.checkpoint "kafka.data" .Values.kafka.data }}
{{- range $name, $volume := $volumes }}
{{- range list "existingClaim" "hostPath" }}
{{- if and (eq $volume.kind .) (not (index $volume .)) }}
- {{ printf "%s.kind=%s, and %s.%s is empty; name it" $name . $name . | quote }}
{{- else if and (ne $volume.kind .) (index $volume .) }}
- {{ printf "%s.%s=%s is of no use with kind=%s; use kind=%s or leave it empty" $name . (index $volume .) $volume.kind . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "market-spread.checks.job" -}}
{{- $job := .Values.job }}
{{- $slots := mul $job.executors.count $job.executors.slots | int }}
{{- $needed := add (mul 2 .Values.topics.partitions) $job.shufflePartitions | int }}
{{- $partitions := int .Values.topics.partitions }}
{{- if and (eq $job.mode "real-time") $job.pipeline.file (lt $slots $partitions) }}
- {{ printf "job.executors has %d slots (count x slots), and each of topics.partitions=%d is a task that always runs in real-time mode; use more, by job.executors.count or job.executors.slots" $slots $partitions | quote }}
{{- else if and (eq $job.mode "real-time") (not $job.pipeline.file) (lt $slots $needed) }}
- {{ printf "job.executors has %d slots (count x slots), and the tasks of real-time mode run all at once: 2 x topics.partitions + job.shufflePartitions = %d; use as many, by job.executors.count or job.executors.slots" $slots $needed | quote }}
{{- end }}
{{- if and (eq $job.mode "real-time") (lt (float64 $job.batchS) 5.0) }}
- {{ printf "job.batchS=%v; real-time takes 5 or more" $job.batchS | quote }}
{{- end }}
{{- if and (gt (int $job.replicas) 1) (lt (float64 $job.batchS) 20.0) }}
- {{ printf "job.batchS=%v with job.replicas=%d; use 20 or more, so that commits do not meet" $job.batchS (int $job.replicas) | quote }}
{{- end }}
{{- $heap := include "market-spread.mebibytes" $job.driver.heap | int }}
{{- if lt (include "market-spread.mebibytes" $job.driver.memory | int) (add $heap 768 | int) }}
- {{ printf "job.driver.memory=%s holds the heap of %s and less than 768Mi besides, for Python and the JVM itself; use more, or a smaller job.driver.heap" $job.driver.memory $job.driver.heap | quote }}
{{- end }}
{{- if and .Values.run.enabled (not .Values.job.pipeline.file) (not (trim .Values.run.workload)) }}
- "run.enabled=true, and run.workload is empty; give it a workload: --set-file run.workload=loadgen/workloads/quick.yaml"
{{- end }}
{{- $pool := .Values.sender.pool | default "" }}
{{- $other := .Values.receiver.pool | default "" }}
{{- if ne $pool $other }}
- {{ printf "sender.pool=%q and receiver.pool=%q: the two share a node, for one clock measures; use the same pool" $pool $other | quote }}
{{- end }}
{{- end }}

{{- define "market-spread.checks.pipeline" -}}
{{- $job := .Values.job }}
{{- $pipeline := $job.pipeline }}
{{- if and $pipeline.image $pipeline.configMap }}
- {{ printf "job.pipeline.image=%s and job.pipeline.configMap=%s: the file is in one of the two; leave the other one empty" $pipeline.image $pipeline.configMap | quote }}
{{- end }}
{{- if $pipeline.file }}
{{- if not $pipeline.function }}
- {{ printf "job.pipeline.file=%s, and job.pipeline.function is empty; name the function that returns the pipeline" $pipeline.file | quote }}
{{- end }}
{{- if regexMatch "^(False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)$" $pipeline.function }}
- {{ printf "job.pipeline.function=%s is a word of Python's own, which names no function; correct it" $pipeline.function | quote }}
{{- end }}
{{- if not (or $pipeline.image $pipeline.configMap) }}
- {{ printf "job.pipeline.file=%s is nowhere; name the job.pipeline.image or job.pipeline.configMap that has it" $pipeline.file | quote }}
{{- end }}
{{- if and $pipeline.image (not (hasPrefix "/" $pipeline.file)) }}
- {{ printf "job.pipeline.file=%s with an image; name its whole path there, such as /opt/fares/%s" $pipeline.file $pipeline.file | quote }}
{{- end }}
{{- if and $pipeline.configMap (contains "/" $pipeline.file) }}
- {{ printf "job.pipeline.file=%s with a ConfigMap, whose keys are no paths; use %s" $pipeline.file (base $pipeline.file) | quote }}
{{- end }}
{{- if eq $job.decisions "all" }}
- "job.decisions=all with job.pipeline: decisions are those of Market Spread; use rejected, the default"
{{- end }}
{{- if gt (int $job.replicas) 1 }}
- {{ printf "job.replicas=%d with job.pipeline: every output would come as often; use 1" (int $job.replicas) | quote }}
{{- end }}
{{- if and .Values.run.enabled (not (and .Values.run.file $pipeline.configMap)) }}
- "run.enabled=true with job.pipeline: sender and run need the files of the workload, too; put all into job.pipeline.configMap, and name the workload's in run.file"
{{- end }}
{{- else if .Values.run.file }}
- {{ printf "run.file=%s is of a pipeline's workload; name job.pipeline.file, or use run.workload" .Values.run.file | quote }}
{{- else if or $pipeline.function $pipeline.image $pipeline.configMap }}
- "job.pipeline has no file; name it, or leave job.pipeline.function, job.pipeline.image and job.pipeline.configMap empty, too"
{{- end }}
{{- end }}

{{- define "market-spread.checks.kafka" -}}
{{- $kafka := .Values.kafka }}
{{- $external := $kafka.external }}
{{- $security := $external.security }}
{{- $sasl := hasPrefix "SASL_" $security.protocol }}
{{- $tokens := and $sasl (eq $security.saslMechanism "OAUTHBEARER") }}
{{- if and (not $external.bootstrap) (or (ne $security.protocol "PLAINTEXT") $security.username $security.passwordSecret $security.caSecret $security.certificateSecret $security.tokenEndpoint) }}
- {{ printf "kafka.external.security is set (protocol=%s), and kafka.external.bootstrap is empty: the trial broker speaks PLAINTEXT alone; name your brokers, host:port joined by commas" $security.protocol | quote }}
{{- end }}
{{- if and $sasl (not (and $security.username $security.passwordSecret)) }}
- {{ printf "kafka.external.security.protocol=%s needs kafka.external.security.username and passwordSecret; set both" $security.protocol | quote }}
{{- end }}
{{- if and (not $sasl) (or $security.username $security.passwordSecret) }}
- {{ printf "kafka.external.security.username or passwordSecret with protocol=%s, which knows no users; use SASL_SSL" $security.protocol | quote }}
{{- end }}
{{- if and $tokens (not $security.tokenEndpoint) }}
- "kafka.external.security.saslMechanism=OAUTHBEARER needs kafka.external.security.tokenEndpoint; name the https URL that gives tokens"
{{- end }}
{{- if regexMatch `^https://(localhost|127\.[0-9.]+|0\.0\.0\.0)(:|/|$)` (default "" $security.tokenEndpoint) }}
- {{ printf "kafka.external.security.tokenEndpoint=%s is each pod itself; name it as pods reach it" $security.tokenEndpoint | quote }}
{{- end }}
{{- if and (not $sasl) (ne $security.saslMechanism "SCRAM-SHA-512") }}
- {{ printf "kafka.external.security.saslMechanism=%s is of no use with protocol=%s; use SASL_SSL, or leave it out" $security.saslMechanism $security.protocol | quote }}
{{- end }}
{{- if and (not $tokens) (or $security.tokenEndpoint $security.tokenScope) }}
- {{ printf "kafka.external.security.tokenEndpoint or tokenScope with protocol=%s and saslMechanism=%s, which takes no tokens; use OAUTHBEARER with SASL_SSL, or leave kafka.external.security.%s out" $security.protocol $security.saslMechanism ($security.tokenEndpoint | empty | ternary "tokenScope" "tokenEndpoint") | quote }}
{{- end }}
{{- if and (not (hasSuffix "SSL" $security.protocol)) (or $security.caSecret $security.certificateSecret) }}
- {{ printf "kafka.external.security.caSecret or certificateSecret with protocol=%s, which does not encrypt; use SSL or SASL_SSL, or leave kafka.external.security.%s out" $security.protocol ($security.caSecret | empty | ternary "certificateSecret" "caSecret") | quote }}
{{- end }}
{{- if and (not $external.bootstrap) (gt (int .Values.topics.replicas) 1) }}
- {{ printf "topics.replicas=%d with the one trial broker; use 1" (int .Values.topics.replicas) | quote }}
{{- end }}
{{- if lt (include "market-spread.mebibytes" $kafka.memory | int) (add (include "market-spread.mebibytes" $kafka.heap) 384 | int) }}
- {{ printf "kafka.memory=%s holds the heap of %s and less than 384Mi besides; use more, or a smaller kafka.heap" $kafka.memory $kafka.heap | quote }}
{{- end }}
{{- end }}

{{- define "market-spread.checks.realtime" -}}
{{- range $name, $component := dict "sender" .Values.sender "receiver" .Values.receiver }}
{{- if and $component.realtime.enabled (not $component.pinned) }}
- {{ printf "%s.realtime.enabled=true, and %s is not pinned: it would stop others on their CPUs; use %s.pinned=true" $name $name $name | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "market-spread.checks.name" -}}
{{- $full := include "market-spread.fullname" . }}
{{- /* The name of a StatefulSet's revision, <full name>-metrics-aggregator-<10 digits>, is a label of its pods: 63 characters at most. */}}
{{- if gt (len $full) 33 }}
- {{ printf "the release's full name %s has %d characters, and names made of it would be too long; use a shorter release name, so that the full one has 33 at most" $full (len $full) | quote }}
{{- end }}
{{- /* So are names of Services (RFC 1035). */}}
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" $full) }}
- {{ printf "the release's full name %s is no name of a Service, which begins with a letter and has letters, digits and hyphens alone; use another release name" $full | quote }}
{{- end }}
{{- if regexMatch "-(job|run|test)$" $full }}
- {{ printf "the release's full name %s: release %s has, or would have, objects of the same names; use a release name with another end" $full (regexReplaceAll "-(job|run|test)$" $full "") | quote }}
{{- end }}
{{- end }}
