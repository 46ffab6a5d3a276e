-- The active generation of each projection.
CREATE TABLE IF NOT EXISTS generations (
	projection TEXT NOT NULL PRIMARY KEY,
	version    INT NOT NULL,
	generation INT NOT NULL
) WITHOUT ROWID;

-- Leases, by name.
CREATE TABLE IF NOT EXISTS leases (
	name    TEXT NOT NULL PRIMARY KEY,
	holder  TEXT NOT NULL,
	expires INTEGER NOT NULL -- Unix milliseconds
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS leases_expires ON leases (expires);

-- All generations that are not active: filling, ready for the cut-over, kept for a
-- rollback, or to be deleted (gone).
CREATE TABLE IF NOT EXISTS spares (
	projection TEXT NOT NULL,
	generation INT NOT NULL,
	version    INT NOT NULL,
	state      TEXT NOT NULL CHECK (state IN ('filling', 'ready', 'kept', 'gone')),
	PRIMARY KEY (projection, generation)
) WITHOUT ROWID;

-- Filled generations that become active only if an operator decides so. In spares they are
-- filling, so that an earlier version of the program continues with them.
CREATE TABLE IF NOT EXISTS holds (
	projection TEXT NOT NULL,
	generation INT NOT NULL,
	PRIMARY KEY (projection, generation)
) WITHOUT ROWID;

-- Settings that a server publishes for commands that use the same stores. A server
-- replaces them when it starts.
CREATE TABLE IF NOT EXISTS notes (
	name  TEXT NOT NULL PRIMARY KEY,
	text  TEXT NOT NULL,
	noted INTEGER NOT NULL -- Unix milliseconds
) WITHOUT ROWID;
