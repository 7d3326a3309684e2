{{/* What cannot work together is refused before anything is installed. */}}
{{- define "host-tuning.checks" -}}
{{- $problems := list }}
{{- $profile := include "host-tuning.profile" . | fromYaml }}
{{- $problems = concat $problems (include "host-tuning.checks.sysctls" . | fromYamlArray) (include "host-tuning.checks.host" . | fromYamlArray) }}
{{- if not .Values.image }}
{{- $problems = append $problems "image=\"\" names no registry, and from a public one anyone could supply a tuner that runs as root; name the image, such as registry.example.com/team/market-spread/host-tuner:0.1.0" }}
{{- end }}
{{- range .Values.pools }}{{ else }}
{{- $problems = append $problems "pools=[] tunes no node; name one at least, as node labels market-spread.io/pool do" }}
{{- end }}
{{- if and (dig "apply" "turbo" "unset" $profile | toString | eq "true") (dig "verify" "frequency_mhz" 0 $profile) }}
{{- $problems = append $problems "profile.apply.turbo=true and profile.verify.frequency_mhz: with turbo there is no one frequency; leave one of them out" }}
{{- end }}
{{- range $name, $_ := dig "verify" "sysctls" dict $profile }}
{{- if hasKey (dig "apply" "sysctls" dict $profile) $name }}
{{- $problems = append $problems (printf "%s stands in profile.apply.sysctls and in profile.verify.sysctls; use one of the two" $name) }}
{{- end }}
{{- if hasPrefix "net." $name }}
{{- $problems = append $problems (printf "profile.verify.sysctls.%s is one of a network namespace, which the tuner can set; move it to profile.apply.sysctls" $name) }}
{{- end }}
{{- end }}
{{- if $problems }}
{{- fail (printf "\n%s" (join "\n" $problems)) }}
{{- end }}
{{- end }}

{{- define "host-tuning.checks.sysctls" -}}
{{- $profile := include "host-tuning.profile" . | fromYaml }}
{{- $written := dig "apply" "sysctls" dict $profile }}
{{- range list (list "vm.dirty_ratio" "vm.dirty_bytes") (list "vm.dirty_background_ratio" "vm.dirty_background_bytes") (list "vm.overcommit_ratio" "vm.overcommit_kbytes") }}
{{- if and (hasKey $written (first .)) (hasKey $written (last .)) }}
- {{ printf "profile.apply.sysctls has %s and %s: the kernel sets one to 0 when the other is written, so the tuner would write them for ever; leave one of them out" (first .) (last .) | quote }}
{{- end }}
{{- end }}
{{- /* Some make no sense beside another's value: (parameter, its lowest wrong value; the other, its highest wrong value). */}}
{{- range list (list "vm.dirty_background_ratio" "vm.dirty_ratio" false) (list "vm.dirty_background_bytes" "vm.dirty_bytes" false) (list "kernel.sched_rt_runtime_us" "kernel.sched_rt_period_us" true) (list "kernel.sched_util_clamp_min" "kernel.sched_util_clamp_max" true) }}
{{- $less := get $written (first .) }}
{{- $more := get $written (index . 1) }}
{{- if and (kindIs "float64" $less) (kindIs "float64" $more) (ternary (gt (float64 $less) (float64 $more)) (ge (float64 $less) (float64 $more)) (last .)) }}
- {{ printf "profile.apply.sysctls has %s=%.0f and %s=%.0f: the kernel takes %s %s; correct one of them" (first .) $less (index . 1) $more (first .) (last . | ternary "up to the other alone" "below the other alone") | quote }}
{{- end }}
{{- end }}
{{- $watchdog := get $written "kernel.watchdog" }}
{{- range list "kernel.nmi_watchdog" "kernel.soft_watchdog" }}
{{- if and (eq (toString $watchdog) "0") (eq (get $written . | toString) "1") }}
- {{ printf "profile.apply.sysctls has kernel.watchdog=0 and %s=1: the first switches both watchdogs off, so the tuner would write them for ever; leave one of them out" . | quote }}
{{- end }}
{{- end }}
{{- if and (eq (toString $watchdog) "1") (eq (get $written "kernel.nmi_watchdog" | toString) "0") (eq (get $written "kernel.soft_watchdog" | toString) "0") }}
- "profile.apply.sysctls has kernel.watchdog=1, kernel.nmi_watchdog=0 and kernel.soft_watchdog=0: it is 1 only if one of the two is, so the tuner would write it for ever; leave it out"
{{- end }}
{{- $known := .Files.Get "files/sysctls.yaml" | fromYaml }}
{{- range $part := list "apply" "verify" }}
{{- range $name, $value := dig $part "sysctls" dict $profile }}
{{- $wanted := kindIs "map" $value | ternary (get (kindIs "map" $value | ternary $value dict) "at_most") $value }}
{{- /* Every network interface has the same parameters. */}}
{{- $entry := regexReplaceAll "^(net[.]ipv[46][.](conf|neigh)[.])[a-z0-9_]+[.]" $name "${1}INTERFACE." }}
{{- if not (hasKey $known $entry) }}
- {{ printf "profile.%s.sysctls.%s=%v: it is no kernel parameter that can be put back (files/sysctls.yaml has those); correct it or leave it out" $part $name $wanted | quote }}
{{- else }}
{{- $range := get $known $entry }}
{{- if or (lt (float64 $wanted) (float64 (first $range))) (gt (float64 $wanted) (float64 (last $range))) }}
- {{ printf "profile.%s.sysctls.%s=%.0f; the kernel takes %.0f to %.0f" $part $name (float64 $wanted) (float64 (first $range)) (float64 (last $range)) | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The release's name, image, CPUs, folders and tolerations. */}}
{{- define "host-tuning.checks.host" -}}
{{- /* The removal's Job has a name that becomes a label, of 63 characters at most; it is made when the release goes. */}}
{{- $full := include "host-tuning.fullname" . }}
{{- if gt (len $full) 55 }}
- {{ printf "the release's full name %s has %d characters, and names made of it would be too long; use a shorter release name, so that the full one has 55 at most" $full (len $full) | quote }}
{{- end }}
{{- if hasSuffix ":latest" .Values.image }}
- {{ printf "image=%s is another image tomorrow; name a version or a digest" .Values.image | quote }}
{{- end }}
{{- $seen := dict }}
{{- range splitList "," .Values.profile.housekeeping_cpus }}
{{- $ends := splitList "-" . }}
{{- if gt (first $ends | int) (last $ends | int) }}
- {{ printf "profile.housekeeping_cpus=%s has %s, which ends before it begins; turn it round" $.Values.profile.housekeeping_cpus . | quote }}
{{- else }}
{{- range untilStep (first $ends | int) (last $ends | int | add1 | int) 1 }}
{{- if hasKey $seen (toString .) }}
- {{ printf "profile.housekeeping_cpus=%s names CPU %d twice; name each once" $.Values.profile.housekeeping_cpus . | quote }}
{{- end }}
{{- $_ := set $seen (toString .) true }}
{{- end }}
{{- end }}
{{- end }}
{{- $state := .Values.stateFolder }}
{{- if regexMatch "^/((etc|proc|sys|dev|boot|bin|sbin|lib|lib32|lib64|usr|root|var/run)(/.*)?|(home|mnt|media|opt|srv|run|var|var/lib|var/log)|(tmp|var/tmp)(/.*)?|var/(lib/(kubelet|containerd|docker|etcd|cni|rancher)|log/(pods|containers))(/.*)?)$" $state }}
- {{ printf "stateFolder=%s is a folder of the node's own system, or one that it clears; use one for the tuner alone, such as /var/lib/market-spread/host-tuner" $state | quote }}
{{- end }}
{{- $kubelet := .Values.kubeletFolder }}
{{- if regexMatch "^/((etc|proc|sys|dev|boot|bin|sbin|lib|lib64|usr|tmp|home|root|run|mnt|srv|opt|var|var/(lib|run|log|tmp))|(etc|proc|sys|dev|boot)/.*|var/lib/(containerd|docker|etcd|cni)(/.*)?|.*/pod-resources(/.*)?)$" $kubelet }}
- {{ printf "kubeletFolder=%s is not where a kubelet keeps its state; name its --root-dir, mostly /var/lib/kubelet" $kubelet | quote }}
{{- end }}
{{- if or (eq $state $kubelet) (hasPrefix (printf "%s/" $kubelet) $state) }}
- {{ printf "stateFolder=%s is within kubeletFolder=%s, which a node may clear; use another" $state $kubelet | quote }}
{{- end }}
{{- if and (hasSuffix "Mi" .Values.resources.memory) (lt (trimSuffix "Mi" .Values.resources.memory | int) 64) }}
- {{ printf "resources.memory=%s, and the tuner needs 64Mi; use more" .Values.resources.memory | quote }}
{{- end }}
{{- range .Values.tolerations }}
{{- $exists := eq (.operator | default "Equal") "Exists" }}
{{- if and (not .key) (not $exists) }}
- {{ printf "tolerations has %s, without a key: only operator Exists tolerates all of them; name the key" (toJson .) | quote }}
{{- end }}
{{- if and .value $exists }}
- {{ printf "tolerations has %s: operator Exists takes no value; leave it out, or use Equal" (toJson .) | quote }}
{{- end }}
{{- if and (hasKey . "tolerationSeconds") (ne (.effect | default "") "NoExecute") }}
- {{ printf "tolerations has %s: tolerationSeconds are of the effect NoExecute alone; leave them out, or name that effect" (toJson .) | quote }}
{{- end }}
{{- end }}
{{- $pool := get (.Values.nodeSelector | default dict) "market-spread.io/pool" }}
{{- if and $pool (not (has $pool .Values.pools)) }}
- {{ printf "nodeSelector has market-spread.io/pool=%s, which is none of pools=%s; correct one of them" $pool (join "," .Values.pools) | quote }}
{{- end }}
{{- range $label, $value := .Values.nodeSelector }}
{{- if and (regexMatch "^(beta[.])?kubernetes[.]io/os$" $label) (ne $value "linux") }}
- {{ printf "nodeSelector has %s=%s, and the tuner is of linux; leave it out" $label $value | quote }}
{{- else if and (regexMatch "^(beta[.])?kubernetes[.]io/arch$" $label) (not (has $value (list "amd64" "arm64" "ppc64le" "s390x" "riscv64"))) }}
- {{ printf "nodeSelector has %s=%s, as Kubernetes calls no machine; use amd64 for x86_64, or arm64 for aarch64" $label $value | quote }}
{{- end }}
{{- end }}
{{- $class := .Values.priorityClassName }}
{{- if and (hasPrefix "system-" $class) (not (has $class (list "system-node-critical" "system-cluster-critical"))) }}
- {{ printf "priorityClassName=%s: names that begin with system- are Kubernetes's own, system-node-critical and system-cluster-critical; use another" $class | quote }}
{{- end }}
{{- range $label, $value := .Values.podMonitor.labels }}
{{- if regexMatch "^(app[.]kubernetes[.]io/.*|helm[.]sh/chart)$" $label }}
- {{ printf "podMonitor.labels has %s=%s, which the chart sets itself; leave it out" $label $value | quote }}
{{- end }}
{{- end }}
{{- end }}
