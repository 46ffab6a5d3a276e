CREATE TABLE folders (
	id      TEXT PRIMARY KEY,
	parent  TEXT NOT NULL,
	deleted INTEGER NOT NULL DEFAULT 0 -- 1 if the folder or a folder above it was deleted
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent);

CREATE TABLE documents (
	row      SERIAL PRIMARY KEY,
	id       TEXT NOT NULL UNIQUE,
	folder   TEXT NOT NULL,
	title    TEXT NOT NULL,
	tags     TEXT NOT NULL,    -- JSON array
	version  INTEGER NOT NULL, -- version of the document that last changed its content
	text     TEXT NOT NULL,    -- stream of its text
	sections INTEGER NOT NULL,
	-- The position of the event that changed the content, until all of its passages have
	-- vectors; then 0. The vectors of an earlier version are kept until then.
	waiting  INTEGER NOT NULL,
	-- How far the text has vectors: the revision of its stream to continue with, the last
	-- section, and the number of that section's passages so far.
	revision INTEGER NOT NULL DEFAULT 0,
	section  INTEGER NOT NULL DEFAULT -1,
	passages INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX documents_folder ON documents (folder);
CREATE INDEX documents_waiting ON documents (waiting) WHERE waiting > 0;

-- One row, if there are vectors: the model that makes them.
CREATE TABLE embedder (
	one        INTEGER PRIMARY KEY CHECK (one = 1),
	model      TEXT NOT NULL,
	dimensions INTEGER NOT NULL
);

-- The vectors of passages. The numbers of a vector are stored in 8 bits each.
CREATE TABLE vectors (
	row      INTEGER PRIMARY KEY,
	document INTEGER NOT NULL, -- row in the table documents
	version  INTEGER NOT NULL,
	section  INTEGER NOT NULL,
	number   INTEGER NOT NULL,
	hash     BLOB NOT NULL, -- of the text
	vector   BLOB NOT NULL
);
CREATE UNIQUE INDEX vectors_passage ON vectors (document, version, section, number);
CREATE INDEX vectors_hash ON vectors (hash);

-- The signs of the numbers of a vector, in a table of their own, because a search reads all
-- of them.
CREATE TABLE signs (
	row      INTEGER PRIMARY KEY, -- of the table vectors
	document INTEGER NOT NULL,
	bits     BLOB NOT NULL
);
CREATE INDEX signs_document ON signs (document);
