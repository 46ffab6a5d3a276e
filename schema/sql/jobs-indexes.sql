-- Indexes that only readers use. A rebuild creates them after it has filled the tables,
-- which is several times as fast.
CREATE INDEX IF NOT EXISTS jobs_owner ON jobs (owner, requested);
CREATE INDEX IF NOT EXISTS files_sha256 ON files (sha256);
CREATE INDEX IF NOT EXISTS files_changed ON files (job, changed);
