CREATE TABLE folders (
	id         TEXT PRIMARY KEY,
	parent     TEXT NOT NULL, -- '' at the top level
	name       TEXT NOT NULL,
	sort_name  TEXT NOT NULL, -- lower case, for listings
	created_at TEXT NOT NULL,
	updated_at TEXT NOT NULL,
	version    INTEGER NOT NULL,          -- number of events that changed the folder
	revision   INTEGER NOT NULL,          -- revision of the last such event in the stream of folders
	deleted    INTEGER NOT NULL DEFAULT 0 -- 1 if the folder or a folder above it was deleted
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent, name);

-- For each folder that was ever moved, the position of its last move.
CREATE TABLE moved (
	folder   TEXT PRIMARY KEY,
	position INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX moved_position ON moved (position);

-- Deleted folders of which documents are still in the table documents.
CREATE TABLE emptied (
	folder TEXT PRIMARY KEY
) WITHOUT ROWID;

-- One row: the position of the last event that moved or tagged a single document.
CREATE TABLE labels (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	position INTEGER NOT NULL
);
INSERT INTO labels VALUES (1, 0);

CREATE TABLE permissions (
	principal TEXT NOT NULL,
	folder    TEXT NOT NULL,
	access    INTEGER NOT NULL, -- 1 read, 2 write, 3 own
	owner     INTEGER NOT NULL, -- 1 for the user who created a top-level folder, or moved a folder to the top level. Changes of the permission list do not remove such a row.
	PRIMARY KEY (principal, folder, owner)
) WITHOUT ROWID;
CREATE INDEX permissions_folder ON permissions (folder);

-- Invitations that are not accepted yet. They grant nothing. They are not in the table
-- permissions, so that no query of that table can count them as grants by mistake.
CREATE TABLE invitations (
	principal  TEXT NOT NULL,
	folder     TEXT NOT NULL,
	access     INTEGER NOT NULL, -- as in permissions
	inviter    TEXT NOT NULL,
	through    TEXT NOT NULL, -- the group through which the inviter owns the folder, '' if the inviter is an owner
	invited_at TEXT NOT NULL,
	PRIMARY KEY (principal, folder)
) WITHOUT ROWID;
CREATE INDEX invitations_folder ON invitations (folder);

-- Blocked inviters of each principal. A principal blocks an inviter by declining an
-- invitation, and does not see later invitations of that inviter.
CREATE TABLE blocked (
	principal TEXT NOT NULL,
	inviter   TEXT NOT NULL,
	since     TEXT NOT NULL,
	PRIMARY KEY (principal, inviter)
) WITHOUT ROWID;

-- This table keeps its rowid, so that rows are stored in order of arrival. Stored in
-- the order of their ids, which are random, almost every new row would go to another
-- page.
CREATE TABLE documents (
	id          TEXT NOT NULL PRIMARY KEY,
	folder      TEXT NOT NULL,
	name        TEXT NOT NULL,
	sort_name   TEXT NOT NULL, -- lower case, for listings
	look        TEXT NOT NULL, -- equal for names that look alike (lookalike.Skeleton)
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	media_type  TEXT NOT NULL,
	sha256      TEXT NOT NULL,
	size        INTEGER NOT NULL,
	pages       INTEGER NOT NULL,
	version     INTEGER NOT NULL,
	content     INTEGER NOT NULL, -- version that last changed the content
	owner       TEXT NOT NULL,
	created_at  TEXT NOT NULL,
	updated_at  TEXT NOT NULL,
	tags        TEXT NOT NULL,    -- JSON array
	change      TEXT NOT NULL,    -- kinds of the last change: imported, renamed, moved, tagged, revised, reread
	changed_by  TEXT NOT NULL,
	text_stream TEXT NOT NULL,
	-- What was recognised in pictures of pages: the number of pages, and the confidence in
	-- thousandths. unread is the number of scanned pages that were not read.
	ocr_pages   INTEGER NOT NULL,
	confidence  INTEGER NOT NULL,
	unread      INTEGER NOT NULL,
	extractor   INTEGER NOT NULL  -- version of the extractor that read the file
);
CREATE INDEX documents_folder ON documents (folder, sort_name, id);

-- Earlier versions of documents. The current version of a document is only in the table
-- documents. When a new version replaces it, it is copied to this table.
CREATE TABLE versions (
	document    TEXT NOT NULL,
	version     INTEGER NOT NULL,
	change      TEXT NOT NULL,
	created_at  TEXT NOT NULL,
	created_by  TEXT NOT NULL,
	folder      TEXT NOT NULL,
	name        TEXT NOT NULL,
	tags        TEXT NOT NULL,
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	media_type  TEXT NOT NULL,
	sha256      TEXT NOT NULL,
	size        INTEGER NOT NULL,
	pages       INTEGER NOT NULL,
	content     INTEGER NOT NULL,
	text_stream TEXT NOT NULL,
	ocr_pages   INTEGER NOT NULL,
	confidence  INTEGER NOT NULL,
	unread      INTEGER NOT NULL,
	extractor   INTEGER NOT NULL,
	PRIMARY KEY (document, version)
) WITHOUT ROWID;

CREATE TABLE tags (
	tag      TEXT NOT NULL,
	document TEXT NOT NULL,
	PRIMARY KEY (tag, document)
) WITHOUT ROWID;
CREATE INDEX tags_document ON tags (document);

-- The terms of document names without extensions. The key begins with the folder, so
-- that a search reads only the names in folders that its user may read. The index by term
-- is for administrators, who may read all of them.
CREATE TABLE name_terms (
	folder   TEXT NOT NULL,
	term     TEXT NOT NULL,
	document TEXT NOT NULL,
	PRIMARY KEY (folder, term, document)
) WITHOUT ROWID;
CREATE INDEX name_terms_document ON name_terms (document);
CREATE INDEX name_terms_term ON name_terms (term, document);
