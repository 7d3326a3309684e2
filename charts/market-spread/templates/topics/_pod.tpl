{{- define "market-spread.topicsPod" -}}
metadata:
  labels:
    {{- include "market-spread.selector" (dict "root" . "component" "topics") | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  restartPolicy: OnFailure
  {{- include "market-spread.podBasics" (dict "root" .) | nindent 2 }}
  {{- include "market-spread.podSecurity" dict | nindent 2 }}
  {{- include "market-spread.placement" (dict "root" .) | nindent 2 }}
  containers:
    - name: topics
      image: {{ include "market-spread.image" (dict "root" . "image" "run-controller" "key" "runController") }}
      imagePullPolicy: {{ .Values.images.pullPolicy }}
      args:
        - topics
        - --bootstrap-servers
        - {{ include "market-spread.bootstrapServers" . }}
        - --partitions
        - {{ .Values.topics.partitions | quote }}
        {{- if eq .Values.job.decisions "all" }}
        - --decisions
        - all
        {{- end }}
        {{- with .Values.kafka.prefix }}
        - --prefix
        - {{ . | toYaml }}
        {{- end }}
        {{- if gt (int .Values.topics.replicas) 1 }}
        - --replicas
        - {{ .Values.topics.replicas | quote }}
        {{- end }}
      env:
        {{- include "market-spread.identity" . | nindent 8 }}
        {{- include "market-spread.kafka" . | nindent 8 }}
      {{- include "market-spread.resources" (dict "memory" "256Mi") | nindent 6 }}
      {{- include "market-spread.containerSecurity" dict | nindent 6 }}
      volumeMounts:
        {{- include "market-spread.temporaryMount" . | nindent 8 }}
        {{- include "market-spread.kafkaMounts" . | nindent 8 }}
  volumes:
    {{- include "market-spread.temporary" . | nindent 4 }}
    {{- include "market-spread.kafkaVolumes" . | nindent 4 }}
{{- end }}
