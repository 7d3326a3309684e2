{{/* The templates of executor pods: one, or of a pair one for each job, as pod-0.yaml and pod-1.yaml. */}}
{{- define "market-spread.executors" -}}
{{- range $replica := until (int .Values.job.replicas) }}
pod{{ if gt (int $.Values.job.replicas) 1 }}-{{ $replica }}{{ end }}.yaml: |
  {{- include "market-spread.executor" (merge (dict "replica" $replica) $) | nindent 2 }}
{{- end }}
{{- end }}

{{/* What Spark's settings cannot say of an executor: the root, with its job's number. Spark adds image, arguments and resources. */}}
{{- define "market-spread.executor" -}}
{{- $executors := .Values.job.executors -}}
apiVersion: v1
kind: Pod
metadata:
  labels:
    {{- include "market-spread.labels" (dict "root" . "component" "executor") | nindent 4 }}
    market-spread.io/replica: {{ .replica | quote }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "market-spread.podBasics" (dict "root" .) | nindent 2 }}
  {{- include "market-spread.podSecurity" dict | nindent 2 }}
  {{- $together := include "market-spread.checkpointNode" . }}
  {{- if and $together (include "market-spread.spread" .) }}
  {{- $together = include "market-spread.driversNode" . }}
  {{- end }}
  {{- $apart := list }}
  {{- if $executors.onePerNode }}
  {{- $apart = append $apart (include "market-spread.ownNode" (dict "root" . "component" "executor")) }}
  {{- end }}
  {{- if include "market-spread.spread" . }}
  {{- $apart = append $apart (include "market-spread.apartFromOther" .) }}
  {{- end }}
  {{- $nodes := printf "%s\n%s" $together (include "market-spread.antiAffinity" $apart) | trim }}
  {{- include "market-spread.placement" (dict "root" . "pool" $executors.pool "affinity" $nodes) | nindent 2 }}
  {{- $spread := $executors.spread | default "none" }}
  {{- if ne $spread "none" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: {{ eq $spread "zone" | ternary "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
      whenUnsatisfiable: DoNotSchedule
      labelSelector:
        matchLabels:
          {{- include "market-spread.selector" (dict "root" . "component" "executor") | nindent 10 }}
          market-spread.io/replica: {{ .replica | quote }}
  {{- end }}
  containers:
    - name: executor
      env:
        {{- include "market-spread.identity" . | nindent 8 }}
        {{- if $executors.pinned }}
        - name: MARKET_SPREAD_EXCLUSIVE_CPUS
          value: {{ $executors.cpu | quote }}
        {{- end }}
        {{- if .Values.job.pipeline.configMap }}
        # Python workers import from it what functions of the pipeline use.
        - name: PYTHONPATH
          value: /etc/market-spread/pipeline:/opt/market-spread/ours:/opt/market-spread/packages
        {{- end }}
      {{- if $executors.pinned }}
      # Asked until the CPUs are its own, and then never again: the question would run on them. Without them it is not ready.
      startupProbe:
        exec:
          command: [python, -m, market_spread.common.process.pinning]
        periodSeconds: 2
        timeoutSeconds: 10
        failureThreshold: 1000000
      {{- end }}
      {{- include "market-spread.containerSecurity" dict | nindent 6 }}
      volumeMounts:
        {{- include "market-spread.temporaryMount" . | nindent 8 }}
        - name: checkpoint
          mountPath: /var/lib/market-spread/checkpoint
        {{- include "market-spread.pipelineMount" . | nindent 8 }}
  volumes:
    {{- include "market-spread.temporary" . | nindent 4 }}
    {{- $claim := printf "%s-checkpoint" (include "market-spread.fullname" .) }}
    {{- if include "market-spread.claimEach" . }}
    {{- $claim = printf "checkpoint-%s-job-%d" (include "market-spread.fullname" .) (int .replica) }}
    {{- end }}
    {{- include "market-spread.volume" (dict "name" "checkpoint" "volume" .Values.job.checkpoint "claim" $claim) | nindent 4 }}
    {{- include "market-spread.pipelineVolume" . | nindent 4 }}
{{- end }}

{{/* Drivers and executors together, where the checkpoint can be on one node only. */}}
{{- define "market-spread.checkpointNode" -}}
{{- $checkpoint := .Values.job.checkpoint }}
{{- $many := eq $checkpoint.kind "hostPath" | ternary $checkpoint.shared (eq $checkpoint.accessMode "ReadWriteMany") }}
{{- if not $many }}
{{- include "market-spread.sameNode" (dict "root" . "components" (list "job" "executor")) }}
{{- end }}
{{- end }}

{{/* "node" or "zone" if the jobs of a pair are kept apart, each with its executors. */}}
{{- define "market-spread.spread" -}}
{{- $spread := .Values.job.spread | default "node" }}
{{- if and (gt (int .Values.job.replicas) 1) (ne $spread "none") }}{{ $spread }}{{ end }}
{{- end }}

{{- define "market-spread.spreadKey" -}}
{{- eq (include "market-spread.spread" .) "zone" | ternary "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
{{- end }}

{{/* "yes" if each job of a pair has a claim of its own. */}}
{{- define "market-spread.claimEach" -}}
{{- if and (gt (int .Values.job.replicas) 1) (eq .Values.job.checkpoint.kind "claim") }}yes{{ end }}
{{- end }}

{{/* An executor is on its own driver's node. */}}
{{- define "market-spread.driversNode" -}}
podAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "market-spread.selector" (dict "root" . "component" "job") | nindent 10 }}
          apps.kubernetes.io/pod-index: {{ .replica | quote }}
{{- end }}

{{/* A driver is not where another one is. */}}
{{- define "market-spread.driversApart" -}}
- topologyKey: {{ include "market-spread.spreadKey" . }}
  labelSelector:
    matchLabels:
      {{- include "market-spread.selector" (dict "root" . "component" "job") | nindent 6 }}
{{- end }}

{{/* An executor is where neither the other driver nor one of its executors is. */}}
{{- define "market-spread.apartFromOther" -}}
{{- $other := sub 1 .replica | toString }}
- topologyKey: {{ include "market-spread.spreadKey" . }}
  labelSelector:
    matchLabels:
      {{- include "market-spread.selector" (dict "root" . "component" "job") | nindent 6 }}
      apps.kubernetes.io/pod-index: {{ $other | quote }}
- topologyKey: {{ include "market-spread.spreadKey" . }}
  labelSelector:
    matchLabels:
      {{- include "market-spread.selector" (dict "root" . "component" "executor") | nindent 6 }}
      market-spread.io/replica: {{ $other | quote }}
{{- end }}
