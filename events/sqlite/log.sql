-- The log. A position is a rowid. The last row is never deleted, so rowids always
-- increase, and the single write lock makes rows appear in that order. type comes before
-- data, so that reading it does not load the overflow pages of a long payload.
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

-- Contains (type, position), so that a read of a few types does not visit events of
-- other types.
CREATE INDEX events_by_type ON events (type);

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;

CREATE TRIGGER events_never_vanish BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END;
