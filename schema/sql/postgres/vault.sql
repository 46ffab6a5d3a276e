CREATE TABLE folders (
	id         TEXT COLLATE "C" PRIMARY KEY,
	parent     TEXT COLLATE "C" NOT NULL, -- '' at the top level
	name       TEXT COLLATE "C" NOT NULL,
	sort_name  TEXT COLLATE "C" NOT NULL, -- lower case, for listings
	created_at TEXT COLLATE "C" NOT NULL,
	updated_at TEXT COLLATE "C" NOT NULL,
	version    BIGINT NOT NULL,          -- the number of events that made it what it is
	revision   BIGINT NOT NULL,          -- of the last of them, in the stream of folders
	deleted    BIGINT NOT NULL DEFAULT 0 -- 1 where it, or a folder above it, was deleted
);
CREATE INDEX folders_parent ON folders (parent, name);

-- Where in the log each folder that was ever moved was moved last.
CREATE TABLE moved (
	folder   TEXT COLLATE "C" PRIMARY KEY,
	position BIGINT NOT NULL
);
CREATE INDEX moved_position ON moved (position);

-- Deleted folders whose documents still have to be removed.
CREATE TABLE emptied (
	folder TEXT COLLATE "C" PRIMARY KEY
);

-- Up to where documents were moved or given other tags, one by one.
CREATE TABLE labels (
	one      BIGINT PRIMARY KEY CHECK (one = 1),
	position BIGINT NOT NULL
);
INSERT INTO labels VALUES (1, 0);

CREATE TABLE permissions (
	principal TEXT COLLATE "C" NOT NULL,
	folder    TEXT COLLATE "C" NOT NULL,
	access    BIGINT NOT NULL, -- 1 read, 2 write, 3 own
	owner     BIGINT NOT NULL, -- 1 for whoever made a top-level folder or moved one there: sharing does not replace it
	PRIMARY KEY (principal, folder, owner)
);
CREATE INDEX permissions_folder ON permissions (folder);

-- Entries of folders' lists that their users have not accepted. They grant
-- nothing, and stand apart so that nothing that reads permissions can take them
-- for granted.
CREATE TABLE invitations (
	principal  TEXT COLLATE "C" NOT NULL,
	folder     TEXT COLLATE "C" NOT NULL,
	access     BIGINT NOT NULL, -- as in permissions
	inviter    TEXT COLLATE "C" NOT NULL,
	through    TEXT COLLATE "C" NOT NULL, -- the group by which the inviter owns the folder, '' where they own it themselves
	invited_at TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (principal, folder)
);
CREATE INDEX invitations_folder ON invitations (folder);

-- Whose invitations a user does not see, having declined one.
CREATE TABLE blocked (
	principal TEXT COLLATE "C" NOT NULL,
	inviter   TEXT COLLATE "C" NOT NULL,
	since     TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (principal, inviter)
);

-- In order of arrival, not of ids: those are random, and an insert among them
-- would write a page of its own.
CREATE TABLE documents (
	id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	folder      TEXT COLLATE "C" NOT NULL,
	name        TEXT COLLATE "C" NOT NULL,
	sort_name   TEXT COLLATE "C" NOT NULL, -- lower case, for listings
	look        TEXT COLLATE "C" NOT NULL, -- what names that look like its own have in common
	title       TEXT COLLATE "C" NOT NULL,
	description TEXT COLLATE "C" NOT NULL,
	media_type  TEXT COLLATE "C" NOT NULL,
	sha256      TEXT COLLATE "C" NOT NULL,
	size        BIGINT NOT NULL,
	pages       BIGINT NOT NULL,
	version     BIGINT NOT NULL,
	content     BIGINT NOT NULL, -- version at which the content was last made
	owner       TEXT COLLATE "C" NOT NULL,
	created_at  TEXT COLLATE "C" NOT NULL,
	updated_at  TEXT COLLATE "C" NOT NULL,
	tags        TEXT COLLATE "C" NOT NULL,    -- JSON array
	change      TEXT COLLATE "C" NOT NULL,    -- what made this version: imported, renamed, moved, tagged, revised, reread; or several
	changed_by  TEXT COLLATE "C" NOT NULL,
	text_stream TEXT COLLATE "C" NOT NULL
);
CREATE INDEX documents_folder ON documents (folder, sort_name, id);

-- What documents were before: a version is written down when the next one
-- comes, so the current one stands in documents alone.
CREATE TABLE versions (
	document    TEXT COLLATE "C" NOT NULL,
	version     BIGINT NOT NULL,
	change      TEXT COLLATE "C" NOT NULL,
	created_at  TEXT COLLATE "C" NOT NULL,
	created_by  TEXT COLLATE "C" NOT NULL,
	folder      TEXT COLLATE "C" NOT NULL,
	name        TEXT COLLATE "C" NOT NULL,
	tags        TEXT COLLATE "C" NOT NULL,
	title       TEXT COLLATE "C" NOT NULL,
	description TEXT COLLATE "C" NOT NULL,
	media_type  TEXT COLLATE "C" NOT NULL,
	sha256      TEXT COLLATE "C" NOT NULL,
	size        BIGINT NOT NULL,
	pages       BIGINT NOT NULL,
	content     BIGINT NOT NULL,
	text_stream TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (document, version)
);

CREATE TABLE tags (
	tag      TEXT COLLATE "C" NOT NULL,
	document TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (tag, document)
);
CREATE INDEX tags_document ON tags (document);

-- The terms of documents' names, without the extension. Folders come first, so that a
-- search looks at those alone that its user may read.
CREATE TABLE name_terms (
	folder   TEXT COLLATE "C" NOT NULL,
	term     TEXT COLLATE "C" NOT NULL,
	document TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (folder, term, document)
);
CREATE INDEX name_terms_document ON name_terms (document);
