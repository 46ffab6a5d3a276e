-- The usage of each user: the totals of the tables contents, documents and work.
CREATE TABLE users (
	principal      TEXT PRIMARY KEY,
	bytes          INTEGER NOT NULL DEFAULT 0, -- size of originals and their texts, in all versions of documents
	documents      INTEGER NOT NULL DEFAULT 0,
	work_files     INTEGER NOT NULL DEFAULT 0,
	work_bytes     INTEGER NOT NULL DEFAULT 0,
	work_documents INTEGER NOT NULL DEFAULT 0, -- unfinished files that become new documents
	work_folders   INTEGER NOT NULL DEFAULT 0  -- folders that may have to be created for unfinished files
) WITHOUT ROWID;

-- The usage of each space, including unfinished files. A space is a folder with limits
-- (see folders.space). The key is the id of that folder, or '/' and its name if the
-- folder does not exist yet.
CREATE TABLE spaces (
	space     TEXT PRIMARY KEY,
	bytes     INTEGER NOT NULL,
	documents INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE folders (
	id        TEXT PRIMARY KEY,
	parent    TEXT NOT NULL, -- '' at the top level
	-- The folder whose limits apply: the top-level folder, or below the inbox the
	-- user's folder in the inbox. It is '' for the inbox itself.
	space     TEXT NOT NULL,
	maker     TEXT NOT NULL,
	bytes     INTEGER NOT NULL DEFAULT 0, -- size of the documents directly in the folder, in all versions
	documents INTEGER NOT NULL DEFAULT 0, -- number of documents directly in the folder
	deleted   INTEGER NOT NULL DEFAULT 0  -- 1 if the folder or a folder above it was deleted
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent);
CREATE INDEX folders_space ON folders (space);
CREATE INDEX folders_maker ON folders (maker);

-- Entries of permission lists. maker is the user who added the entry.
CREATE TABLE shares (
	folder    TEXT NOT NULL,
	principal TEXT NOT NULL,
	maker     TEXT NOT NULL,
	PRIMARY KEY (folder, principal)
) WITHOUT ROWID;
CREATE INDEX shares_maker ON shares (maker);

CREATE TABLE documents (
	id     TEXT NOT NULL PRIMARY KEY,
	folder TEXT NOT NULL,
	owner  TEXT NOT NULL,   -- the user who imported the document
	bytes  INTEGER NOT NULL -- size in all versions
);
CREATE INDEX documents_folder ON documents (folder);

-- The contents of documents: one row for each uploaded original, with its text.
CREATE TABLE contents (
	document TEXT NOT NULL,
	version  INTEGER NOT NULL,
	owner    TEXT NOT NULL, -- the user who uploaded the content
	size     INTEGER NOT NULL,
	PRIMARY KEY (document, version)
) WITHOUT ROWID;

-- Accepted files that are not imported and have not failed yet.
CREATE TABLE work (
	job     TEXT NOT NULL,
	file    INTEGER NOT NULL,
	owner   TEXT NOT NULL DEFAULT '', -- the user who imports the file; '' until ImportRequested
	size    INTEGER NOT NULL,
	makes   INTEGER NOT NULL, -- 1 if the file becomes a new document
	under   TEXT NOT NULL,    -- the lowest folder on the target path that exists; '' for none
	path    TEXT NOT NULL,    -- path of the target folder
	space   TEXT NOT NULL,    -- name of the folder whose limits apply
	folders INTEGER NOT NULL, -- number of folders that may have to be created for the file
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
CREATE INDEX work_under ON work (under);

-- Folders that may have to be created for unfinished files. All files with the same
-- target folder share one row.
CREATE TABLE making (
	owner   TEXT NOT NULL,
	under   TEXT NOT NULL,
	path    TEXT NOT NULL,
	folders INTEGER NOT NULL,
	files   INTEGER NOT NULL,
	PRIMARY KEY (owner, under, path, folders)
) WITHOUT ROWID;

-- Bytes that count until the next sweep deletes the originals, by the hour in which the
-- file failed or the document was deleted.
CREATE TABLE unswept (
	owner   TEXT NOT NULL,
	hour    TEXT NOT NULL,
	failed  INTEGER NOT NULL, -- bytes of failed files
	deleted INTEGER NOT NULL, -- bytes of deleted documents, including their texts
	PRIMARY KEY (owner, hour)
) WITHOUT ROWID;
