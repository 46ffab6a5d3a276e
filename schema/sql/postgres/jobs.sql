CREATE TABLE jobs (
	id         TEXT COLLATE "C" PRIMARY KEY,
	owner      TEXT COLLATE "C" NOT NULL,
	files      BIGINT NOT NULL,
	successful BIGINT NOT NULL DEFAULT 0,
	failed     BIGINT NOT NULL DEFAULT 0,
	-- position of its last event once every file's work has ended, else 0
	finished   BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE files (
	job       TEXT COLLATE "C" NOT NULL,
	file      BIGINT NOT NULL,
	name      TEXT COLLATE "C" NOT NULL,
	folder    TEXT COLLATE "C" NOT NULL,
	tags      TEXT COLLATE "C" NOT NULL,
	sha256    TEXT COLLATE "C" NOT NULL, -- '' where the file was refused
	state     TEXT COLLATE "C" NOT NULL, -- waiting, working, imported, failed
	step      TEXT COLLATE "C" NOT NULL DEFAULT '',
	message   TEXT COLLATE "C" NOT NULL DEFAULT '',
	document  TEXT COLLATE "C" NOT NULL DEFAULT '',
	title     TEXT COLLATE "C" NOT NULL DEFAULT '',
	error     TEXT COLLATE "C" NOT NULL DEFAULT '',
	kind      TEXT COLLATE "C" NOT NULL DEFAULT '', -- whose fault that is, '' where it is the file's own
	warnings  TEXT COLLATE "C" NOT NULL DEFAULT '[]',
	duplicate BIGINT NOT NULL DEFAULT 0,
	outcome   TEXT COLLATE "C" NOT NULL DEFAULT '', -- created, updated or unchanged; '' where that is not known
	changed   BIGINT NOT NULL, -- position of its last event
	PRIMARY KEY (job, file)
);
