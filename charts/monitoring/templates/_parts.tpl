{{- define "monitoring.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace | toYaml }}
labels:
  app.kubernetes.io/name: monitoring
  app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
  app.kubernetes.io/part-of: market-spread
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* "yes" if objects of the operator are wanted: (root, enabled). */}}
{{- define "monitoring.wanted" -}}
{{- if eq .enabled "always" }}yes{{ end }}
{{- if and (eq .enabled "auto") (.root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") }}yes{{ end }}
{{- end }}

{{/* A PodMonitor of a component: (root, name, app, component, endpoints as text). Rules know its job by the name's begin, market-spread-. */}}
{{- define "monitoring.podMonitor" -}}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  {{- $name := printf "market-spread-%s" .name }}
  {{- include "monitoring.metadata" (dict "root" .root "name" $name "labels" .root.Values.monitors.labels) | nindent 2 }}
spec:
  namespaceSelector:
    {{- with .root.Values.namespaces }}
    matchNames: {{ . | toJson }}
    {{- else }}
    any: true
    {{- end }}
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .app | default "market-spread" }}
      {{- with .component }}
      app.kubernetes.io/component: {{ . }}
      {{- end }}
  # Spark gives the page of its executors as HTML, which Prometheus 3 refuses without this; an older one is not told.
  fallbackScrapeProtocol: PrometheusText0.0.4
  podMetricsEndpoints:
    {{- .endpoints | nindent 4 }}
{{- end }}

{{- define "monitoring.endpoint" -}}
- port: {{ .port }}
  path: {{ .path }}
  interval: {{ .root.Values.monitors.interval }}
  scrapeTimeout: {{ .root.Values.monitors.interval }}
{{- end }}

{{/* What cannot work is refused: a sentence for each, with the value and the remedy. */}}
{{- define "monitoring.checks" -}}
{{- $problems := list }}
{{- range $name, $labels := dict "rules" .Values.rules.labels "monitors" .Values.monitors.labels "dashboards" .Values.dashboards.labels }}
{{- range $label, $value := $labels }}
{{- if regexMatch "^(app[.]kubernetes[.]io/.*|helm[.]sh/chart|grafana_dashboard)$" $label }}
{{- $problems = append $problems (printf "%s.labels has %s=%s, which the chart sets itself; leave it out" $name $label $value) }}
{{- end }}
{{- end }}
{{- end }}
{{- if hasSuffix ".md" (.Values.rules.runbookBase | default "") }}
{{- $problems = append $problems (printf "rules.runbookBase=%s is the page itself, and docs/runbook.md is put behind it; name what is before that" .Values.rules.runbookBase) }}
{{- end }}
{{- $interval := .Values.monitors.interval }}
{{- $slow := or (regexMatch "[0-9]m([0-9]|$)" $interval) (and (not (hasSuffix "ms" $interval)) (gt (trimSuffix "s" $interval | int) 15)) }}
{{- if and $slow (ne .Values.rules.enabled "never") (ne .Values.monitors.enabled "never") }}
{{- $problems = append $problems (printf "monitors.interval=%s, and rules take rates over 30s, which need two scrapes; use 15s at most, or rules.enabled=never" $interval) }}
{{- end }}
{{- if $problems }}
{{- fail (printf "\n%s" (join "\n" $problems)) }}
{{- end }}
{{- end }}
