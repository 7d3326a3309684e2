#!/bin/sh
exec java ${KAFKA_HEAP_OPTS:--Xms512m -Xmx1g} ${KAFKA_JVM_PERFORMANCE_OPTS:--XX:+UseG1GC -XX:MaxGCPauseMillis=20} ${KAFKA_OPTS:-} \
  -cp '/opt/kafka/libs/*' kafka.Kafka "$@"
