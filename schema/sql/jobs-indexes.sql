-- What only readers look things up by. It may be made last, when the tables are
-- full, which is several times as fast.
CREATE INDEX IF NOT EXISTS files_sha256 ON files (sha256);
CREATE INDEX IF NOT EXISTS files_changed ON files (job, changed);
