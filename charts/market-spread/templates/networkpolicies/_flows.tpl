{{/* Who opens connections to whom, within the release. No port is all of them: executors listen on random ones for the shuffle. */}}
{{- define "market-spread.flows" -}}
- {from: [sender, receiver, job, run, test], to: metrics-aggregator, ports: [50051]}
- {from: [run, test], to: metrics-aggregator, ports: [8080]}
- {from: [run, test], to: sender, ports: [50051]}
- {from: [run, test], to: receiver, ports: [50051]}
- {from: [run, test], to: job, ports: [50051]}
- {from: [executor], to: job, ports: [7078, 7079]}
- {from: [job, executor], to: executor, ports: []}
{{- if not .Values.kafka.external.bootstrap }}
- {from: [sender, receiver, job, executor, topics, run, test], to: kafka, ports: [9092]}
{{- end }}
{{- end }}

{{/* Who opens connections to brokers elsewhere. */}}
{{- define "market-spread.kafkaClients" -}}
[sender, receiver, job, executor, topics, run, test]
{{- end }}

{{/* Who asks the API server. */}}
{{- define "market-spread.apiClients" -}}
[job, run]
{{- end }}

{{/* Which ports Prometheus reads, by component. */}}
{{- define "market-spread.scraped" -}}
metrics-aggregator: 8080
job: 4040
{{- if .Values.kafka.metrics.agentJar }}
kafka: 9404
{{- end }}
{{- end }}

{{/* A rule's ports. */}}
{{- define "market-spread.ports" -}}
{{- if . }}
ports:
  {{- range . }}
  - protocol: TCP
    port: {{ int . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* A rule's peers: pods of components. (root, components) */}}
{{- define "market-spread.peers" -}}
- podSelector:
    matchLabels:
      {{- include "market-spread.selector" (dict "root" .root) | nindent 6 }}
    matchExpressions:
      - key: app.kubernetes.io/component
        operator: In
        values: {{ .components | toJson }}
{{- end }}

{{/* A rule's peers: addresses. */}}
{{- define "market-spread.cidrs" -}}
{{- range . }}
- ipBlock:
    cidr: {{ . | toYaml }}
{{- end }}
{{- end }}
