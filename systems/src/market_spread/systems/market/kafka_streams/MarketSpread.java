import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
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
 * The system under test, on Kafka Streams; put yours in its place. It alerts on orders in too wide a market.
 *
 * <p>Java compiles it as it starts. Its application id is the group, in which Streams commits what it has done.
 */
public final class MarketSpread {
    private static final long LIMIT = 500; // 1/10,000 dollar
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        Map<String, String> given = System.getenv();
        var settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, given.get("MARKET_SPREAD_BOOTSTRAP_SERVERS"));
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, given.get("MARKET_SPREAD_GROUP"));
        var state = Files.createTempDirectory("streams-");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "500");
        settings.put(StreamsConfig.producerPrefix("linger.ms"), "0"); // Streams has 100
        String[] inputs = given.get("MARKET_SPREAD_INPUT").split(",");
        var streams = new KafkaStreams(topology(inputs, given.get("MARKET_SPREAD_OUTPUT")), settings);
        streams.setUncaughtExceptionHandler(
                error -> {
                    error.printStackTrace();
                    Runtime.getRuntime().halt(1);
                    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
                });
        Runtime.getRuntime()
                .addShutdownHook(
                        new Thread(
                                () -> {
                                    streams.close(Duration.ofSeconds(3));
                                    streams.cleanUp();
                                    state.toFile().delete();
                                }));
        streams.start();
    }

    /** Quotes and orders of a symbol are in partitions of the same number, so one task has both. */
    private static Topology topology(String[] inputs, String output) {
        var topology = new Topology();
        ProcessorSupplier<String, byte[], String, byte[]> judge = Judge::new;
        var store =
                Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("newest"), Serdes.String(), Serdes.ByteArray());
        var key = Serdes.String();
        var value = Serdes.ByteArray();
        topology.addSource("messages", key.deserializer(), value.deserializer(), inputs);
        topology.addProcessor("judge", judge, "messages");
        topology.addStateStore(store, "judge");
        topology.addSink("alerts", output, key.serializer(), value.serializer(), "judge");
        return topology;
    }

    /** Keeps the newest quote of each symbol, and alerts on the orders that it rejects. */
    private static final class Judge implements Processor<String, byte[], String, byte[]> {
        private ProcessorContext<String, byte[]> context;
        private KeyValueStore<String, byte[]> newest;

        @Override
        public void init(ProcessorContext<String, byte[]> context) {
            this.context = context;
            newest = context.getStateStore("newest");
        }

        @Override
        public void process(Record<String, byte[]> record) {
            try {
                JsonNode said = JSON.readTree(record.value());
                if (said.has("bid")) {
                    newest.put(record.key(), record.value());
                    return;
                }
                byte[] last = newest.get(record.key());
                JsonNode quote = last == null ? JSON.createObjectNode() : JSON.readTree(last);
                long bid = quote.path("bid").asLong();
                long offer = quote.path("offer").asLong();
                if (offer - bid >= LIMIT || 40 * (offer - bid) >= bid + offer) {
                    context.forward(record); // an alert says what its order says
                }
            } catch (java.io.IOException error) {
                throw new IllegalArgumentException(error);
            }
        }
    }
}
