-- Tables of every read model.
CREATE TABLE checkpoint (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	position INTEGER NOT NULL,
	-- The last applied event. It identifies the log.
	seen_stream   TEXT    NOT NULL DEFAULT '', -- '' for none
	seen_revision INTEGER NOT NULL DEFAULT 0,
	seen_position INTEGER NOT NULL DEFAULT 0,
	seen_id       TEXT    NOT NULL DEFAULT ''
);
INSERT INTO checkpoint (one, position) VALUES (1, 0);

-- Events that could not be applied, and later events of their streams.
CREATE TABLE parked (
	position INTEGER PRIMARY KEY,
	stream   TEXT NOT NULL,
	revision INTEGER NOT NULL,
	reason   TEXT NOT NULL
);
CREATE INDEX parked_stream ON parked (stream);
