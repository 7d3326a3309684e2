{{/* Begin of a test's pod: (root, name, component). Its log is shown. One that failed stays, until the next `helm test`. */}}
{{- define "market-spread.testMetadata" -}}
name: {{ include "market-spread.fullname" .root }}-test-{{ .name }}
namespace: {{ .root.Release.Namespace | toYaml }}
labels:
  {{- include "market-spread.labels" . | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  helm.sh/hook: test
  helm.sh/hook-weight: {{ .weight | default 0 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
  helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
{{- end }}

{{/* A pod that runs one command of the run controller's image: (root, name, args). */}}
{{- define "market-spread.probePod" -}}
apiVersion: v1
kind: Pod
metadata:
  {{- include "market-spread.testMetadata" (merge (dict "component" "test") .) | nindent 2 }}
spec:
  restartPolicy: Never
  {{- include "market-spread.podBasics" (dict "root" .root) | nindent 2 }}
  {{- include "market-spread.podSecurity" dict | nindent 2 }}
  {{- include "market-spread.placement" (dict "root" .root) | nindent 2 }}
  containers:
    - name: {{ .name }}
      image: {{ include "market-spread.image" (dict "root" .root "image" "run-controller" "key" "runController") }}
      imagePullPolicy: {{ .root.Values.images.pullPolicy }}
      args:
        {{- toYaml .args | nindent 8 }}
      env:
        {{- include "market-spread.kafka" .root | nindent 8 }}
        {{- include "market-spread.tlsEnvironment" (dict "root" .root) | nindent 8 }}
        {{- include "market-spread.extraEnvironment" .root | nindent 8 }}
      {{- include "market-spread.resources" (dict "memory" "256Mi") | nindent 6 }}
      {{- include "market-spread.containerSecurity" dict | nindent 6 }}
      volumeMounts:
        {{- include "market-spread.temporaryMount" .root | nindent 8 }}
        {{- include "market-spread.kafkaMounts" .root | nindent 8 }}
        {{- include "market-spread.tlsMount" .root | nindent 8 }}
  volumes:
    {{- include "market-spread.temporary" .root | nindent 4 }}
    {{- include "market-spread.kafkaVolumes" .root | nindent 4 }}
    {{- include "market-spread.tlsVolume" (dict "root" .root "component" "run") | nindent 4 }}
{{- end }}
