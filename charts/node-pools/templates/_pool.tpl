{{- define "node-pools.labels" -}}
app.kubernetes.io/name: node-pools
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/*
What Karpenter itself must know of the kubelet: how many pods a node has, and how much of its memory is not theirs. Releases before
1.15 drop any other field, so the others are in the user data, which all take.
*/}}
{{- define "node-pools.kubelet" -}}
{{- $reserved := .Values.kubelet.reservedMemory }}
kubeReserved:
  memory: {{ $reserved.kubeMi }}Mi
systemReserved:
  memory: {{ $reserved.systemMi }}Mi
evictionHard:
  memory.available: {{ $reserved.evictionMi }}Mi
  nodefs.available: 10%
  nodefs.inodesFree: 5%
  imagefs.available: 15%
{{- end }}

{{/* The kubelet's whole settings: exclusive CPUs and memory of one NUMA node for each pod, and one core of each for the system. */}}
{{- define "node-pools.kubeletConfig" -}}
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
# The machine image names cgroups here, with which the kubelet refuses reservedSystemCPUs and does not start.
kubeReservedCgroup: ""
systemReservedCgroup: ""
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
{{ include "node-pools.kubelet" . | trim }}
{{- end }}

{{/* User data: a script that runs before the kubelet does, the kubelet's settings, and the container runtime's limit of priorities. */}}
{{- define "node-pools.userData" -}}
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="market-spread"

--market-spread
Content-Type: text/x-shellscript; charset="us-ascii"

{{ .Files.Get "files/before-kubelet.sh" | trim }}

--market-spread
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config:
      {{- include "node-pools.kubeletConfig" . | trim | nindent 6 }}
{{- with .realtimePriorityMax }}
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
{{- $problems = concat $problems (include "node-pools.checks.instance" . | fromYamlArray) }}
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

{{/* The type and what is said of it, the reserved CPUs and memory, pools and tags. */}}
{{- define "node-pools.checks.instance" -}}
{{- $instance := .Values.instance }}
{{- $cores := int $instance.cores }}
{{- $numaNodes := int $instance.numaNodes }}
{{- $known := .Files.Get "files/instances.yaml" | fromYaml }}
{{- $size := regexFind "[.](.+)$" $instance.type | trimPrefix "." }}
{{- $graviton := regexMatch "^([a-z]+[0-9]+g[a-z]*|a1)[.]" $instance.type }}
{{- $families := .Files.Get "files/families.yaml" | fromYaml }}
{{- $family := splitList "." $instance.type | first }}
{{- if hasPrefix "mac" $family }}
- {{ printf "instance.type=%s is a machine of Apple's, and the pools are of Linux; use another" $instance.type | quote }}
{{- else if and (hasKey $families $family) (not (has $size (get $families $family))) }}
- {{ printf "instance.type=%s: EC2 has %s as %s alone; use one of them" $instance.type $family (get $families $family | join ", ") | quote }}
{{- else if $graviton }}
- {{ printf "instance.type=%s is an arm64 machine, and the pools are of amd64 with SMT; use another" $instance.type | quote }}
{{- else if hasKey $known $instance.type }}
{{- $is := get $known $instance.type }}
{{- range $index, $name := list "cores" "numaNodes" "memoryGi" }}
{{- $said := eq $name "memoryGi" | ternary ($instance.memoryGi | default 60) (index $instance $name) | int }}
{{- if ne $said (index $is $index | int) }}
- {{ printf "instance.type=%s with instance.%s=%d; it has %d, so the kubelet would not start or would not give all of it" $instance.type $name $said (index $is $index | int) | quote }}
{{- end }}
{{- end }}
{{- else if regexMatch "^[0-9]*xlarge$" $size }}
{{- $times := trimSuffix "xlarge" $size | default "1" | int }}
{{- if not (has $cores (list (mul 2 $times | int) (mul 4 $times | int))) }}
- {{ printf "instance.type=%s with instance.cores=%d; an %s has %d cores, or %d if it has no SMT" $instance.type $cores $size (mul 2 $times) (mul 4 $times) | quote }}
{{- end }}
{{- end }}
{{- if eq $instance.capacityType "reserved" }}
- "instance.capacityType=reserved: the node classes select no reservation, so no node would come; use on-demand, which takes open reservations first"
{{- end }}
{{- if mod $cores $numaNodes }}
- {{ printf "instance.cores=%d are not spread evenly over instance.numaNodes=%d; correct them" $cores $numaNodes | quote }}
{{- else }}
{{- $each := div $cores $numaNodes | int }}
{{- $on := dict }}
{{- $reserved := splitList "," $instance.reservedCpus }}
{{- range $reserved }}{{ $node := div (int .) $each | toString }}{{ $_ := set $on $node (add 1 (get $on $node | default 0) | int) }}{{ end }}
{{- range until $numaNodes }}
{{- if ne (mul $numaNodes (get $on (toString .) | default 0)) (len $reserved) }}
- {{ printf "instance.reservedCpus=%s has %d of NUMA node %d, whose CPUs are %d-%d; reserve as many of each" $instance.reservedCpus (get $on (toString .) | default 0 | int) . (mul . $each) (sub (mul (add1 .) $each) 1) | quote }}
{{- end }}
{{- end }}
{{- if ne (len $reserved) (uniq $reserved | len) }}
- {{ printf "instance.reservedCpus=%s names a CPU twice; name each once" $instance.reservedCpus | quote }}
{{- end }}
{{- end }}
{{- $reserved := .Values.kubelet.reservedMemory }}
{{- $memoryMi := mul 1024 ($instance.memoryGi | default 60) }}
{{- range $name, $mi := $reserved }}
{{- if gt (mul 4 $mi) $memoryMi }}
- {{ printf "kubelet.reservedMemory.%s=%d is more than a quarter of instance.memoryGi=%d; use less" $name (int $mi) (int ($instance.memoryGi | default 60)) | quote }}
{{- end }}
{{- end }}
{{- $on := 0 }}
{{- range $name, $pool := .Values.pools }}{{ if $pool.enabled }}{{ $on = add1 $on }}{{ end }}{{ end }}
{{- if not $on }}
- "pools has none enabled, so there is nothing to install; enable one, by pools.engine.enabled, pools.broker.enabled or pools.load.enabled"
{{- end }}
{{- range $tag, $value := .Values.tags }}
{{- if regexMatch "^((?i:aws):.*|eks:eks-cluster-name|kubernetes[.]io/cluster.*|karpenter[.]sh/(nodepool|nodeclaim)|karpenter[.]k8s[.]aws/ec2nodeclass|market-spread[.]io/pool)$" $tag }}
- {{ printf "tags has %s=%s, which EC2, Karpenter or the chart sets; leave it out" $tag $value | quote }}
{{- end }}
{{- end }}
{{- if and (.Capabilities.APIVersions.Has "karpenter.sh/v1beta1") (not (.Capabilities.APIVersions.Has "karpenter.sh/v1")) }}
- "the cluster has karpenter.sh/v1beta1 and not v1: its Karpenter is older than 1.11, the oldest that counts nodes in limits; update it"
{{- end }}
{{- end }}
