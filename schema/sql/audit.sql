-- The audit trail has a row for each event that interests people. A row describes the
-- state when the event was appended. Later events change only the column place.
CREATE TABLE entries (
	position    INTEGER PRIMARY KEY,
	time        INTEGER NOT NULL, -- Unix microseconds
	id          TEXT NOT NULL,    -- id of the event
	type        TEXT NOT NULL,
	actor       TEXT NOT NULL,
	via         TEXT NOT NULL,
	correlation TEXT NOT NULL,
	thing       TEXT NOT NULL, -- stream of the object: document-<id>, folder-<id> or job-<id>
	-- Decides who may read the row: for a document its current or last folder, for a
	-- folder the folder itself, for a job its user.
	place       TEXT NOT NULL,
	name        TEXT NOT NULL, -- name of the object after the event; for a job the name of the file
	old_name    TEXT NOT NULL, -- name of the object before the event
	parent      TEXT NOT NULL, -- folder that contains the object after the event; '' at the top level
	old_parent  TEXT NOT NULL, -- folder that contained the object before the event
	file        INTEGER NOT NULL, -- number of the file in its job; -1 for none
	detail      TEXT NOT NULL  -- tags, permissions, counts or reasons as text
);
CREATE INDEX entries_thing ON entries (thing);
