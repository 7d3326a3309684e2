import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Optional;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.flink.kafka.shaded.org.apache.kafka.common.header.Header;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Market Spread on Flink's DataStream API, on a mini cluster in this process; from its newest checkpoint if it has one.
 * {@code DataStreams SERVERS PARTITIONS CHECKPOINTS GROUP COMMIT_MS messages|frames}.
 *
 * <p>With {@code messages}, frames are cut and keyed by symbol, as in Spark. With {@code frames}, they stay whole, keyed
 * by their partition: quotes and orders of a symbol are in partitions of the same number.
 */
public final class DataStreams {
    private static final TypeInformation<byte[]> BYTES = PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO;
    /** A frame: its partition, its messages, and its two times. Tuples are what Flink passes on fastest. */
    private static final TypeInformation<Tuple3<Integer, byte[], byte[]>> FRAME =
            Types.TUPLE(Types.INT, BYTES, BYTES);

    public static void main(String[] arguments) throws Exception {
        Path checkpoints = Files.createDirectories(Path.of(arguments[2]));
        var settings = settings(arguments[1], checkpoints, arguments[4]);
        var environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        var quotes = frames(environment, arguments[0], arguments[3], "nbbo");
        var orders = frames(environment, arguments[0], arguments[3], "orders");
        var alerts = arguments[5].equals("frames") ? byPartition(quotes, orders) : bySymbol(quotes, orders);
        alerts.sinkTo(sink(arguments[0])).name("alerts");
        environment.execute("market_spread");
    }

    /** What is not as Flink has it by default; the same as in flink_sql.py. */
    private static Configuration settings(String partitions, Path checkpoints, String commitMs) throws Exception {
        var settings = new Configuration();
        settings.setString("parallelism.default", partitions);
        settings.setString("pipeline.object-reuse", "true");
        settings.setString("execution.buffer-timeout.interval", "1 ms");
        settings.setString("execution.checkpointing.interval", commitMs + " ms");
        settings.setString("execution.checkpointing.mode", "AT_LEAST_ONCE");
        settings.setString("execution.checkpointing.dir", checkpoints.toUri().toString());
        settings.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        settings.setString("state.backend.type", "hashmap");
        settings.setString("restart-strategy.type", "none");
        newestCheckpoint(checkpoints)
                .ifPresent(path -> settings.setString("execution.state-recovery.path", path.toUri().toString()));
        return settings;
    }

    private static Optional<Path> newestCheckpoint(Path checkpoints) throws Exception {
        try (var paths = Files.find(checkpoints, 3, (path, found) -> path.endsWith("_metadata"))) {
            return paths.max(Comparator.comparingLong(path -> path.toFile().lastModified())).map(Path::getParent);
        }
    }

    private static DataStream<Tuple3<Integer, byte[], byte[]>> frames(
            StreamExecutionEnvironment environment, String servers, String group, String topic) {
        var source =
                KafkaSource.<Tuple3<Integer, byte[], byte[]>>builder()
                        .setBootstrapServers(servers)
                        .setGroupId(group)
                        .setTopics(topic)
                        .setStartingOffsets(OffsetsInitializer.earliest())
                        .setDeserializer(new Frames())
                        .build();
        return environment.fromSource(source, WatermarkStrategy.noWatermarks(), topic);
    }

    private static DataStream<byte[]> bySymbol(
            DataStream<Tuple3<Integer, byte[], byte[]>> quotes, DataStream<Tuple3<Integer, byte[], byte[]>> orders) {
        var eachQuote = quotes.flatMap(new Cut(Rule.QUOTE, 0)).returns(BYTES);
        var eachOrder = orders.flatMap(new Cut(Rule.ORDER, Rule.TIMES)).returns(BYTES);
        return eachQuote
                .keyBy(quote -> Rule.symbol(quote, 0), Types.STRING)
                .connect(eachOrder.keyBy(order -> Rule.symbol(order, 0), Types.STRING))
                .process(new NewestQuote())
                .returns(BYTES);
    }

    private static DataStream<byte[]> byPartition(
            DataStream<Tuple3<Integer, byte[], byte[]>> quotes, DataStream<Tuple3<Integer, byte[], byte[]>> orders) {
        return quotes.keyBy(frame -> frame.f0, Types.INT)
                .connect(orders.keyBy(frame -> frame.f0, Types.INT))
                .process(new NewestQuotes())
                .returns(BYTES);
    }

    private static KafkaSink<byte[]> sink(String servers) {
        KafkaRecordSerializationSchema<byte[]> records =
                (alert, context, timestamp) -> new ProducerRecord<>("alerts", Rule.orderId(alert), alert);
        return KafkaSink.<byte[]>builder()
                .setBootstrapServers(servers)
                .setProperty("linger.ms", "0")
                .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
                .setRecordSerializer(records)
                .build();
    }

    /** Records as frames. */
    private static final class Frames implements KafkaRecordDeserializationSchema<Tuple3<Integer, byte[], byte[]>> {
        @Override
        public void deserialize(
                ConsumerRecord<byte[], byte[]> record, Collector<Tuple3<Integer, byte[], byte[]>> frames) {
            Header sent = record.headers().lastHeader("sent_us");
            frames.collect(Tuple3.of(record.partition(), record.value(), Rule.times(sent.value())));
        }

        @Override
        public TypeInformation<Tuple3<Integer, byte[], byte[]>> getProducedType() {
            return FRAME;
        }
    }

    /** Frames as messages, each with so many bytes of the frame's times behind it. */
    private static final class Cut implements FlatMapFunction<Tuple3<Integer, byte[], byte[]>, byte[]> {
        private final int width;
        private final int times;

        Cut(int width, int times) {
            this.width = width;
            this.times = times;
        }

        @Override
        public void flatMap(Tuple3<Integer, byte[], byte[]> frame, Collector<byte[]> messages) {
            for (int at = 0; at + width <= frame.f1.length; at += width) {
                var message = Arrays.copyOfRange(frame.f1, at, at + width + times);
                System.arraycopy(frame.f2, 0, message, width, times);
                messages.collect(message);
            }
        }
    }

    /** The newest quote of one symbol, and the alerts on its orders. */
    private static final class NewestQuote extends KeyedCoProcessFunction<String, byte[], byte[], byte[]> {
        private transient ValueState<byte[]> newest;

        @Override
        public void open(OpenContext context) {
            newest = getRuntimeContext().getState(new ValueStateDescriptor<>("newest", BYTES));
        }

        @Override
        public void processElement1(byte[] quote, Context context, Collector<byte[]> alerts) throws Exception {
            if (Rule.isNewer(quote, 0, newest.value())) {
                newest.update(quote);
            }
        }

        @Override
        public void processElement2(byte[] order, Context context, Collector<byte[]> alerts) throws Exception {
            byte[] alert = Rule.alert(order, 0, newest.value(), order, Rule.ORDER);
            if (alert != null) {
                alerts.collect(alert);
            }
        }
    }

    /** The newest quotes of one partition, and the alerts on its orders. */
    private static final class NewestQuotes
            extends KeyedCoProcessFunction<
                    Integer, Tuple3<Integer, byte[], byte[]>, Tuple3<Integer, byte[], byte[]>, byte[]> {
        private transient MapState<String, byte[]> newest;

        @Override
        public void open(OpenContext context) {
            newest = getRuntimeContext().getMapState(new MapStateDescriptor<>("newest", Types.STRING, BYTES));
        }

        @Override
        public void processElement1(
                Tuple3<Integer, byte[], byte[]> frame, Context context, Collector<byte[]> alerts) throws Exception {
            for (int at = 0; at + Rule.QUOTE <= frame.f1.length; at += Rule.QUOTE) {
                String symbol = Rule.symbol(frame.f1, at);
                if (Rule.isNewer(frame.f1, at, newest.get(symbol))) {
                    newest.put(symbol, Rule.quote(frame.f1, at));
                }
            }
        }

        @Override
        public void processElement2(
                Tuple3<Integer, byte[], byte[]> frame, Context context, Collector<byte[]> alerts) throws Exception {
            for (int at = 0; at + Rule.ORDER <= frame.f1.length; at += Rule.ORDER) {
                byte[] alert = Rule.alert(frame.f1, at, newest.get(Rule.symbol(frame.f1, at)), frame.f2, 0);
                if (alert != null) {
                    alerts.collect(alert);
                }
            }
        }
    }
}
