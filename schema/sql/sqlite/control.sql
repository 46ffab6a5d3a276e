-- Which generation of each projection serves.
CREATE TABLE IF NOT EXISTS generations (
	projection TEXT NOT NULL PRIMARY KEY,
	version    INTEGER NOT NULL,
	generation INTEGER NOT NULL
) WITHOUT ROWID;

-- Who works on what, and until when unless renewed.
CREATE TABLE IF NOT EXISTS leases (
	name    TEXT NOT NULL PRIMARY KEY,
	holder  TEXT NOT NULL,
	expires INTEGER NOT NULL -- Unix milliseconds
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS leases_expires ON leases (expires);
