{{/* Short, and judged by its alerts alone: neither late frames, nor stalls, nor unsteady latencies matter. */}}
{{- define "market-spread.testWorkload" -}}
{{- $job := .Values.job -}}
name: helm-test
seed: 1
load:
  profile: constant
  messages_per_s: {{ int .Values.tests.messagesPerS }}
  duration_s: {{ .Values.tests.durationS }}
market:
  symbols: 350
  rejected_orders: 1 in 100
  probes_per_s: 20
  partitions: {{ .Values.topics.partitions }}
decisions: {{ $job.decisions }}
frames:
  messages: 200
  linger_ms: 2
job:
  mode: {{ $job.mode }}
  batch_s: {{ $job.batchS }}
  shuffle_partitions: {{ $job.shufflePartitions }}
  replicas: {{ $job.replicas }}
warm_up:
  batches: {{ $job.warmUpBatches }}
  duration_s: 5
  settle_s: 0
limits:
  late_ms: 10000
  late_share: 1
  rise_share: 1000000
  stall_ms: 20000
void:
  drift_share: 1000000
  missing_share: 1
  throttled_share: 1
{{- end }}
