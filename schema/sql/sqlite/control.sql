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

-- Generations beside those that serve: one that is being filled, one that is
-- ready to serve, one that served before, and those that are to be deleted.
CREATE TABLE IF NOT EXISTS spares (
	projection TEXT NOT NULL,
	generation INTEGER NOT NULL,
	version    INTEGER NOT NULL,
	state      TEXT NOT NULL CHECK (state IN ('filling', 'ready', 'kept', 'gone')),
	PRIMARY KEY (projection, generation)
) WITHOUT ROWID;

-- Parked events that a server is asked to take up again, and what came of it.
CREATE TABLE IF NOT EXISTS retries (
	projection TEXT NOT NULL,
	stream     TEXT NOT NULL, -- '' for all
	applied    INTEGER,       -- events; none until it was tried
	barred     INTEGER,       -- streams that only a rebuild can take up
	PRIMARY KEY (projection, stream)
) WITHOUT ROWID;

-- What servers note of their settings for commands that run beside them: each
-- start replaces what was noted before.
CREATE TABLE IF NOT EXISTS notes (
	name  TEXT NOT NULL PRIMARY KEY,
	text  TEXT NOT NULL,
	noted INTEGER NOT NULL -- Unix milliseconds
) WITHOUT ROWID;
