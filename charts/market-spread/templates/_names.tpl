{{/* Names, labels and images. */}}

{{- define "market-spread.fullname" -}}
{{- if contains "market-spread" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-market-spread{{ end }}
{{- end }}

{{/* Labels that select the pods of a component, or with no component those of the release: (root, component). */}}
{{- define "market-spread.selector" -}}
app.kubernetes.io/name: market-spread
app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* All labels of an object: (root, component). */}}
{{- define "market-spread.labels" -}}
{{ include "market-spread.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* Name and labels of an object: (root, component, name). */}}
{{- define "market-spread.metadata" -}}
name: {{ .name | default (printf "%s-%s" (include "market-spread.fullname" .root) .component) }}
namespace: {{ .root.Release.Namespace | toYaml }}
labels:
  {{- include "market-spread.labels" . | nindent 2 }}
{{- end }}

{{/* Reference of an image of ours: (root, image, the image's name in values). */}}
{{- define "market-spread.image" -}}
{{- $images := .root.Values.images }}
{{- $given := index $images .key }}
{{- $given | default (printf "%s/market-spread/%s:%s" $images.registry .image ($images.tag | default .root.Chart.AppVersion)) }}
{{- end }}

{{/* Reference of the image of driver and executors. */}}
{{- define "market-spread.jobImage" -}}
{{- .Values.job.pipeline.image | default (include "market-spread.image" (dict "root" . "image" "spark" "key" "spark")) }}
{{- end }}

{{/* Where brokers are found. */}}
{{- define "market-spread.bootstrapServers" -}}
{{- .Values.kafka.external.bootstrap | default (printf "%s-kafka.%s.svc:9092" (include "market-spread.fullname" .) .Release.Namespace) }}
{{- end }}
