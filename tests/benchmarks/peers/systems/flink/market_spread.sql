-- Market Spread in Flink's SQL. A frame is cut into its messages by a regular expression of their width.
CREATE TEMPORARY FUNCTION now_us AS 'NowMicros' LANGUAGE JAVA;

CREATE TABLE nbbo (
  frame STRING,
  seen AS PROCTIME()
) WITH (
  'connector' = 'kafka', 'topic' = 'nbbo', 'properties.bootstrap.servers' = '{servers}',
  'properties.group.id' = '{group}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'raw'
);

CREATE TABLE orders (
  headers MAP<STRING, BYTES> METADATA VIRTUAL
) WITH (
  'topic' = 'orders'
) LIKE nbbo (OVERWRITING OPTIONS);

CREATE TABLE alerts (
  order_id STRING,
  alert STRING
) WITH (
  'connector' = 'kafka', 'topic' = 'alerts', 'properties.bootstrap.servers' = '{servers}',
  'properties.linger.ms' = '0', 'sink.delivery-guarantee' = 'at-least-once',
  'key.format' = 'raw', 'key.fields' = 'order_id', 'value.format' = 'raw', 'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TEMPORARY VIEW messages AS
SELECT SUBSTRING(message, 2, 6) AS symbol, SUBSTRING(message, 44, 12) || SUBSTRING(message, 8, 20) AS quote,
  CAST(NULL AS STRING) AS body, CAST(NULL AS STRING) AS sent, CAST(NULL AS BIGINT) AS read_us, seen
FROM nbbo CROSS JOIN UNNEST(REGEXP_EXTRACT_ALL(frame, '(.{55})')) AS cut (message)
UNION ALL
SELECT SUBSTRING(message, 2, 6), CAST(NULL AS STRING), message, sent, read_us, seen
FROM (SELECT frame, CAST(headers['sent_us'] AS STRING) AS sent, now_us() AS read_us, seen FROM orders)
CROSS JOIN UNNEST(REGEXP_EXTRACT_ALL(frame, '(.{59})')) AS cut (message);

-- A quote is its sequence, bid and offer: the greatest text is the newest quote, as in the Spark job, whatever came last.
-- MAX passes over NULL, which orders have. A symbol without a quote meets one of zeros.
CREATE TEMPORARY VIEW judged AS
SELECT body, sent, read_us, COALESCE(quote, REPEAT('0', 32)) AS quote
FROM (
  SELECT body, sent, read_us, MAX(quote) OVER (
    PARTITION BY symbol ORDER BY seen ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  ) AS quote
  FROM messages
)
WHERE body IS NOT NULL;

CREATE TEMPORARY VIEW priced AS
SELECT body, sent, read_us, quote, CAST(SUBSTRING(quote, 13, 10) AS BIGINT) AS bid,
  CAST(SUBSTRING(quote, 23, 10) AS BIGINT) AS offer
FROM judged;

INSERT INTO alerts
SELECT SUBSTRING(body, 15, 10),
  'A' || SUBSTRING(body, 15, 10) || SUBSTRING(body, 2, 13) || SUBSTRING(body, 25, 19)
  || SUBSTRING(quote, 13, 20) || SUBSTRING(quote, 1, 12) || SUBSTRING(body, 44, 16)
  || LPAD(sent, 16, '0') || LPAD(CAST(read_us AS STRING), 16, '0') || LPAD(CAST(now_us() AS STRING), 16, '0')
FROM priced
WHERE offer - bid >= 500 OR 40 * (offer - bid) >= bid + offer;
