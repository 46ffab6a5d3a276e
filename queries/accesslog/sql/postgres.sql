CREATE TABLE IF NOT EXISTS accesses (
	seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id TEXT COLLATE "C" NOT NULL,
	time BIGINT NOT NULL, -- of the first, in microseconds
	last BIGINT NOT NULL,
	count BIGINT NOT NULL,
	kind TEXT COLLATE "C" NOT NULL,
	actor TEXT COLLATE "C" NOT NULL,
	via TEXT COLLATE "C" NOT NULL,
	correlation TEXT COLLATE "C" NOT NULL,
	address TEXT COLLATE "C" NOT NULL,
	thing TEXT COLLATE "C" NOT NULL,
	name TEXT COLLATE "C" NOT NULL,
	place TEXT COLLATE "C" NOT NULL, -- a folder's id, or the principal whose matter it is
	place_name TEXT COLLATE "C" NOT NULL,
	detail TEXT COLLATE "C" NOT NULL,
	size BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS accesses_time ON accesses (time, seq);
CREATE INDEX IF NOT EXISTS accesses_place ON accesses (place, time, seq);
CREATE INDEX IF NOT EXISTS accesses_thing ON accesses (thing, time, seq);
CREATE INDEX IF NOT EXISTS accesses_actor ON accesses (actor, time, seq);
