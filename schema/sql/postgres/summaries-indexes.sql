-- Indexes that only readers use. A rebuild creates them after it has filled the tables,
-- which is several times as fast. rest is not indexed, because it may be
-- longer than an index entry.
CREATE INDEX IF NOT EXISTS busy_under ON busy (under);
