import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/**
 * The system under test, on Flink, in SQL; put yours in its place. It alerts on orders in too wide a market.
 *
 * <p>Java compiles it as it starts, and Flink runs in this process. A checkpoint commits what it has read to the group.
 */
public final class MarketSpread {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> given = System.getenv();
        var settings = new Configuration();
        settings.setString("parallelism.default", "2");
        settings.setString("execution.buffer-timeout.interval", "1 ms"); // by default 100 ms
        settings.setString("execution.checkpointing.interval", "500 ms");
        settings.setString("execution.checkpointing.mode", "AT_LEAST_ONCE");
        settings.setString("restart-strategy.type", "none");
        var tables =
                TableEnvironment.create(
                        EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());
        String[] inputs = given.get("MARKET_SPREAD_INPUT").split(",");
        String sql =
                Files.readString(Path.of("market_spread.sql"))
                        .replace("{servers}", given.get("MARKET_SPREAD_BOOTSTRAP_SERVERS"))
                        .replace("{group}", given.get("MARKET_SPREAD_GROUP"))
                        .replace("{quotes}", inputs[0])
                        .replace("{orders}", inputs[1])
                        .replace("{alerts}", given.get("MARKET_SPREAD_OUTPUT"));
        for (String statement : sql.split(";\n")) {
            var result = tables.executeSql(statement);
            if (statement.contains("INSERT INTO")) {
                result.await();
            }
        }
    }
}
