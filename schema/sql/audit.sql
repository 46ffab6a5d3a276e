-- Who did what when: a row for every event that a person would ask about. It
-- tells what was then; a later event changes no more of it than its place.
CREATE TABLE entries (
	position    INTEGER PRIMARY KEY,
	time        INTEGER NOT NULL, -- Unix microseconds
	id          TEXT NOT NULL,    -- of the event
	type        TEXT NOT NULL,
	actor       TEXT NOT NULL,
	via         TEXT NOT NULL,
	correlation TEXT NOT NULL,
	thing       TEXT NOT NULL, -- that it happened to: document-<id>, folder-<id> or job-<id>
	-- By which it is judged who may see the row, as it is now: the folder that a
	-- document lies in, or lay in last, the folder itself, the user of a job.
	place       TEXT NOT NULL,
	name        TEXT NOT NULL, -- of the thing, after the event; of the file in a job
	old_name    TEXT NOT NULL, -- before it
	parent      TEXT NOT NULL, -- folder that the thing lay in after the event, '' at the top level
	old_parent  TEXT NOT NULL, -- before it
	file        INTEGER NOT NULL, -- of a job, -1 for none
	detail      TEXT NOT NULL  -- in words: tags, permissions, counts, reasons
);
CREATE INDEX entries_thing ON entries (thing);
