import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The floor: Market Spread with Kafka's own clients and a map, on one thread, without a framework. {@code PlainConsumer
 * SERVERS PARTITIONS STATE_FILE GROUP COMMIT_MS}.
 */
public final class PlainConsumer {
    private final Map<String, byte[]> newest = new HashMap<>();
    private final Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    private final Path state;
    private final KafkaProducer<byte[], byte[]> producer;
    private volatile Exception refused;

    private PlainConsumer(String servers, Path state) {
        this.state = state;
        producer =
                new KafkaProducer<>(
                        Map.of("bootstrap.servers", servers, "linger.ms", "0"),
                        new ByteArraySerializer(),
                        new ByteArraySerializer());
    }

    public static void main(String[] arguments) throws Exception {
        var places = new ArrayList<TopicPartition>();
        for (int number = 0; number < Integer.parseInt(arguments[1]); number++) {
            places.add(new TopicPartition("nbbo", number));
            places.add(new TopicPartition("orders", number));
        }
        Map<String, Object> settings =
                Map.of(
                        "bootstrap.servers", arguments[0],
                        "group.id", arguments[3],
                        "enable.auto.commit", "false",
                        "max.partition.fetch.bytes", "8388608");
        var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        new PlainConsumer(arguments[0], Path.of(arguments[2])).run(consumer, places, Long.parseLong(arguments[4]));
    }

    /** Does not end. */
    private void run(KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> places, long commitMs)
            throws Exception {
        restore();
        consumer.assign(places);
        for (TopicPartition place : places) {
            consumer.seek(place, offsets.getOrDefault(place, new OffsetAndMetadata(0)));
        }
        long due = nowMs() + commitMs;
        while (true) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(Math.max(0, due - nowMs())));
            for (ConsumerRecord<byte[], byte[]> record : records) {
                process(record);
            }
            offsets.putAll(records.nextOffsets());
            if (nowMs() >= due) {
                commit(consumer);
                due = nowMs() + commitMs;
            }
        }
    }

    private void process(ConsumerRecord<byte[], byte[]> record) {
        byte[] frame = record.value();
        if (record.topic().equals("nbbo")) {
            for (int at = 0; at + Rule.QUOTE <= frame.length; at += Rule.QUOTE) {
                String symbol = Rule.symbol(frame, at);
                if (Rule.isNewer(frame, at, newest.get(symbol))) {
                    newest.put(symbol, Rule.quote(frame, at));
                }
            }
            return;
        }
        byte[] times = Rule.times(record.headers().lastHeader("sent_us").value());
        for (int at = 0; at + Rule.ORDER <= frame.length; at += Rule.ORDER) {
            byte[] alert = Rule.alert(frame, at, newest.get(Rule.symbol(frame, at)), times, 0);
            if (alert != null) {
                producer.send(
                        new ProducerRecord<>("alerts", Rule.orderId(alert), alert),
                        (acknowledged, error) -> {
                            if (error != null) {
                                refused = error;
                            }
                        });
            }
        }
    }

    /** Only after the alerts are acknowledged, what led to them: a kill at any time loses none. */
    private void commit(KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        producer.flush();
        if (refused != null) {
            throw refused;
        }
        save();
        consumer.commitSync(offsets);
    }

    /** Quotes and offsets in one file, which is there whole or not at all. Nothing is forced to the disk. */
    private void save() throws IOException {
        Path unfinished = state.resolveSibling(state.getFileName() + ".new");
        try (var file = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(unfinished)))) {
            file.writeInt(newest.size());
            for (byte[] quote : newest.values()) {
                file.write(quote);
            }
            file.writeInt(offsets.size());
            for (Map.Entry<TopicPartition, OffsetAndMetadata> entry : offsets.entrySet()) {
                file.writeUTF(entry.getKey().topic());
                file.writeInt(entry.getKey().partition());
                file.writeLong(entry.getValue().offset());
            }
        }
        Files.move(unfinished, state, StandardCopyOption.ATOMIC_MOVE);
    }

    private void restore() throws IOException {
        if (!Files.exists(state)) {
            return;
        }
        try (var file = new DataInputStream(Files.newInputStream(state))) {
            for (int left = file.readInt(); left > 0; left--) {
                byte[] quote = file.readNBytes(Rule.QUOTE);
                newest.put(Rule.symbol(quote, 0), quote);
            }
            for (int left = file.readInt(); left > 0; left--) {
                var place = new TopicPartition(file.readUTF(), file.readInt());
                offsets.put(place, new OffsetAndMetadata(file.readLong()));
            }
        }
    }

    private static long nowMs() {
        return System.nanoTime() / 1_000_000;
    }
}
