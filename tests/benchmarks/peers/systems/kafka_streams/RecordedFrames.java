import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;

/**
 * The topology of {@link MarketSpread} on recorded frames, without a broker: {@code RecordedFrames FILE FOLDER} prints the
 * alerts. A line of the file is a record: its topic, when it was sent, and the frame, a blank between them.
 */
public final class RecordedFrames {
    public static void main(String[] arguments) throws Exception {
        String[] settings = {"127.0.0.1:1", "1", arguments[1], "recorded"};
        try (var driver = new TopologyTestDriver(MarketSpread.topology(), MarketSpread.settings(settings))) {
            var bytes = new ByteArraySerializer();
            for (String line : Files.readAllLines(Path.of(arguments[0]), StandardCharsets.US_ASCII)) {
                String[] parts = line.split(" ", 3);
                var headers = new RecordHeaders().add("sent_us", parts[1].getBytes(StandardCharsets.US_ASCII));
                byte[] frame = parts[2].getBytes(StandardCharsets.US_ASCII);
                driver.createInputTopic(parts[0], bytes, bytes).pipeInput(new TestRecord<>(null, frame, headers));
            }
            var text = new ByteArrayDeserializer();
            for (byte[] alert : driver.createOutputTopic("alerts", text, text).readValuesToList()) {
                System.out.println(new String(alert, StandardCharsets.US_ASCII));
            }
        }
    }
}
