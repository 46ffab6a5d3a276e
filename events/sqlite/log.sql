-- The log. A position is a rowid: the last row is never deleted, so the next
-- one is always above all before it, and the single write lock makes them appear in
-- order. The type stands before the payload, so that looking at it does not
-- load the pages on which a long payload goes on.
CREATE TABLE events (
	position INTEGER PRIMARY KEY,
	type     TEXT    NOT NULL,
	stream   TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	id       BLOB    NOT NULL,
	metadata BLOB    NOT NULL,
	data     BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX events_by_stream ON events (stream, revision);

-- Holds (type, position): whoever reads a few types jumps from one of their
-- events to the next, however many others lie between.
CREATE INDEX events_by_type ON events (type);

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;

CREATE TRIGGER events_never_vanish BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END;
