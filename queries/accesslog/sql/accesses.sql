CREATE TABLE IF NOT EXISTS accesses (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL,
	time INTEGER NOT NULL, -- of the first access, in microseconds
	last INTEGER NOT NULL,
	count INTEGER NOT NULL,
	kind TEXT NOT NULL,
	actor TEXT NOT NULL,
	via TEXT NOT NULL,
	correlation TEXT NOT NULL,
	address TEXT NOT NULL,
	thing TEXT NOT NULL,
	name TEXT NOT NULL,
	place TEXT NOT NULL, -- id of a folder, or the principal concerned
	place_name TEXT NOT NULL,
	detail TEXT NOT NULL,
	size INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS accesses_time ON accesses (time, seq);
CREATE INDEX IF NOT EXISTS accesses_place ON accesses (place, time, seq);
CREATE INDEX IF NOT EXISTS accesses_thing ON accesses (thing, time, seq);
CREATE INDEX IF NOT EXISTS accesses_actor ON accesses (actor, time, seq);
