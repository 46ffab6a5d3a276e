-- Which generation of each projection serves.
CREATE TABLE IF NOT EXISTS generations (
	projection TEXT NOT NULL PRIMARY KEY,
	version    INTEGER NOT NULL,
	generation INTEGER NOT NULL
);

-- Who works on what, and until when unless renewed.
CREATE TABLE IF NOT EXISTS leases (
	name    TEXT NOT NULL PRIMARY KEY,
	holder  TEXT NOT NULL,
	expires BIGINT NOT NULL -- Unix milliseconds
);
CREATE INDEX IF NOT EXISTS leases_expires ON leases (expires);

-- Generations beside those that serve: one that is being filled, one that is
-- ready to serve, one that served before, and those that are to be deleted.
CREATE TABLE IF NOT EXISTS spares (
	projection TEXT NOT NULL,
	generation INTEGER NOT NULL,
	version    INTEGER NOT NULL,
	state      TEXT NOT NULL CHECK (state IN ('filling', 'ready', 'kept', 'gone')),
	PRIMARY KEY (projection, generation)
);

-- Parked events that a server is asked to take up again, and what came of it.
CREATE TABLE IF NOT EXISTS retries (
	projection TEXT NOT NULL,
	stream     TEXT NOT NULL, -- '' for all
	applied    INTEGER,       -- events; none until it was tried
	barred     INTEGER,       -- streams that only a rebuild can take up
	PRIMARY KEY (projection, stream)
);

-- Generations that no node may trust, since whoever leads them could not go on.
CREATE TABLE IF NOT EXISTS stops (
	projection TEXT NOT NULL,
	generation INTEGER NOT NULL,
	PRIMARY KEY (projection, generation)
);

-- How far a generation is with its search index, as whoever leads it knows.
CREATE TABLE IF NOT EXISTS reached (
	projection TEXT NOT NULL,
	generation INTEGER NOT NULL,
	position   BIGINT NOT NULL,
	PRIMARY KEY (projection, generation)
);

-- What servers note of their settings for commands that run beside them: each
-- start replaces what was noted before.
CREATE TABLE IF NOT EXISTS notes (
	name  TEXT NOT NULL PRIMARY KEY,
	text  TEXT NOT NULL,
	noted BIGINT NOT NULL -- Unix milliseconds
);

-- The elements of a list that comes as JSON, by SQLite's name for it.
CREATE OR REPLACE FUNCTION json_each(list TEXT) RETURNS TABLE (value TEXT) LANGUAGE sql IMMUTABLE AS
	$$ SELECT jsonb_array_elements_text(list::jsonb) $$;
