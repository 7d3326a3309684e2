-- The rule. A row of the union is a quote or an order. The last quote of its symbol before an order is the greatest
-- one: ids grow, and go before bid and offer.
CREATE TABLE quotes (
  id BIGINT, symbol STRING, bid BIGINT, offer BIGINT, seen AS PROCTIME()
) WITH (
  'connector' = 'kafka', 'topic' = '{quotes}', 'properties.bootstrap.servers' = '{servers}',
  'properties.group.id' = '{group}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);

CREATE TABLE orders (
  id BIGINT, symbol STRING, seen AS PROCTIME()
) WITH (
  'connector' = 'kafka', 'topic' = '{orders}', 'properties.bootstrap.servers' = '{servers}',
  'properties.group.id' = '{group}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);

CREATE TABLE alerts (
  id BIGINT, symbol STRING
) WITH (
  'connector' = 'kafka', 'topic' = '{alerts}', 'properties.bootstrap.servers' = '{servers}',
  'properties.linger.ms' = '0', 'sink.delivery-guarantee' = 'at-least-once', 'format' = 'json'
);

CREATE TEMPORARY VIEW messages AS
SELECT CAST(NULL AS BIGINT) AS id, symbol, seen,
  LPAD(CAST(id AS STRING), 16, '0') || LPAD(CAST(bid AS STRING), 12, '0') || LPAD(CAST(offer AS STRING), 12, '0') AS quote
FROM quotes
UNION ALL
SELECT id, symbol, seen, CAST(NULL AS STRING) FROM orders;

CREATE TEMPORARY VIEW judged AS
SELECT id, symbol, CAST(SUBSTRING(quote, 17, 12) AS BIGINT) AS bid, CAST(SUBSTRING(quote, 29, 12) AS BIGINT) AS offer
FROM (
  SELECT id, symbol, COALESCE(MAX(quote) OVER (
    PARTITION BY symbol ORDER BY seen ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  ), REPEAT('0', 40)) AS quote
  FROM messages
)
WHERE id IS NOT NULL;

INSERT INTO alerts
SELECT id, symbol FROM judged WHERE offer - bid >= 500 OR 40 * (offer - bid) >= bid + offer
