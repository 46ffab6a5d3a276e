CREATE TABLE folders (
	id      TEXT PRIMARY KEY,
	parent  TEXT NOT NULL,
	deleted INTEGER NOT NULL DEFAULT 0 -- position at which it, or a folder above it, was deleted
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent);

CREATE TABLE documents (
	id         TEXT PRIMARY KEY,
	folder     TEXT NOT NULL,
	title      TEXT NOT NULL,
	media_type TEXT NOT NULL,
	version    INTEGER NOT NULL, -- at which the content was last made
	tags       TEXT NOT NULL,    -- JSON array
	text       INTEGER NOT NULL, -- its text
	-- Version whose passages the index holds all of, 0 for none yet: they alone
	-- are found. Where it is behind version, the index is about to take the new
	-- ones. It rises by itself: who asked the index before may hold hits of an
	-- older version, and asks again.
	shown      INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX documents_folder ON documents (folder);

-- One text for each stream of sections. Those of earlier versions are kept as
-- long as their document lives; then one stands for all, whose name is what
-- theirs began with.
CREATE TABLE texts (
	id     SERIAL PRIMARY KEY,
	stream TEXT NOT NULL UNIQUE,
	named  INTEGER NOT NULL DEFAULT 0 -- 1 once a document event named it: no more sections count
);

CREATE TABLE sections (
	id         SERIAL PRIMARY KEY,
	text_id    INTEGER NOT NULL,
	section    INTEGER NOT NULL,
	part       INTEGER NOT NULL,
	level      INTEGER NOT NULL,
	title      TEXT NOT NULL,
	path       TEXT NOT NULL, -- JSON array
	start_page INTEGER NOT NULL,
	breaks     TEXT NOT NULL, -- JSON array: where in text the pages after start_page begin
	text       BLOB NOT NULL  -- UTF-8; a blob, so that offsets are bytes
);
CREATE UNIQUE INDEX sections_text ON sections (text_id, section, part);

CREATE TABLE passages (
	document   TEXT NOT NULL,
	version    INTEGER NOT NULL, -- of the document, that made the content
	section    INTEGER NOT NULL,
	number     INTEGER NOT NULL, -- within the section
	row        INTEGER NOT NULL, -- of sections: the part that holds it
	start      INT NOT NULL, -- bytes
	length     INT NOT NULL,
	start_page INTEGER NOT NULL, -- 0 where there are no pages
	end_page   INTEGER NOT NULL,
	PRIMARY KEY (document, version, section, number)
) WITHOUT ROWID;

-- What the search index does not show yet: documents whose passages it must
-- take anew, and ids of passages that it must forget.
CREATE TABLE unindexed (
	id       SERIAL PRIMARY KEY,
	document TEXT NOT NULL UNIQUE
);
CREATE TABLE forgotten (
	passage TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Documents that the index takes a piece at a time, behind everything else: with
-- very much new text, or to be labelled anew since a folder above was moved.
CREATE TABLE deferred (
	id       SERIAL PRIMARY KEY,
	document TEXT NOT NULL UNIQUE,
	position INTEGER NOT NULL -- of the first event that the index does not show, or before it
);
CREATE INDEX deferred_position ON deferred (position);

-- Up to where the search index was last made to hold everything. An index that
-- is behind that has lost something.
CREATE TABLE indexed (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	position INTEGER NOT NULL
);
INSERT INTO indexed VALUES (1, 0);
