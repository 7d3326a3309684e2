{{/*
The trees of the host that the profile needs, and no more: name, path, read-only, file or folder. In a dry run all of them are
read-only.
*/}}
{{- define "host-tuning.hostPaths" -}}
{{- $profile := include "host-tuning.profile" . | fromYaml }}
{{- $apply := $profile.apply | default dict }}
{{- $verify := $profile.verify | default dict }}
{{- $readOnly := .Values.dryRun }}
- {name: cpu, path: /sys/devices/system/cpu, readOnly: {{ $readOnly }}, type: Directory}
- {name: numa, path: /sys/devices/system/node, readOnly: true, type: Directory}
- {name: boot-id, path: /proc/sys/kernel/random/boot_id, readOnly: true, type: File}
{{- if $apply.transparent_hugepages }}
- {name: huge-pages, path: /sys/kernel/mm/transparent_hugepage, readOnly: {{ $readOnly }}, type: Directory}
{{- end }}
{{- if eq ($apply.interrupts | default "as-found") "housekeeping" }}
- {name: irq, path: /proc/irq, readOnly: {{ $readOnly }}, type: Directory}
{{- end }}
{{- if eq ($apply.workqueues | default "as-found") "housekeeping" }}
- {name: workqueue, path: /sys/devices/virtual/workqueue, readOnly: {{ $readOnly }}, type: Directory}
{{- end }}
{{- if hasKey $verify "swap" }}
- {name: swaps, path: /proc/swaps, readOnly: true, type: File}
{{- end }}
{{- if $verify.kernel_arguments }}
- {name: cmdline, path: /proc/cmdline, readOnly: true, type: File}
{{- end }}
{{- if $verify.network_driver }}
- {name: bus, path: /sys/bus, readOnly: true, type: Directory}
{{- end }}
{{- range $name, $_ := $apply.sysctls }}
{{- if not (hasPrefix "net." $name) }}
- {name: {{ include "host-tuning.volume" $name }}, path: /proc/sys/{{ replace "." "/" $name }}, readOnly: {{ $readOnly }}, type: File}
{{- end }}
{{- end }}
{{- range $name, $_ := $verify.sysctls }}
- {name: {{ include "host-tuning.volume" $name }}, path: /proc/sys/{{ replace "." "/" $name }}, readOnly: true, type: File}
{{- end }}
{{- end }}

{{/* The folders of the network's kernel parameters, once each. */}}
{{- define "host-tuning.networkFolders" -}}
{{- $folders := dict }}
{{- range $name, $_ := ((include "host-tuning.profile" . | fromYaml).apply | default dict).sysctls }}
{{- if hasPrefix "net." $name }}
{{- $_ := set $folders (dir (replace "." "/" $name)) true }}
{{- end }}
{{- end }}
{{- keys $folders | sortAlpha | toJson }}
{{- end }}

{{/* A volume's name for a kernel parameter or a folder of them. */}}
{{- define "host-tuning.volume" -}}
sysctl-{{ regexReplaceAll "[^a-z0-9]+" . "-" | trimSuffix "-" | trunc 56 }}
{{- end }}

{{- define "host-tuning.hostVolumes" -}}
{{- range include "host-tuning.hostPaths" . | fromYamlArray }}
- name: {{ .name }}
  hostPath: {path: {{ .path }}, type: {{ .type }}}
{{- end }}
{{- range include "host-tuning.networkFolders" . | fromJsonArray }}
- name: {{ include "host-tuning.volume" . }}
  hostPath: {path: /proc/sys/{{ . }}, type: Directory}
{{- end }}
- name: pod-resources
  hostPath: {path: {{ printf "%s/pod-resources" .Values.kubeletFolder | quote }}, type: Directory}
{{- if not .Values.dryRun }}
- name: originals
  hostPath: {path: {{ .Values.stateFolder | quote }}, type: DirectoryOrCreate}
{{- end }}
{{- end }}

{{- define "host-tuning.hostMounts" -}}
{{- range include "host-tuning.hostPaths" . | fromYamlArray }}
- {name: {{ .name }}, mountPath: /host{{ .path }}, readOnly: {{ .readOnly }}}
{{- end }}
{{- range $name, $_ := ((include "host-tuning.profile" . | fromYaml).apply | default dict).sysctls }}
{{- if hasPrefix "net." $name }}
{{- $path := replace "." "/" $name }}
# The runtime would look for it in the pod's network namespace; with subPath the kubelet does, in the host's.
- {name: {{ include "host-tuning.volume" (dir $path) }}, mountPath: /host/proc/sys/{{ $path }}, subPath: {{ base $path }}, readOnly: {{ $.Values.dryRun }}}
{{- end }}
{{- end }}
- {name: pod-resources, mountPath: /pod-resources, readOnly: true}
{{- if not .Values.dryRun }}
- {name: originals, mountPath: /originals}
{{- end }}
{{- end }}
