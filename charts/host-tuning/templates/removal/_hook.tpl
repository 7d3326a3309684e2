{{/* Metadata of what exists while the release is being removed, and only then: (root, weight). */}}
{{- define "host-tuning.removalMetadata" -}}
name: {{ include "host-tuning.fullname" .root }}-removal
namespace: {{ .root.Release.Namespace | toYaml }}
labels:
  {{- include "host-tuning.labels" (dict "root" .root "component" "removal") | nindent 2 }}
annotations:
  helm.sh/hook: pre-delete
  helm.sh/hook-weight: {{ .weight | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
