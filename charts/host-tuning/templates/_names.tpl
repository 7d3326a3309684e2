{{/* Names, labels and images. */}}

{{- define "host-tuning.fullname" -}}
{{- if contains "host-tuning" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-host-tuning{{ end }}
{{- end }}

{{/* Labels that select the pods of a component: (root, component). */}}
{{- define "host-tuning.selector" -}}
app.kubernetes.io/name: host-tuning
app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* All labels of an object: (root, component). */}}
{{- define "host-tuning.labels" -}}
{{ include "host-tuning.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* The profile without keys that are null: one that an earlier values file sets and the chart does not have is taken out so. */}}
{{- define "host-tuning.profile" -}}
{{- $profile := deepCopy .Values.profile }}
{{- range list (get $profile "apply") (get $profile "verify") }}
{{- range $of := list . (. | default dict).sysctls }}
{{- range $name, $value := omit ($of | default dict) "" }}
{{- if kindIs "invalid" $value }}{{ $_ := unset $of $name }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $profile }}
{{- end }}

{{- define "host-tuning.image" -}}
{{ .Values.image }}
{{- end }}

{{/* What every container of ours may: nothing but run. Its user is set beside it. */}}
{{- define "host-tuning.containerSecurity" -}}
privileged: false
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
