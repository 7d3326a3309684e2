{{/* What the chart says of the broker; `kafka.properties` may say anything else. */}}
{{- define "market-spread.kafkaOwn" -}}
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://0.0.0.0:9092,CONTROLLER://127.0.0.1:9093
advertised.listeners=PLAINTEXT://{{ include "market-spread.bootstrapServers" . }}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=/var/lib/kafka/data
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
message.max.bytes=8388608
replica.fetch.max.bytes=8388608
log.segment.bytes=268435456
log.retention.hours={{ .Values.kafka.retentionHours }}
{{- end }}

{{- define "market-spread.kafkaFiles" -}}
server.properties: |
  {{- include "market-spread.kafkaOwn" . | trim | nindent 2 }}
  {{- range $name, $value := .Values.kafka.properties }}
  {{- /* A template would write 1048576 as 1.048576e+06. */}}
  {{ $name }}={{ if kindIs "float64" $value }}{{ regexReplaceAll "[.]?0*$" (printf "%.6f" $value) "" }}{{ else }}{{ $value }}{{ end }}
  {{- end }}
log4j2.xml: |
  <?xml version="1.0" encoding="UTF-8"?>
  <Configuration status="ERROR">
    <Appenders><Console name="log"><PatternLayout pattern="%d %p %m (%c)%n"/></Console></Appenders>
    <Loggers><Root level="WARN"><AppenderRef ref="log"/></Root></Loggers>
  </Configuration>
{{- if .Values.kafka.metrics.agentJar }}
metrics.yaml: |
  {{- .Files.Get "files/kafka_metrics.yaml" | nindent 2 }}
{{- end }}
{{- end }}
