import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * Market Spread on Kafka Streams' Processor API: {@code MarketSpread SERVERS THREADS FOLDER APPLICATION}.
 *
 * <p>Quotes and orders of a symbol are in partitions of the same number, so one task reads both and nothing is sent
 * through Kafka a second time. The newest quotes are in a store with a changelog; its cache holds back all but the
 * newest of each symbol until a commit.
 */
public final class MarketSpread {
    static final int QUOTE = 55;
    static final int ORDER = 59;
    static final byte[] NO_QUOTE = "0".repeat(QUOTE).getBytes(StandardCharsets.US_ASCII);
    private static final String STORE = "newest";

    public static void main(String[] arguments) {
        KafkaStreams streams = new KafkaStreams(topology(), settings(arguments));
        streams.setUncaughtExceptionHandler(
                error -> {
                    error.printStackTrace();
                    return StreamThreadExceptionResponse.SHUTDOWN_APPLICATION;
                });
        streams.setStateListener(
                (now, before) -> {
                    if (now == KafkaStreams.State.ERROR) {
                        Runtime.getRuntime().halt(1);
                    }
                });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(5))));
        streams.start();
    }

    static Topology topology() {
        var topology = new Topology();
        var bytes = Serdes.ByteArray();
        var store =
                Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(STORE), Serdes.Bytes(), Serdes.ByteArray())
                        .withCachingEnabled();
        ProcessorSupplier<byte[], byte[], byte[], byte[]> quotes = TakeQuotes::new;
        ProcessorSupplier<byte[], byte[], byte[], byte[]> orders = JudgeOrders::new;
        topology.addSource("nbbo", bytes.deserializer(), bytes.deserializer(), "nbbo");
        topology.addSource("orders", bytes.deserializer(), bytes.deserializer(), "orders");
        topology.addProcessor("take", quotes, "nbbo");
        topology.addProcessor("judge", orders, "orders");
        topology.addStateStore(store, "take", "judge");
        topology.addSink("alerts", "alerts", bytes.serializer(), bytes.serializer(), "judge");
        return topology;
    }

    /** What is not as Kafka Streams has it by default; see docs/peers.md. */
    static Properties settings(String[] arguments) {
        var settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, arguments[1]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[2]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[3]);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "1000");
        settings.put(StreamsConfig.MAX_TASK_IDLE_MS_CONFIG, "-1"); // an order waits for no quote
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "1");
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        settings.put(StreamsConfig.consumerPrefix("max.partition.fetch.bytes"), "8388608");
        settings.put(StreamsConfig.consumerPrefix("group.instance.id"), "1"); // started again, it has its place back
        settings.put(StreamsConfig.producerPrefix("linger.ms"), "0"); // Streams has 100
        return settings;
    }

    static long nowMicros() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000L + now.getNano() / 1_000;
    }

    /** Remembers the newest quote of each symbol. */
    static final class TakeQuotes implements Processor<byte[], byte[], byte[], byte[]> {
        private KeyValueStore<Bytes, byte[]> newest;

        @Override
        public void init(ProcessorContext<byte[], byte[]> context) {
            newest = context.getStateStore(STORE);
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            byte[] frame = record.value();
            for (int at = 0; at + QUOTE <= frame.length; at += QUOTE) {
                newest.put(symbol(frame, at), Arrays.copyOfRange(frame, at, at + QUOTE));
            }
        }
    }

    /** Sends an alert for each order that is rejected on the newest quote of its symbol. */
    static final class JudgeOrders implements Processor<byte[], byte[], byte[], byte[]> {
        private ProcessorContext<byte[], byte[]> context;
        private KeyValueStore<Bytes, byte[]> newest;

        @Override
        public void init(ProcessorContext<byte[], byte[]> context) {
            this.context = context;
            newest = context.getStateStore(STORE);
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            long readMicros = nowMicros();
            byte[] frame = record.value();
            for (int at = 0; at + ORDER <= frame.length; at += ORDER) {
                byte[] quote = newest.get(symbol(frame, at));
                quote = quote == null ? NO_QUOTE : quote;
                if (tooWide(number(quote, 7, 10), number(quote, 17, 10))) {
                    byte[] orderId = Arrays.copyOfRange(frame, at + 14, at + 24);
                    byte[] sent = sent(record);
                    context.forward(record.withKey(orderId).withValue(alert(frame, at, quote, sent, readMicros)));
                }
            }
        }
    }

    static boolean tooWide(long bid, long offer) {
        long spread = offer - bid;
        return spread >= 500 || 40 * spread >= bid + offer;
    }

    /** The fields of order and quote in the alert's order, and the three times. */
    static byte[] alert(byte[] frame, int at, byte[] quote, byte[] sent, long readMicros) {
        var alert = new byte[160];
        alert[0] = 'A';
        int end = 1;
        end = put(alert, end, frame, at + 14, 10);
        end = put(alert, end, frame, at + 1, 13);
        end = put(alert, end, frame, at + 24, 19);
        end = put(alert, end, quote, 7, 20);
        end = put(alert, end, quote, 43, 12);
        end = put(alert, end, frame, at + 43, 16);
        Arrays.fill(alert, end, end + 16 - sent.length, (byte) '0');
        put(alert, end + 16 - sent.length, sent, 0, sent.length);
        end = putNumber(alert, end + 16, readMicros);
        end = putNumber(alert, end, nowMicros());
        return Arrays.copyOf(alert, end);
    }

    private static Bytes symbol(byte[] frame, int at) {
        return Bytes.wrap(Arrays.copyOfRange(frame, at + 1, at + 7));
    }

    private static long number(byte[] text, int from, int width) {
        boolean negative = text[from] == '-';
        long value = 0;
        for (int i = negative ? from + 1 : from; i < from + width; i++) {
            value = 10 * value + (text[i] - '0');
        }
        return negative ? -value : value;
    }

    private static byte[] sent(Record<byte[], byte[]> record) {
        Header header = record.headers().lastHeader("sent_us");
        return header.value();
    }

    private static int put(byte[] into, int end, byte[] from, int at, int width) {
        System.arraycopy(from, at, into, end, width);
        return end + width;
    }

    private static int putNumber(byte[] into, int end, long number) {
        for (int i = end + 15; i >= end; i--, number /= 10) {
            into[i] = (byte) ('0' + number % 10);
        }
        return end + 16;
    }
}
