-- Indexes that only readers use. A rebuild creates them after it has filled the tables,
-- which is several times as fast.
CREATE INDEX IF NOT EXISTS documents_sha256 ON documents (sha256, folder, created_at, id);
CREATE INDEX IF NOT EXISTS versions_sha256 ON versions (sha256);
CREATE INDEX IF NOT EXISTS documents_look ON documents (folder, look);
CREATE INDEX IF NOT EXISTS documents_created ON documents (folder, created_at, id);
CREATE INDEX IF NOT EXISTS documents_updated ON documents (folder, updated_at, id);
CREATE INDEX IF NOT EXISTS documents_size ON documents (folder, size, id);
