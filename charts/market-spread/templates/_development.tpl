{{/* For `skaffold dev`: our code runs from a volume, in which Skaffold replaces files, while the image stays read-only. */}}

{{/* Fills the volume with the image's own code: (root, image, resources, as of the container). */}}
{{- define "market-spread.developmentCopy" -}}
{{- if .root.Values.development.sync }}
initContainers:
  - name: copy
    image: {{ .image }}
    imagePullPolicy: {{ .root.Values.images.pullPolicy }}
    # Not by shutil.copytree: it would set the times of the volume's folder, which is root's.
    command: [cp, -r, /opt/market-spread/ours/., /opt/market-spread/sync]
    {{- include "market-spread.resources" .resources | nindent 4 }}
    {{- include "market-spread.containerSecurity" dict | nindent 4 }}
    volumeMounts:
      {{- include "market-spread.temporaryMount" . | nindent 6 }}
      {{- include "market-spread.developmentMount" .root | nindent 6 }}
{{- end }}
{{- end }}

{{- define "market-spread.developmentEnvironment" -}}
{{- if .Values.development.sync }}
- name: PYTHONPATH
  value: /opt/market-spread/sync:/opt/market-spread/packages
{{- end }}
{{- end }}

{{- define "market-spread.developmentMount" -}}
{{- if .Values.development.sync }}
- name: sync
  mountPath: /opt/market-spread/sync
{{- end }}
{{- end }}

{{- define "market-spread.developmentVolume" -}}
{{- if .Values.development.sync }}
- name: sync
  emptyDir: {}
{{- end }}
{{- end }}
