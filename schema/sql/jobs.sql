CREATE TABLE jobs (
	id          TEXT PRIMARY KEY,
	owner       TEXT NOT NULL,
	files       INTEGER NOT NULL,
	successful  INTEGER NOT NULL DEFAULT 0,
	failed      INTEGER NOT NULL DEFAULT 0,
	-- Position of the last event of the job if all its files are finished, else 0.
	finished    INTEGER NOT NULL DEFAULT 0,
	requested   INTEGER NOT NULL, -- position of the ImportRequested event
	created_at  TEXT NOT NULL,
	finished_at TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;

CREATE TABLE files (
	job       TEXT NOT NULL,
	file      INTEGER NOT NULL,
	name      TEXT NOT NULL,
	folder    TEXT NOT NULL,
	tags      TEXT NOT NULL,
	sha256    TEXT NOT NULL, -- '' if the file was rejected
	state     TEXT NOT NULL, -- waiting, working, imported, failed
	step      TEXT NOT NULL DEFAULT '',
	message   TEXT NOT NULL DEFAULT '',
	document  TEXT NOT NULL DEFAULT '',
	title     TEXT NOT NULL DEFAULT '',
	error     TEXT NOT NULL DEFAULT '',
	kind      TEXT NOT NULL DEFAULT '', -- kind of the error; '' if the content of the file is the cause
	warnings  TEXT NOT NULL DEFAULT '[]',
	duplicate INTEGER NOT NULL DEFAULT 0,
	outcome   TEXT NOT NULL DEFAULT '', -- created, updated or unchanged; '' if it is unknown
	changed   INTEGER NOT NULL, -- position of the last event of the file
	reread    INTEGER NOT NULL, -- 1 if the file is that of a document, which is read again
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
