{{/* The run controller, from workload to verdict: (root, name; file, the workload in the pipeline's folder, if it is there). */}}
{{- define "market-spread.runContainer" -}}
- name: {{ .name }}
  image: {{ include "market-spread.image" (dict "root" .root "image" "run-controller" "key" "runController") }}
  imagePullPolicy: {{ .root.Values.images.pullPolicy }}
  args:
    - run
    - {{ empty .file | ternary "/etc/market-spread/workload/workload.yaml" (printf "/etc/market-spread/pipeline/%s" .file) }}
    - --target
    - kubernetes
    - --in-cluster
    - --release
    - {{ .root.Release.Name | toYaml }}
    - --namespace
    - {{ .root.Release.Namespace | toYaml }}
    - --runs-folder
    - /tmp/runs
  env:
    {{- include "market-spread.identity" .root | nindent 4 }}
    {{- include "market-spread.kafka" .root | nindent 4 }}
    {{- include "market-spread.tlsEnvironment" (dict "root" .root) | nindent 4 }}
  {{- include "market-spread.resources" (dict "memory" "1Gi") | nindent 2 }}
  {{- include "market-spread.containerSecurity" dict | nindent 2 }}
  volumeMounts:
    {{- include "market-spread.temporaryMount" . | nindent 4 }}
    - name: workload
      mountPath: /etc/market-spread/workload
      readOnly: true
    {{- include "market-spread.pipelineMount" .root | nindent 4 }}
    {{- include "market-spread.kafkaMounts" .root | nindent 4 }}
    {{- include "market-spread.tlsMount" .root | nindent 4 }}
{{- end }}

{{/* Its volumes: (root; workload, the ConfigMap that has it). */}}
{{- define "market-spread.runVolumes" -}}
{{ include "market-spread.temporary" . }}
- name: workload
  configMap:
    name: {{ .workload }}
{{- include "market-spread.pipelineVolume" .root }}
{{- include "market-spread.kafkaVolumes" .root }}
{{- include "market-spread.tlsVolume" (dict "root" .root "component" "run") }}
{{- end }}
