-- Indexes that only readers use. A rebuild creates them after it has filled the tables,
-- which is several times as fast.
CREATE INDEX IF NOT EXISTS files_owner ON files (owner, accepted, job, file);
