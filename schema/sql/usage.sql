-- The usage of each user: totals of contents, documents and unfinished files.
CREATE TABLE users (
	principal      TEXT PRIMARY KEY,
	bytes          INTEGER NOT NULL DEFAULT 0, -- of originals and their text, in all versions of documents
	documents      INTEGER NOT NULL DEFAULT 0,
	work_files     INTEGER NOT NULL DEFAULT 0,
	work_bytes     INTEGER NOT NULL DEFAULT 0,
	work_documents INTEGER NOT NULL DEFAULT 0, -- new documents among them
	work_folders   INTEGER NOT NULL DEFAULT 0  -- that may have to be created for them
) WITHOUT ROWID;

-- The usage of each space, including unfinished files. The key is the id of its folder,
-- or '/' and its name if the folder does not exist yet.
CREATE TABLE spaces (
	space     TEXT PRIMARY KEY,
	bytes     INTEGER NOT NULL,
	documents INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE folders (
	id        TEXT PRIMARY KEY,
	parent    TEXT NOT NULL, -- '' at the top level
	-- The folder whose limits apply: the top-level folder, or in the inbox the
	-- user's own folder; '' for the inbox itself.
	space     TEXT NOT NULL,
	maker     TEXT NOT NULL,
	bytes     INTEGER NOT NULL DEFAULT 0, -- of the documents directly in it, in all versions
	documents INTEGER NOT NULL DEFAULT 0, -- directly in it
	deleted   INTEGER NOT NULL DEFAULT 0  -- 1 if it or a parent folder was deleted
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent);
CREATE INDEX folders_space ON folders (space);
CREATE INDEX folders_maker ON folders (maker);

-- Entries of permission lists, and who added them.
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
	owner  TEXT NOT NULL,   -- who imported it
	bytes  INTEGER NOT NULL -- in all versions
);
CREATE INDEX documents_folder ON documents (folder);

-- The content of documents, one row for each upload: the original and its text.
CREATE TABLE contents (
	document TEXT NOT NULL,
	version  INTEGER NOT NULL,
	owner    TEXT NOT NULL, -- who uploaded it
	size     INTEGER NOT NULL,
	PRIMARY KEY (document, version)
) WITHOUT ROWID;

-- Unfinished files.
CREATE TABLE work (
	job     TEXT NOT NULL,
	file    INTEGER NOT NULL,
	owner   TEXT NOT NULL DEFAULT '', -- '' until the job is requested
	size    INTEGER NOT NULL,
	makes   INTEGER NOT NULL, -- 1 if it becomes a new document
	under   TEXT NOT NULL,    -- existing folder on the target path; '' for none
	path    TEXT NOT NULL,    -- of the target folder
	space   TEXT NOT NULL,    -- name of the folder whose limits apply
	folders INTEGER NOT NULL, -- that may have to be created for it
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
CREATE INDEX work_under ON work (under);

-- Folders that unfinished files may have to create, one row for all files of a folder.
CREATE TABLE making (
	owner   TEXT NOT NULL,
	under   TEXT NOT NULL,
	path    TEXT NOT NULL,
	folders INTEGER NOT NULL,
	files   INTEGER NOT NULL,
	PRIMARY KEY (owner, under, path, folders)
) WITHOUT ROWID;

-- Bytes that are stored until the next sweep of originals, by the hour since when.
CREATE TABLE unswept (
	owner   TEXT NOT NULL,
	hour    TEXT NOT NULL,
	failed  INTEGER NOT NULL, -- bytes of failed files
	deleted INTEGER NOT NULL, -- bytes of deleted documents, with their text
	PRIMARY KEY (owner, hour)
) WITHOUT ROWID;
