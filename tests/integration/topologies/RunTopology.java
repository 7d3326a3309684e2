import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyTestDriver;

/** Runs the topology of a class in Kafka Streams' own driver for tests: CLASS OUTPUT INPUT STATE, of which INPUT has a
 * line for each record, its topic, its key and its value with tabs between, of which an empty one is null; prints the
 * values of the topic OUTPUT. */
class RunTopology {
  public static void main(String[] words) throws Exception {
    var builder = new StreamsBuilder();
    var build = Class.forName(words[0]).getDeclaredMethod("build", StreamsBuilder.class);
    build.setAccessible(true);
    build.invoke(null, builder);
    var told = new Properties();
    told.put(StreamsConfig.APPLICATION_ID_CONFIG, words[0]);
    told.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    told.put(StreamsConfig.STATE_DIR_CONFIG, words[3]);
    told.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    told.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    try (var driver = new TopologyTestDriver(builder.build(), told)) {
      for (String line : Files.readAllLines(Path.of(words[2]))) {
        String[] record = line.split("\t", 3);
        driver.createInputTopic(record[0], new StringSerializer(), new StringSerializer())
            .pipeInput(record[1].isEmpty() ? null : record[1], record[2].isEmpty() ? null : record[2]);
      }
      driver.createOutputTopic(words[1], new StringDeserializer(), new StringDeserializer())
          .readValuesToList()
          .forEach(System.out::println);
    }
  }
}
