CREATE TABLE folders (
	id         TEXT PRIMARY KEY,
	parent     TEXT NOT NULL, -- '' at the top level
	name       TEXT NOT NULL,
	sort_name  TEXT NOT NULL, -- lower case, for listings
	created_at TEXT NOT NULL,
	updated_at TEXT NOT NULL,
	version    INTEGER NOT NULL,          -- the number of events that made it what it is
	revision   INTEGER NOT NULL,          -- of the last of them, in the stream of folders
	deleted    INTEGER NOT NULL DEFAULT 0 -- 1 where it, or a folder above it, was deleted
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent, name);

-- Where in the log each folder that was ever moved was moved last.
CREATE TABLE moved (
	folder   TEXT PRIMARY KEY,
	position INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX moved_position ON moved (position);

-- Deleted folders whose documents still have to be removed.
CREATE TABLE emptied (
	folder TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Up to where documents were moved or given other tags, one by one.
CREATE TABLE labels (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	position INTEGER NOT NULL
);
INSERT INTO labels VALUES (1, 0);

CREATE TABLE permissions (
	principal TEXT NOT NULL,
	folder    TEXT NOT NULL,
	access    INTEGER NOT NULL, -- 1 read, 2 write, 3 own
	owner     INTEGER NOT NULL, -- 1 for whoever made a top-level folder or moved one there: sharing does not replace it
	PRIMARY KEY (principal, folder, owner)
) WITHOUT ROWID;
CREATE INDEX permissions_folder ON permissions (folder);

-- Entries of folders' lists that their users have not accepted. They grant
-- nothing, and stand apart so that nothing that reads permissions can take them
-- for granted.
CREATE TABLE invitations (
	principal  TEXT NOT NULL,
	folder     TEXT NOT NULL,
	access     INTEGER NOT NULL, -- as in permissions
	inviter    TEXT NOT NULL,
	through    TEXT NOT NULL, -- the group by which the inviter owns the folder, '' where they own it themselves
	invited_at TEXT NOT NULL,
	PRIMARY KEY (principal, folder)
) WITHOUT ROWID;
CREATE INDEX invitations_folder ON invitations (folder);

-- Whose invitations a user does not see, having declined one.
CREATE TABLE blocked (
	principal TEXT NOT NULL,
	inviter   TEXT NOT NULL,
	since     TEXT NOT NULL,
	PRIMARY KEY (principal, inviter)
) WITHOUT ROWID;

-- In order of arrival, not of ids: those are random, and an insert among them
-- would write a page of its own.
CREATE TABLE documents (
	id          TEXT NOT NULL PRIMARY KEY,
	folder      TEXT NOT NULL,
	name        TEXT NOT NULL,
	sort_name   TEXT NOT NULL, -- lower case, for listings
	look        TEXT NOT NULL, -- what names that look like its own have in common
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	media_type  TEXT NOT NULL,
	sha256      TEXT NOT NULL,
	size        INTEGER NOT NULL,
	pages       INTEGER NOT NULL,
	version     INTEGER NOT NULL,
	content     INTEGER NOT NULL, -- version at which the content was last made
	owner       TEXT NOT NULL,
	created_at  TEXT NOT NULL,
	updated_at  TEXT NOT NULL,
	tags        TEXT NOT NULL,    -- JSON array
	change      TEXT NOT NULL,    -- what made this version: imported, renamed, moved, tagged, revised, reread; or several
	changed_by  TEXT NOT NULL,
	text_stream TEXT NOT NULL
);
CREATE INDEX documents_folder ON documents (folder, sort_name, id);

-- What documents were before: a version is written down when the next one
-- comes, so the current one stands in documents alone.
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
	PRIMARY KEY (document, version)
) WITHOUT ROWID;

CREATE TABLE tags (
	tag      TEXT NOT NULL,
	document TEXT NOT NULL,
	PRIMARY KEY (tag, document)
) WITHOUT ROWID;
CREATE INDEX tags_document ON tags (document);

-- The terms of documents' names, without the extension. Folders come first, so that a
-- search looks at those alone that its user may read.
CREATE TABLE name_terms (
	folder   TEXT NOT NULL,
	term     TEXT NOT NULL,
	document TEXT NOT NULL,
	PRIMARY KEY (folder, term, document)
) WITHOUT ROWID;
CREATE INDEX name_terms_document ON name_terms (document);
