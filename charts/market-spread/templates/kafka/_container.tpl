{{/* What Kafka's own start scripts read. Their defaults write logs beside the program, where nothing can be written. */}}
{{- define "market-spread.kafkaJava" -}}
- name: KAFKA_HEAP_OPTS
  value: -Xms{{ .heap }} -Xmx{{ .heap }}
- name: KAFKA_LOG4J_OPTS
  value: -Dlog4j2.configurationFile=/etc/kafka/log4j2.xml
- name: EXTRA_ARGS
  value: -name kafkaServer
- name: LOG_DIR
  value: /tmp/logs
{{- end }}

{{- define "market-spread.kafkaBrokerMounts" -}}
{{ include "market-spread.temporaryMount" . }}
- name: files
  mountPath: /etc/kafka
  readOnly: true
- name: data
  mountPath: /var/lib/kafka
{{- end }}

{{/* Probes of the broker: (pinned, cpu). A pinned one has not started, and so is not ready, before its CPUs are its own. */}}
{{- define "market-spread.kafkaProbes" -}}
{{- if .pinned }}
startupProbe:
  exec:
    command:
      - sh
      - -c
      - |
        if [ "$(nproc)" -eq {{ .cpu }} ] && [ "$(nproc)" -lt "$(nproc --all)" ]; then exit 0; fi
        echo "this broker may run on $(nproc) of $(nproc --all) CPUs and needs {{ .cpu }} of its own;" \
          "does the kubelet have the static CPU manager?"
        exit 1
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 1000000
{{- else }}
startupProbe:
  tcpSocket:
    port: kafka
  periodSeconds: 2
  failureThreshold: 150
{{- end }}
readinessProbe:
  tcpSocket:
    port: kafka
  periodSeconds: 5
livenessProbe:
  tcpSocket:
    port: kafka
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 12
{{- end }}
