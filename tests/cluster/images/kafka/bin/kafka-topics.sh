#!/bin/sh
exec java ${KAFKA_HEAP_OPTS:--Xmx256m} -cp '/opt/kafka/libs/*' org.apache.kafka.tools.TopicCommand "$@"
