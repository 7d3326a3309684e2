import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
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
 * Market Spread on Kafka Streams' Processor API: {@code MarketSpread SERVERS THREADS FOLDER APPLICATION
 * COMMIT_MS}.
 *
 * <p>Quotes and orders of a symbol are in partitions of the same number, so one task reads both and nothing is sent
 * through Kafka a second time. The newest quotes are in a store with a changelog; its cache holds back all but the
 * newest of each symbol until a commit.
 */
public final class MarketSpread {
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
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, arguments[4]);
        settings.put(StreamsConfig.MAX_TASK_IDLE_MS_CONFIG, "-1"); // an order waits for no quote
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "1");
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        settings.put(StreamsConfig.consumerPrefix("max.partition.fetch.bytes"), "8388608");
        settings.put(StreamsConfig.consumerPrefix("group.instance.id"), "1"); // started again, it has its place back
        settings.put(StreamsConfig.producerPrefix("linger.ms"), "0"); // Streams has 100
        return settings;
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
            for (int at = 0; at + Rule.QUOTE <= frame.length; at += Rule.QUOTE) {
                Bytes symbol = symbol(frame, at);
                if (Rule.isNewer(frame, at, newest.get(symbol))) {
                    newest.put(symbol, Rule.quote(frame, at));
                }
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
            byte[] frame = record.value();
            byte[] times = Rule.times(record.headers().lastHeader("sent_us").value());
            for (int at = 0; at + Rule.ORDER <= frame.length; at += Rule.ORDER) {
                byte[] alert = Rule.alert(frame, at, newest.get(symbol(frame, at)), times, 0);
                if (alert != null) {
                    context.forward(record.withKey(Rule.orderId(alert)).withValue(alert));
                }
            }
        }
    }

    private static Bytes symbol(byte[] frame, int at) {
        return Bytes.wrap(Arrays.copyOfRange(frame, at + 1, at + 7));
    }
}
