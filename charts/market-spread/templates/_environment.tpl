{{/* Environment of our processes: what they are told, by names that all of them read alike. */}}

{{/* Who a pod is. */}}
{{- define "market-spread.identity" -}}
- name: MARKET_SPREAD_POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: MARKET_SPREAD_POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
- name: MARKET_SPREAD_NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
- name: MARKET_SPREAD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- include "market-spread.extraEnvironment" . }}
{{- end }}

{{/* What a platform tells every process, such as its proxy. */}}
{{- define "market-spread.extraEnvironment" -}}
{{- range .Values.extraEnv }}
- name: {{ .name }}
  value: {{ .value | quote }}
{{- end }}
{{- end }}

{{/* Which of its set a pod is, from 0. */}}
{{- define "market-spread.index" -}}
- name: {{ .name }}
  valueFrom:
    fieldRef:
      fieldPath: metadata.labels['apps.kubernetes.io/pod-index']
{{- end }}

{{/* Where a service listens, and the exclusive CPUs that it must have: (pinned, cpu). */}}
{{- define "market-spread.listen" -}}
- name: MARKET_SPREAD_HOST
  value: 0.0.0.0
- name: MARKET_SPREAD_GRPC_PORT
  value: "50051"
{{- if .pinned }}
- name: MARKET_SPREAD_EXCLUSIVE_CPUS
  value: {{ .cpu | quote }}
{{- end }}
{{- end }}

{{/* Where metrics go. */}}
{{- define "market-spread.aggregator" -}}
- name: MARKET_SPREAD_AGGREGATOR_ADDRESS
  value: {{ include "market-spread.fullname" . }}-metrics-aggregator:50051
{{- end }}

{{/* How brokers are reached. */}}
{{- define "market-spread.kafka" -}}
{{- $security := .Values.kafka.external.security }}
- name: MARKET_SPREAD_BOOTSTRAP_SERVERS
  value: {{ include "market-spread.bootstrapServers" . }}
{{- if ne $security.protocol "PLAINTEXT" }}
- name: MARKET_SPREAD_KAFKA_SECURITY_PROTOCOL
  value: {{ $security.protocol }}
{{- if hasPrefix "SASL_" $security.protocol }}
- name: MARKET_SPREAD_KAFKA_SASL_MECHANISM
  value: {{ $security.saslMechanism }}
- name: MARKET_SPREAD_KAFKA_USERNAME
  value: {{ $security.username | quote }}
- name: MARKET_SPREAD_KAFKA_PASSWORD_FILE
  value: /etc/market-spread/kafka/password/password
{{- end }}
{{- if eq $security.saslMechanism "OAUTHBEARER" }}
- name: MARKET_SPREAD_KAFKA_TOKEN_ENDPOINT
  value: {{ $security.tokenEndpoint | quote }}
{{- if $security.tokenScope }}
- name: MARKET_SPREAD_KAFKA_TOKEN_SCOPE
  value: {{ $security.tokenScope | quote }}
{{- end }}
{{- end }}
{{- if $security.caSecret }}
- name: MARKET_SPREAD_KAFKA_CA_FILE
  value: /etc/market-spread/kafka/ca/ca.crt
{{- end }}
{{- if $security.certificateSecret }}
- name: MARKET_SPREAD_KAFKA_CERTIFICATE_FILE
  value: /etc/market-spread/kafka/certificate/tls.crt
- name: MARKET_SPREAD_KAFKA_KEY_FILE
  value: /etc/market-spread/kafka/certificate/tls.key
{{- end }}
{{- end }}
{{- end }}

{{/* The Secrets of that, by the folder that each is mounted at. */}}
{{- define "market-spread.kafkaSecrets" -}}
{{- $security := .Values.kafka.external.security -}}
{{- dict "password" $security.passwordSecret "ca" $security.caSecret "certificate" $security.certificateSecret | toJson }}
{{- end }}

{{- define "market-spread.kafkaMounts" -}}
{{- range $folder, $secret := include "market-spread.kafkaSecrets" . | fromJson }}
{{- if $secret }}
- name: kafka-{{ $folder }}
  mountPath: /etc/market-spread/kafka/{{ $folder }}
  readOnly: true
{{- end }}
{{- end }}
{{- end }}

{{- define "market-spread.kafkaVolumes" -}}
{{- range $folder, $secret := include "market-spread.kafkaSecrets" . | fromJson }}
{{- if $secret }}
- name: kafka-{{ $folder }}
  secret:
    secretName: {{ $secret | toYaml }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- end }}

{{/* The command with a real-time priority in front: (realtime, module). Nothing if the image's own is meant. */}}
{{- define "market-spread.realtimeCommand" -}}
{{- if .realtime.enabled }}
command: [chrt, --fifo, {{ .realtime.priority | quote }}, python, -m, {{ .module }}]
{{- end }}
{{- end }}
