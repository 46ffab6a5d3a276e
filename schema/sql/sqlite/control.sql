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
