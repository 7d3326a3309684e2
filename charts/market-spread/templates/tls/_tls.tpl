{{/* Certificates of gRPC: who has which, where they are mounted, and what processes are told of them. */}}

{{/* Where they are from; nothing if there are none. */}}
{{- define "market-spread.tls" -}}
{{- with .Values.tls }}{{ if ne .source "none" }}{{ .source }}{{ end }}{{ end }}
{{- end }}

{{/* The folder and what its names must be of: (root; serves, whether the kubelet asks for its health). */}}
{{- define "market-spread.tlsEnvironment" -}}
{{- if include "market-spread.tls" .root }}
- name: MARKET_SPREAD_TLS_FOLDER
  value: /etc/market-spread/tls
- name: MARKET_SPREAD_TLS_DOMAIN
  value: {{ .root.Release.Name | quote }}
{{- if .serves }}
- name: MARKET_SPREAD_TLS_HEALTH_PORT
  value: {{ include "market-spread.healthPort" .root | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Where the kubelet, which has no certificate, asks for health. */}}
{{- define "market-spread.healthPort" -}}
{{- include "market-spread.tls" . | empty | ternary 50051 50052 }}
{{- end }}

{{/* The port of that, where it is one of its own. */}}
{{- define "market-spread.healthContainerPort" -}}
{{- if include "market-spread.tls" . }}
- name: health
  containerPort: {{ include "market-spread.healthPort" . }}
{{- end }}
{{- end }}

{{- define "market-spread.tlsMount" -}}
{{- if include "market-spread.tls" . }}
- name: tls
  mountPath: /etc/market-spread/tls
  readOnly: true
{{- end }}
{{- end }}

{{/* The Secret as a folder; the group of the pod's processes may read it: (root, component). */}}
{{- define "market-spread.tlsVolume" -}}
{{- if include "market-spread.tls" .root }}
- name: tls
  secret:
    secretName: {{ include "market-spread.tlsSecret" . | trim | toYaml }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* The name of a component's Secret: (root, component). */}}
{{- define "market-spread.tlsSecret" -}}
{{- if eq (include "market-spread.tls" .root) "secret" }}
{{- get (.root.Values.tls.secrets | default dict) (eq .component "metrics-aggregator" | ternary "metricsAggregator" .component) }}
{{- else }}
{{- printf "%s-%s-tls" (include "market-spread.fullname" .root) .component }}
{{- end }}
{{- end }}

{{/* Hosts by which a component's pods are called; localhost is that of a forwarded port: (root, component). */}}
{{- define "market-spread.tlsHosts" -}}
{{- $hosts := list (printf "%s.%s.market-spread.internal" .component .root.Release.Name) }}
{{- if ne .component "run" }}
{{- $service := printf "%s-%s" (include "market-spread.fullname" .root) .component }}
{{- $hosts = append $hosts $service }}
{{- $hosts = append $hosts (printf "%s.%s.svc" $service .root.Release.Namespace) }}
{{- $hosts = append $hosts (printf "*.%s.%s.svc" $service .root.Release.Namespace) }}
{{- $hosts = append $hosts "localhost" }}
{{- end }}
{{- $hosts | toJson }}
{{- end }}
