-- Which generation of each projection serves.
CREATE TABLE IF NOT EXISTS generations (
	projection TEXT NOT NULL PRIMARY KEY,
	version    INT NOT NULL,
	generation INT NOT NULL
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
	generation INT NOT NULL,
	version    INT NOT NULL,
	state      TEXT NOT NULL CHECK (state IN ('filling', 'ready', 'kept', 'gone')),
	PRIMARY KEY (projection, generation)
) WITHOUT ROWID;

-- What servers note of their settings for commands that run beside them: each
-- start replaces what was noted before.
CREATE TABLE IF NOT EXISTS notes (
	name  TEXT NOT NULL PRIMARY KEY,
	text  TEXT NOT NULL,
	noted INTEGER NOT NULL -- Unix milliseconds
) WITHOUT ROWID;
