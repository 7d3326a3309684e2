{{/* The template of executor pods: what Spark's settings cannot say. Spark adds image, arguments and resources. */}}
{{- define "market-spread.executor" -}}
{{- $executors := .Values.job.executors -}}
apiVersion: v1
kind: Pod
metadata:
  labels:
    {{- include "market-spread.labels" (dict "root" . "component" "executor") | nindent 4 }}
spec:
  {{- include "market-spread.podBasics" (dict "root" .) | nindent 2 }}
  {{- include "market-spread.podSecurity" dict | nindent 2 }}
  {{- $nodes := include "market-spread.checkpointNode" . }}
  {{- if $executors.onePerNode }}
  {{- $nodes = printf "%s\n%s" $nodes (include "market-spread.ownNode" (dict "root" . "component" "executor")) | trim }}
  {{- end }}
  {{- include "market-spread.placement" (dict "root" . "pool" $executors.pool "affinity" $nodes) | nindent 2 }}
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
        {{- include "market-spread.kafkaMounts" . | nindent 8 }}
  volumes:
    {{- include "market-spread.temporary" . | nindent 4 }}
    {{- $claim := printf "%s-checkpoint" (include "market-spread.fullname" .) }}
    {{- include "market-spread.volume" (dict "name" "checkpoint" "volume" .Values.job.checkpoint "claim" $claim) | nindent 4 }}
    {{- include "market-spread.pipelineVolume" . | nindent 4 }}
    {{- include "market-spread.kafkaVolumes" . | nindent 4 }}
{{- end }}

{{/* Drivers and executors together, where the checkpoint can be on one node only. */}}
{{- define "market-spread.checkpointNode" -}}
{{- $checkpoint := .Values.job.checkpoint }}
{{- if and (has $checkpoint.kind (list "claim" "existingClaim")) (ne $checkpoint.accessMode "ReadWriteMany") }}
{{- include "market-spread.sameNode" (dict "root" . "components" (list "job" "executor")) }}
{{- end }}
{{- end }}
