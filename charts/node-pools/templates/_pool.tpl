{{- define "node-pools.labels" -}}
app.kubernetes.io/name: node-pools
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The kubelet's settings: exclusive CPUs and memory of one NUMA node for each pod, and one core of each for the system. */}}
{{- define "node-pools.kubelet" -}}
{{- $kubelet := .Values.kubelet }}
{{- $reserved := $kubelet.reservedMemory }}
{{- $numaNodes := int .Values.instance.numaNodes }}
{{- $sum := add $reserved.kubeMi $reserved.systemMi $reserved.evictionMi | int }}
cpuManagerPolicy: static
cpuManagerPolicyOptions:
  full-pcpus-only: "true"
  {{- if $kubelet.strictCpuReservation }}
  strict-cpu-reservation: "true"
  {{- end }}
cpuManagerReconcilePeriod: 5s
reservedSystemCPUs: {{ .Values.instance.reservedCpus | quote }}
topologyManagerPolicy: single-numa-node
topologyManagerScope: pod
memoryManagerPolicy: Static
# The memory manager wants what is reserved on the NUMA nodes to be exactly what is reserved in all.
reservedMemory:
  {{- range $node := until $numaNodes }}
  - numaNode: {{ $node }}
    limits:
      memory: {{ add (div $sum $numaNodes) (eq $node 0 | ternary (mod $sum $numaNodes) 0) }}Mi
  {{- end }}
kubeReserved:
  memory: {{ $reserved.kubeMi }}Mi
systemReserved:
  memory: {{ $reserved.systemMi }}Mi
evictionHard:
  memory.available: {{ $reserved.evictionMi }}Mi
  nodefs.available: 10%
  nodefs.inodesFree: 5%
  imagefs.available: 15%
maxPods: {{ $kubelet.maxPods }}
{{- end }}

{{/* User data, in parts: a script that runs before the kubelet does, and for real-time priorities the container runtime's limit. */}}
{{- define "node-pools.userData" -}}
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="market-spread"

--market-spread
Content-Type: text/x-shellscript; charset="us-ascii"

{{ .Files.Get "files/before-kubelet.sh" | trim }}

{{- with .realtimePriorityMax }}

--market-spread
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  containerd:
    baseRuntimeSpec:
      process:
        rlimits:
          - {type: RLIMIT_NOFILE, soft: 65536, hard: 1048576}
          - {type: RLIMIT_RTPRIO, soft: {{ . }}, hard: {{ . }}}
{{- end }}

--market-spread--
{{- end }}

{{/* What cannot work is refused: a sentence for each, with the value and the remedy. */}}
{{- define "node-pools.checks" -}}
{{- $problems := list }}
{{- $instance := .Values.instance }}
{{- $kubelet := .Values.kubelet }}
{{- $reserved := splitList "," $instance.reservedCpus }}
{{- $left := sub $instance.cores (len $reserved) | int }}
{{- if not .Values.cluster.name }}
{{- $problems = append $problems "cluster.name is empty; set it to the EKS cluster's name" }}
{{- end }}
{{- if not .Values.cluster.role }}
{{- $problems = append $problems "cluster.role is empty; set it to the IAM role of Karpenter's nodes" }}
{{- end }}
{{- range $reserved }}
{{- if ge (int .) (int $instance.cores) }}
{{- $problems = append $problems (printf "instance.reservedCpus=%s names CPU %s, and with SMT off there are %d from 0; correct it" $instance.reservedCpus . (int $instance.cores)) }}
{{- end }}
{{- end }}
{{- if mod (len $reserved) $instance.numaNodes }}
{{- $problems = append $problems (printf "instance.reservedCpus=%s are not spread evenly over %d NUMA nodes; reserve as many on each" $instance.reservedCpus (int $instance.numaNodes)) }}
{{- end }}
{{- if gt (int $kubelet.pinnedCpus) $left }}
{{- $problems = append $problems (printf "kubelet.pinnedCpus=%d, and %d of %d cores are left after instance.reservedCpus=%s; use fewer" (int $kubelet.pinnedCpus) $left (int $instance.cores) $instance.reservedCpus) }}
{{- else if and $kubelet.strictCpuReservation (eq (int $kubelet.pinnedCpus) $left) }}
{{- $problems = append $problems (printf "kubelet.strictCpuReservation=true with kubelet.pinnedCpus=%d, all CPUs that are left: the kubelet would not start again (\"default cpuset cannot be empty\"); keep one unallocated, or use false" (int $kubelet.pinnedCpus)) }}
{{- else if eq (int $kubelet.pinnedCpus) $left }}
{{- $problems = append $problems (printf "kubelet.pinnedCpus=%d leaves nothing for the requests of DaemonSets; use %d at most" (int $kubelet.pinnedCpus) (sub $left 1)) }}
{{- end }}
{{- if and $instance.placementGroup (not $instance.zone) }}
{{- $problems = append $problems (printf "instance.placementGroup=%s with no instance.zone; name the zone that it is in" $instance.placementGroup) }}
{{- end }}
{{- if $problems }}
{{- fail (printf "\n%s" (join "\n" $problems)) }}
{{- end }}
{{- end }}
