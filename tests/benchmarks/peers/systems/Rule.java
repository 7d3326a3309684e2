import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;

/**
 * Market Spread on bytes, for every peer in Java: where the fields are, which quote is the newest, which order is
 * rejected, and the alert. What judging.py is for the peers in Python.
 */
final class Rule {
    static final int QUOTE = 55;
    static final int ORDER = 59;
    static final int TIMES = 32;
    private static final int WIDTH = 139;
    private static final int SEQUENCE_AT = 43;
    private static final int TIME = 16;
    private static final byte[] NO_QUOTE = "0".repeat(QUOTE).getBytes(StandardCharsets.US_ASCII);

    private Rule() {}

    /** The symbol of the message, quote or order, that begins there. */
    static String symbol(byte[] frame, int at) {
        return new String(frame, at + 1, 6, StandardCharsets.ISO_8859_1);
    }

    /**
     * Whether the quote that begins there has a higher sequence than the known one, null if there is none. Sequences are
     * padded with zeros, so their bytes compare as the numbers do.
     */
    static boolean isNewer(byte[] frame, int at, byte[] known) {
        return known == null
                || Arrays.compare(frame, at + SEQUENCE_AT, at + QUOTE, known, SEQUENCE_AT, QUOTE) > 0;
    }

    static byte[] quote(byte[] frame, int at) {
        return Arrays.copyOfRange(frame, at, at + QUOTE);
    }

    /** When a frame was sent, as its header says, and read, which is now: the two times that its alerts begin with. */
    static byte[] times(byte[] sent) {
        var times = new byte[TIMES];
        Arrays.fill(times, 0, TIME - sent.length, (byte) '0');
        System.arraycopy(sent, 0, times, TIME - sent.length, sent.length);
        putNow(times, TIME);
        return times;
    }

    /** The alert on the order that begins there, or null if it is accepted. quote: null if its symbol has had none. */
    static byte[] alert(byte[] frame, int at, byte[] quote, byte[] times, int timesAt) {
        byte[] newest = quote == null ? NO_QUOTE : quote;
        if (!tooWide(number(newest, 7, 10), number(newest, 17, 10))) {
            return null;
        }
        var alert = new byte[WIDTH];
        alert[0] = 'A';
        int end = 1;
        end = put(alert, end, frame, at + 14, 10);
        end = put(alert, end, frame, at + 1, 13);
        end = put(alert, end, frame, at + 24, 19);
        end = put(alert, end, newest, 7, 20);
        end = put(alert, end, newest, SEQUENCE_AT, 12);
        end = put(alert, end, frame, at + 43, 16);
        end = put(alert, end, times, timesAt, TIMES);
        putNow(alert, end);
        return alert;
    }

    static byte[] orderId(byte[] alert) {
        return Arrays.copyOfRange(alert, 1, 11);
    }

    private static boolean tooWide(long bid, long offer) {
        long spread = offer - bid;
        return spread >= 500 || 40 * spread >= bid + offer;
    }

    private static long number(byte[] text, int from, int width) {
        boolean negative = text[from] == '-';
        long value = 0;
        for (int i = negative ? from + 1 : from; i < from + width; i++) {
            value = 10 * value + (text[i] - '0');
        }
        return negative ? -value : value;
    }

    private static int put(byte[] into, int end, byte[] from, int at, int width) {
        System.arraycopy(from, at, into, end, width);
        return end + width;
    }

    private static void putNow(byte[] into, int at) {
        Instant now = Instant.now();
        long micros = now.getEpochSecond() * 1_000_000L + now.getNano() / 1_000;
        for (int i = at + TIME - 1; i >= at; i--, micros /= 10) {
            into[i] = (byte) ('0' + micros % 10);
        }
    }
}
