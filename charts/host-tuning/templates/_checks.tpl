{{/* What cannot work together is refused before anything is installed. */}}
{{- define "host-tuning.checks" -}}
{{- $problems := list }}
{{- $profile := .Values.profile }}
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
