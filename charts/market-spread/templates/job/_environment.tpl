{{/* What the driver is told of its query. */}}
{{- define "market-spread.jobEnvironment" -}}
{{- $job := .Values.job -}}
{{- $service := printf "%s-job.%s.svc" (include "market-spread.fullname" .) .Release.Namespace -}}
- name: MARKET_SPREAD_SOURCE
  value: job-$(MARKET_SPREAD_REPLICA)
- name: MARKET_SPREAD_REPLICAS
  value: {{ $job.replicas | quote }}
- name: MARKET_SPREAD_MASTER
  value: k8s://https://kubernetes.default.svc:443
{{- with .Values.kafka.prefix }}
- name: MARKET_SPREAD_TOPIC_PREFIX
  value: {{ . | quote }}
{{- end }}
{{- if $job.pipeline.file }}
- name: MARKET_SPREAD_APPLICATION
  value: {{ empty $job.pipeline.configMap | ternary "" "/etc/market-spread/pipeline/" }}{{ $job.pipeline.file }}:{{ $job.pipeline.function }}
# The driver knows the topics, and makes those that are missing.
- name: MARKET_SPREAD_TOPIC_PARTITIONS
  value: {{ .Values.topics.partitions | quote }}
- name: MARKET_SPREAD_TOPIC_REPLICAS
  value: {{ .Values.topics.replicas | quote }}
{{- else if eq $job.decisions "all" }}
- name: MARKET_SPREAD_APPLICATION
  value: market_spread_all_decisions
{{- end }}
- name: MARKET_SPREAD_MODE
  value: {{ $job.mode }}
- name: MARKET_SPREAD_BATCH_S
  value: {{ $job.batchS | quote }}
- name: MARKET_SPREAD_SHUFFLE_PARTITIONS
  value: {{ $job.shufflePartitions | quote }}
- name: MARKET_SPREAD_WARM_UP_BATCHES
  value: {{ $job.warmUpBatches | quote }}
- name: MARKET_SPREAD_CHECKPOINT
  # A volume of the user's own may be that of other releases, too.
  value: /var/lib/market-spread/checkpoint/{{ .Release.Namespace }}/{{ include "market-spread.fullname" . }}-job-$(MARKET_SPREAD_REPLICA)
- name: MARKET_SPREAD_LEASE
  value: $(MARKET_SPREAD_POD_NAME)
- name: MARKET_SPREAD_DRIVER_MEMORY
  value: {{ $job.driver.heap }}
{{- with $job.driver.javaOptions }}
- name: MARKET_SPREAD_JAVA_OPTIONS
  value: {{ . | quote }}
{{- end }}
- name: MARKET_SPREAD_DRIVER_HOST
  value: $(MARKET_SPREAD_POD_NAME).{{ $service }}
- name: MARKET_SPREAD_DRIVER_PORT
  value: "7078"
- name: MARKET_SPREAD_BLOCK_MANAGER_PORT
  value: "7079"
- name: MARKET_SPREAD_UI_PORT
  value: "4040"
{{- end }}

{{/* The pipeline's folder, where a ConfigMap has it. */}}
{{- define "market-spread.pipelineMount" -}}
{{- if .Values.job.pipeline.configMap }}
- name: pipeline
  mountPath: /etc/market-spread/pipeline
  readOnly: true
{{- end }}
{{- end }}

{{- define "market-spread.pipelineVolume" -}}
{{- with .Values.job.pipeline.configMap }}
- name: pipeline
  configMap:
    name: {{ . | toYaml }}
{{- end }}
{{- end }}

{{/* What it is told of its executors: (root, image). */}}
{{- define "market-spread.executorEnvironment" -}}
{{- $executors := .root.Values.job.executors -}}
- name: MARKET_SPREAD_EXECUTOR_IMAGE
  value: {{ .image }}
- name: MARKET_SPREAD_EXECUTOR_IMAGE_PULL_POLICY
  value: {{ .root.Values.images.pullPolicy }}
- name: MARKET_SPREAD_EXECUTOR_SERVICE_ACCOUNT
  value: {{ include "market-spread.fullname" .root }}
- name: MARKET_SPREAD_EXECUTOR_TEMPLATE
  value: /etc/market-spread/executor/pod{{ if gt (int .root.Values.job.replicas) 1 }}-$(MARKET_SPREAD_REPLICA){{ end }}.yaml
- name: MARKET_SPREAD_EXECUTORS
  value: {{ $executors.count | quote }}
- name: MARKET_SPREAD_EXECUTOR_SLOTS
  value: {{ $executors.slots | quote }}
- name: MARKET_SPREAD_EXECUTOR_CPUS
  value: {{ $executors.cpu | quote }}
- name: MARKET_SPREAD_EXECUTOR_MEMORY
  value: {{ $executors.heap }}
- name: MARKET_SPREAD_EXECUTOR_MEMORY_OVERHEAD
  value: {{ $executors.memoryOverhead }}
{{- with $executors.javaOptions }}
- name: MARKET_SPREAD_EXECUTOR_JAVA_OPTIONS
  value: {{ . | quote }}
{{- end }}
{{- end }}
