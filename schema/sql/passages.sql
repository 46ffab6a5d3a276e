CREATE TABLE folders (
	id      TEXT PRIMARY KEY,
	parent  TEXT NOT NULL,
	deleted INTEGER NOT NULL DEFAULT 0 -- position of the event that deleted the folder or a folder above it; 0 if none did
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent);

CREATE TABLE documents (
	id         TEXT PRIMARY KEY,
	folder     TEXT NOT NULL,
	title      TEXT NOT NULL,
	media_type TEXT NOT NULL,
	version    INTEGER NOT NULL, -- version of the document that last changed its content
	tags       TEXT NOT NULL,    -- JSON array
	text       INTEGER NOT NULL, -- id in the table texts
	-- The version whose passages search finds, because all of them are indexed; 0 for
	-- none. If shown is less than version, the passages of a newer version are still
	-- being indexed. If shown increases while a search is running, the search has found
	-- an older version and is repeated.
	shown      INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX documents_folder ON documents (folder);

-- One row for each text stream. When a document is deleted, one row replaces those of
-- all its texts, with the common prefix of their stream names as its stream.
CREATE TABLE texts (
	id     SERIAL PRIMARY KEY,
	stream TEXT NOT NULL UNIQUE,
	named  INTEGER NOT NULL DEFAULT 0 -- 1 if a document event names the stream; sections appended later are ignored
);

CREATE TABLE sections (
	id         SERIAL PRIMARY KEY,
	text_id    INTEGER NOT NULL,
	section    INTEGER NOT NULL,
	part       INTEGER NOT NULL,
	level      INTEGER NOT NULL,
	title      TEXT NOT NULL,
	path       TEXT NOT NULL, -- JSON array of titles
	start_page INTEGER NOT NULL,
	breaks     TEXT NOT NULL, -- JSON array: offsets in text at which the pages after start_page begin
	text       BLOB NOT NULL, -- UTF-8, as a blob so that SQL counts offsets in bytes
	confidence INTEGER NOT NULL -- of the words that were recognised in pictures of pages, in thousandths; 0 if there are none
);
CREATE UNIQUE INDEX sections_text ON sections (text_id, section, part);

CREATE TABLE passages (
	document   TEXT NOT NULL,
	version    INTEGER NOT NULL, -- version of the document that introduced the content
	section    INTEGER NOT NULL,
	number     INTEGER NOT NULL, -- number of the passage in its section
	row        INTEGER NOT NULL, -- id in the table sections: the part of the section that contains the passage
	start      INT NOT NULL, -- offset in that part, in bytes
	length     INT NOT NULL,
	start_page INTEGER NOT NULL, -- 0 if the document has no pages
	end_page   INTEGER NOT NULL,
	PRIMARY KEY (document, version, section, number)
) WITHOUT ROWID;

-- Pending changes of the search index: unindexed lists documents to index again,
-- forgotten lists passages to delete from the index.
CREATE TABLE unindexed (
	id       SERIAL PRIMARY KEY,
	document TEXT NOT NULL UNIQUE
);
CREATE TABLE forgotten (
	passage TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Documents that are indexed in several steps, after all documents in unindexed. They
-- have very much new text, or are indexed again because a folder above them was moved.
CREATE TABLE deferred (
	id       SERIAL PRIMARY KEY,
	document TEXT NOT NULL UNIQUE,
	position INTEGER NOT NULL -- no later than the first event that is not indexed yet
);
CREATE INDEX deferred_position ON deferred (position);

-- One row: the position up to which the search index is complete. If the index itself
-- reports a lower position, it has lost data.
CREATE TABLE indexed (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	position INTEGER NOT NULL
);
INSERT INTO indexed VALUES (1, 0);
