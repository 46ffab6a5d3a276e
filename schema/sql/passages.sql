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
	version    INTEGER NOT NULL, -- that last changed the content
	tags       TEXT NOT NULL,    -- JSON array
	text       INTEGER NOT NULL, -- its text
	-- Version whose passages are completely indexed, 0 for none. Only these are
	-- found. If it is less than version, newer passages are being indexed. It may
	-- increase during a search, which then has hits of an older version and
	-- searches again.
	shown      INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX documents_folder ON documents (folder);

-- One text for each text stream. Texts of earlier versions are kept until their document
-- is deleted; then one row replaces all, whose name is their common prefix.
CREATE TABLE texts (
	id     SERIAL PRIMARY KEY,
	stream TEXT NOT NULL UNIQUE,
	named  INTEGER NOT NULL DEFAULT 0 -- 1 if a document event names it: later sections are ignored
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
	breaks     TEXT NOT NULL, -- JSON array: offsets in text at which the pages after start_page begin
	text       BLOB NOT NULL  -- UTF-8; a blob, so that offsets are bytes
);
CREATE UNIQUE INDEX sections_text ON sections (text_id, section, part);

CREATE TABLE passages (
	document   TEXT NOT NULL,
	version    INTEGER NOT NULL, -- of the document that introduced the content
	section    INTEGER NOT NULL,
	number     INTEGER NOT NULL, -- within the section
	row        INTEGER NOT NULL, -- of sections: the part that contains it
	start      INT NOT NULL, -- bytes
	length     INT NOT NULL,
	start_page INTEGER NOT NULL, -- 0 if there are no pages
	end_page   INTEGER NOT NULL,
	PRIMARY KEY (document, version, section, number)
) WITHOUT ROWID;

-- Pending changes of the search index: documents to index again, and passages to
-- delete.
CREATE TABLE unindexed (
	id       SERIAL PRIMARY KEY,
	document TEXT NOT NULL UNIQUE
);
CREATE TABLE forgotten (
	passage TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Documents that are indexed piece by piece, after all others: those with very much new
-- text, and those to index again because a parent folder was moved.
CREATE TABLE deferred (
	id       SERIAL PRIMARY KEY,
	document TEXT NOT NULL UNIQUE,
	position INTEGER NOT NULL -- at or before the first event that is not indexed
);
CREATE INDEX deferred_position ON deferred (position);

-- Position up to which the search index is complete. An index at a lower position has
-- lost data.
CREATE TABLE indexed (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	position INTEGER NOT NULL
);
INSERT INTO indexed VALUES (1, 0);
