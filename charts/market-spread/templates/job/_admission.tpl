{{/* What the driver's token may be used for: names, conditions and values of the admission policies. */}}

{{/* "yes" if there are admission policies. Values of an earlier release have no such key. */}}
{{- define "market-spread.admission" -}}
{{- with .Values.admissionPolicy }}{{ if .enabled }}yes{{ end }}{{ end }}
{{- end }}

{{/* Metadata of a policy or its binding: (root, name). They are of the whole cluster, and no namespace has a dot in its name. */}}
{{- define "market-spread.admissionMetadata" -}}
name: {{ .root.Release.Namespace }}.{{ include "market-spread.fullname" .root }}-{{ .name }}
labels:
  {{- include "market-spread.labels" (dict "root" .root "component" "job") | nindent 2 }}
{{- end }}

{{/* Whom they are about. */}}
{{- define "market-spread.admissionConditions" -}}
- name: of-the-driver
  expression: request.userInfo.username == 'system:serviceaccount:{{ .Release.Namespace }}:{{ include "market-spread.fullname" . }}-job'
{{- end }}

{{/* Which driver it is: the API server writes into a token whose pod it was issued to. */}}
{{- define "market-spread.admissionDriver" -}}
- name: driver
  expression: request.userInfo.extra[?'authentication.kubernetes.io/pod-name'][0].orValue('')
- name: driverUid
  expression: request.userInfo.extra[?'authentication.kubernetes.io/pod-uid'][0].orValue('')
{{- end }}

{{/* Whether a volume is one that an executor may mount, alternatives joined by ||. The API server takes a volume of one kind alone. */}}
{{- define "market-spread.admissionVolume" -}}
{{- $checkpoint := .Values.job.checkpoint -}}
has(volume.emptyDir)
{{- if eq $checkpoint.kind "hostPath" }}
|| volume.?hostPath.?path.orValue('') == '{{ $checkpoint.hostPath }}'
{{- else if include "market-spread.claimEach" . }}
|| volume.?persistentVolumeClaim.?claimName.orValue('') == 'checkpoint-' + variables.driver
{{- else }}
|| volume.?persistentVolumeClaim.?claimName.orValue('') == '{{ eq $checkpoint.kind "claim" | ternary (printf "%s-checkpoint" (include "market-spread.fullname" .)) $checkpoint.existingClaim }}'
{{- end }}
{{- with .Values.job.pipeline.configMap }}
|| volume.?configMap.?name.orValue('') == '{{ . }}'
{{- end }}
|| has(volume.projected) && volume.projected.?sources.orValue([]).all(source,
source.?serviceAccountToken.?audience.orValue('') in {{ .Values.admissionPolicy.tokenAudiences | default list | toJson }})
{{- end }}
