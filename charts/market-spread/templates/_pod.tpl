{{/* What pods have in common: who they are allowed to be, where they run, what they get. */}}

{{/* The begin of a pod's spec: (root, serviceAccount; token, whether it talks to the API server). */}}
{{- define "market-spread.podBasics" -}}
serviceAccountName: {{ include "market-spread.fullname" .root }}{{ with .serviceAccount }}-{{ . }}{{ end }}
automountServiceAccountToken: {{ .token | default false }}
enableServiceLinks: false
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | toYaml }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Security of a pod that is nobody special: (uid). */}}
{{- define "market-spread.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .uid | default 10001 }}
  runAsGroup: {{ .uid | default 10001 }}
  fsGroup: {{ .uid | default 10001 }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* Security of its containers: (realtime, if the component can have it). */}}
{{- define "market-spread.containerSecurity" -}}
{{- $realtime := .realtime | default dict }}
{{- $root := and $realtime.enabled (eq $realtime.by "capability") }}
securityContext:
  {{- if $root }}
  runAsNonRoot: false
  runAsUser: 0
  {{- end }}
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
    {{- if $root }}
    add: [SYS_NICE]
    {{- end }}
{{- end }}

{{/* Requests and limits: (pinned, cpu, memory). What is not pinned has no CPU limit: a quota stops a process for tens of ms. */}}
{{- define "market-spread.resources" -}}
resources:
  requests:
    {{- with .cpu }}
    cpu: {{ . | quote }}
    {{- end }}
    memory: {{ .memory }}
  limits:
    {{- if .pinned }}
    cpu: {{ .cpu | quote }}
    {{- end }}
    memory: {{ .memory }}
{{- end }}

{{/* Nodes that it may run on: (root, pool; affinity, pod affinities as text). */}}
{{- define "market-spread.placement" -}}
{{- $values := .root.Values }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | toYaml }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if or .pool .affinity }}
affinity:
  {{- with .pool }}
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            - key: market-spread.io/pool
              operator: In
              values: [{{ . }}]
  {{- end }}
  {{- with .affinity }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}
{{- if or .pool $values.tolerations }}
tolerations:
  {{- with .pool }}
  - key: market-spread.io/pool
    operator: Equal
    value: {{ . }}
    effect: NoSchedule
  {{- end }}
  {{- with $values.tolerations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* On the node of these components of the release: (root, components). A pod that matches itself may be the first. */}}
{{- define "market-spread.sameNode" -}}
podAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "market-spread.selector" (dict "root" .root) | nindent 10 }}
        matchExpressions:
          - key: app.kubernetes.io/component
            operator: In
            values: {{ .components | toJson }}
{{- end }}

{{/* Not on a node that has a pod of the component: (root, component). */}}
{{- define "market-spread.ownNode" -}}
- topologyKey: kubernetes.io/hostname
  labelSelector:
    matchLabels:
      {{- include "market-spread.selector" . | nindent 6 }}
{{- end }}

{{/* Terms, each a text, as a pod's anti-affinity; nothing if there are none. */}}
{{- define "market-spread.antiAffinity" -}}
{{- if . }}
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    {{- range . }}
    {{- . | trim | nindent 4 }}
    {{- end }}
{{- end }}
{{- end }}

{{/* A volume of a kind that the values choose: (name, of the volume; volume, its values; claim, the name of a made one). */}}
{{- define "market-spread.volume" -}}
- name: {{ .name }}
  {{- if eq .volume.kind "emptyDir" }}
  emptyDir:
    sizeLimit: {{ .volume.size }}
  {{- else if eq .volume.kind "hostPath" }}
  hostPath:
    path: {{ .volume.hostPath }}
    type: Directory
  {{- else }}
  persistentVolumeClaim:
    claimName: {{ eq .volume.kind "claim" | ternary .claim .volume.existingClaim | toYaml }}
  {{- end }}
{{- end }}

{{/* The claim of such a volume, if the chart makes it: (root, component, name, volume). */}}
{{- define "market-spread.claim" -}}
{{- if eq .volume.kind "claim" }}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  {{- include "market-spread.metadata" . | nindent 2 }}
  {{- if .volume.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
spec:
  {{- include "market-spread.claimSpec" .volume | nindent 2 }}
{{- end }}
{{- end }}

{{/* What such a claim asks for, of the volume's values. */}}
{{- define "market-spread.claimSpec" -}}
accessModes: [{{ .accessMode }}]
{{- with .storageClass }}
storageClassName: {{ . | toYaml }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end }}

{{/* The volume for what needs a folder to write to: the root file system cannot be written. */}}
{{- define "market-spread.temporary" -}}
- name: temporary
  emptyDir: {}
{{- end }}

{{- define "market-spread.temporaryMount" -}}
- name: temporary
  mountPath: /tmp
{{- end }}

{{/* Probes of a service. A pod that got no exclusive CPUs answers, and is not ready: only readiness asks for its health. */}}
{{- define "market-spread.grpcProbes" -}}
{{- $port := include "market-spread.healthPort" . | int }}
{{- $name := eq $port 50051 | ternary "grpc" "health" }}
startupProbe:
  tcpSocket:
    port: {{ $name }}
  periodSeconds: 2
  failureThreshold: 150
readinessProbe:
  grpc:
    port: {{ $port }}
  periodSeconds: 5
  timeoutSeconds: 3
livenessProbe:
  tcpSocket:
    port: {{ $name }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end }}

{{/* A Service with which each pod has a name of its own: (root, component, ports). Pods are found before they are ready. */}}
{{- define "market-spread.headlessService" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "market-spread.metadata" . | nindent 2 }}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    {{- include "market-spread.selector" . | nindent 4 }}
  ports:
    {{- range $name, $port := .ports }}
    - name: {{ $name }}
      port: {{ $port }}
      targetPort: {{ $name }}
    {{- end }}
{{- end }}
