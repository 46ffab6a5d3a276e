-- These tables are in every read model.
CREATE TABLE checkpoint (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	position INTEGER NOT NULL,
	-- The last event that was applied. If the log has another event at this position,
	-- it is not the log from which the read model was built.
	seen_stream   TEXT    NOT NULL DEFAULT '', -- '' if no event was applied
	seen_revision INTEGER NOT NULL DEFAULT 0,
	seen_position INTEGER NOT NULL DEFAULT 0,
	seen_id       TEXT    NOT NULL DEFAULT ''
);
INSERT INTO checkpoint (one, position) VALUES (1, 0);

-- Parked events: those that could not be applied, and all later events of their
-- streams.
CREATE TABLE parked (
	position INTEGER PRIMARY KEY,
	stream   TEXT NOT NULL,
	revision INTEGER NOT NULL,
	reason   TEXT NOT NULL
);
CREATE INDEX parked_stream ON parked (stream);
