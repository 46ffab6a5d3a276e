-- The audit trail: a row for every event that a person may want to know about. It
-- describes the state at that time; later events only update place.
CREATE TABLE entries (
	position    INTEGER PRIMARY KEY,
	time        INTEGER NOT NULL, -- Unix microseconds
	id          TEXT NOT NULL,    -- of the event
	type        TEXT NOT NULL,
	actor       TEXT NOT NULL,
	via         TEXT NOT NULL,
	correlation TEXT NOT NULL,
	thing       TEXT NOT NULL, -- the object: document-<id>, folder-<id> or job-<id>
	-- Decides who may see the row: the current or last folder of a document, the
	-- folder itself, or the user of a job.
	place       TEXT NOT NULL,
	name        TEXT NOT NULL, -- of the object after the event, or of the file in a job
	old_name    TEXT NOT NULL, -- before the event
	parent      TEXT NOT NULL, -- folder of the object after the event, '' at the top level
	old_parent  TEXT NOT NULL, -- before the event
	file        INTEGER NOT NULL, -- of a job, -1 for none
	detail      TEXT NOT NULL  -- as text: tags, permissions, counts, reasons
);
CREATE INDEX entries_thing ON entries (thing);
